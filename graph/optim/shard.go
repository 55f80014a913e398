package optim

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// shard has Apply call its step for this machine's part of the parameters alone, with that part of the numbers, and fetch
// the others' parts (ZeRO-1, Rajbhandari et al. 2020). What is in moments is cut to that part.
func (c *Gradients) shard(p *graph.Program, moments ...[]graph.Tensor) error {
	if c.machines == nil || c.own != nil {
		return nil
	}
	if err := c.divide(p); err != nil {
		return err
	}
	c.own = make([]stretch, len(c.params))
	for _, s := range c.stretches(c.machines.Part()) {
		c.own[s.param] = s
	}
	for _, list := range moments {
		for i, t := range list {
			if t.Len() > 0 {
				list[i] = c.zeros(i)
				copy(list[i].F32, t.F32[c.own[i].from:c.own[i].to])
			}
		}
	}
	return nil
}

// scattered is whether this machine has its part of the sums alone: who is to see gradients is shown all.
func (c *Gradients) scattered() bool { return c.own != nil && c.before == nil }

// zeros are for the state of an optimizer, of this machine's part of a parameter.
func (c *Gradients) zeros(i int) graph.Tensor {
	t := c.params[i].Tensor()
	if c.own == nil {
		return zerosLike(t)
	}
	return graph.Tensor{Shape: t.Shape, F32: kernel.Make[float32](c.own[i].to - c.own[i].from)}
}

// squares is the sum of the squares of all gradients, in the order in which a machine alone adds them up: each has the sums
// of its chunks, and fetches the others'.
func (c *Gradients) squares(grads []graph.Tensor) (squares float64, err error) {
	if !c.scattered() {
		return c.sumSquares(grads)
	}
	var all []float32
	borders := []int{0}
	sums := make([][]float64, len(c.params))
	var order []stretch
	for part := range c.machines.Size() {
		for _, s := range c.stretches(part) {
			n := kernel.Chunks(s.to - s.from)
			if sums[s.param] == nil {
				sums[s.param] = make([]float64, kernel.Chunks(grads[s.param].Len()))
			}
			if part == c.machines.Part() {
				own := sums[s.param][s.from/kernel.Grain:][:n]
				kernel.Squares(c.pool, grads[s.param].F32[s.from:s.to], own)
				for _, x := range own {
					all = apart(all, x)
				}
			} else {
				all = append(all, make([]float32, 4*n)...)
			}
			order = append(order, s)
		}
		borders = append(borders, len(all))
	}
	if err := c.machines.Gather(all, borders); err != nil {
		return 0, errors.Wrap(err, c.name)
	}
	for _, s := range order {
		for i := range kernel.Chunks(s.to - s.from) {
			sums[s.param][s.from/kernel.Grain+i], all = together(all), all[4:]
		}
	}
	for i, x := range c.params {
		sum := 0.0
		for _, s := range sums[i] {
			sum += s
		}
		if err := finiteSum(x, sum); err != nil {
			return math.NaN(), err
		}
		squares += sum
	}
	return squares, nil
}

// apart appends a float64 as numbers that any float32 holds.
func apart(list []float32, x float64) []float32 {
	b := math.Float64bits(x)
	return append(list, float32(b>>48), float32(b>>32&0xffff), float32(b>>16&0xffff), float32(b&0xffff))
}

// together is the float64 that apart has taken apart.
func together(x []float32) float64 {
	return math.Float64frombits(uint64(x[0])<<48 | uint64(x[1])<<32 | uint64(x[2])<<16 | uint64(x[3]))
}

// fetch completes the parameters, of which every machine has updated its part, by way of the flat sum.
func (c *Gradients) fetch() error {
	for _, b := range c.buckets {
		flat := c.sums[0].flat[b.from:b.to]
		at := func(i int) []float32 { return flat[c.places[i]-b.from:] }
		for _, i := range b.params {
			copy(at(i)[c.own[i].from:], c.params[i].Tensor().F32[c.own[i].from:c.own[i].to])
		}
		if err := c.machines.Gather(flat, b.borders); err != nil {
			return errors.Wrap(err, c.name)
		}
		for _, i := range b.params {
			copy(c.params[i].Tensor().F32, at(i))
		}
	}
	return nil
}

// Whole is all of a moment of the parameter of that name, of which every machine has its part: all call it.
func (c *Gradients) Whole(name string, moment graph.Tensor) (graph.Tensor, error) {
	if c == nil {
		return moment, errNoParams
	}
	i, known := c.index[name]
	if c.own == nil || !known || moment.Len() != c.own[i].to-c.own[i].from {
		return moment, errors.Errorf("%s: %s: got %d numbers, want this machine's part of a moment", c.name, name, moment.Len())
	}
	t := graph.Tensor{Shape: moment.Shape, F32: make([]float32, c.params[i].Tensor().Len())}
	copy(t.F32[c.own[i].from:], moment.F32)
	borders := []int{0}
	for part := range c.machines.Size() {
		borders = append(borders, c.stretch(c.bucketOf(i), i, part).to)
	}
	return t, errors.Wrap(c.machines.Gather(t.F32, borders), c.name)
}

// First is where this machine's part of the parameter of that name begins.
func (c *Gradients) First(name string) int {
	if c == nil || c.own == nil {
		return 0
	}
	return c.own[c.index[name]].from
}

// bucketOf is the bucket of a parameter.
func (c *Gradients) bucketOf(param int) bucket {
	i := slices.IndexFunc(c.buckets, func(b bucket) bool { return c.places[param] < b.to })
	return c.buckets[i]
}
