package reduce

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Shard makes Apply call its update only for this machine's part of the parameters, and fetch the other machines' parts
// (ZeRO-1, Rajbhandari et al. 2020). The parameters are the same bits. Shard cuts state, the list of tensors of every
// parameter, to that part; Whole completes them. A machine alone keeps them. Tensors of another size than their
// parameter, which must be Entire, belong to its machine.
func (c *Gradients) Shard(p *graph.Program, state ...[]graph.Tensor) error {
	if c == nil || len(c.params) == 0 {
		return errNoParams
	}
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
	for i, list := range state[:min(len(state), len(c.params))] {
		for at, t := range list {
			if t.Len() > 0 {
				from, to := c.part(i, t.Len())
				list[at] = c.Zeros(i, t.Shape...)
				copy(list[at].F32, t.F32[from:to])
			}
		}
	}
	return nil
}

// scale returns the place in a tensor of n entries of a border in its parameter i. A moment has the same one. A tensor
// of another size has only the start and the end, as its parameter, which is Entire.
func (c *Gradients) scale(i, border, n int) int {
	if border == c.params[i].Tensor().Len() {
		return n
	}
	return min(border, n)
}

// Entire makes Shard give parameter i to one machine, for an update that needs all of it. If it is also parallel, Apply
// calls the updates of such parameters at the same time. Call it before Shard.
func (c *Gradients) Entire(i int, parallel bool) {
	if c == nil || i < 0 || i >= len(c.params) {
		return
	}
	if c.entire == nil {
		c.entire = make([]bool, len(c.params))
	}
	c.entire[i] = true
	if parallel && !slices.Contains(c.parallel, i) {
		c.parallel = append(c.parallel, i)
	}
}

// scattered reports whether this machine holds only its part of the sums. The function set by Before needs all
// gradients.
func (c *Gradients) scattered() bool { return c.own != nil && c.before == nil }

// Zeros returns zeros of a shape, by default of parameter i's, or this machine's part of them.
func (c *Gradients) Zeros(i int, shape ...int) graph.Tensor {
	if c == nil || i < 0 || i >= len(c.params) {
		return graph.Tensor{}
	}
	t := c.params[i].Tensor()
	if len(shape) == 0 {
		shape = t.Shape
	}
	from, to := c.part(i, entries(shape))
	n := to - from
	if t.F32 != nil {
		return graph.Tensor{Shape: shape, F32: kernel.Make[float32](n)}
	}
	return graph.Tensor{Shape: shape, F64: kernel.Make[float64](n)}
}

// part returns the range of this machine's part of a tensor of n entries of parameter i.
func (c *Gradients) part(i, n int) (from, to int) {
	if c.own == nil {
		return 0, n
	}
	return c.scale(i, c.own[i].from, n), c.scale(i, c.own[i].to, n)
}

// entries returns the number of entries of a tensor.
func entries(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= max(0, size)
	}
	return n
}

// fetch completes the parameters by means of the flat sum. Before, every machine has updated only its part.
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

// Whole returns the full moment, or another tensor of the state, of the parameter with the given name from the parts of
// all machines. All machines must call it.
func (c *Gradients) Whole(name string, moment graph.Tensor) (graph.Tensor, error) {
	if c == nil {
		return moment, errNoParams
	}
	i, known := c.index[name]
	n, from, to := entries(moment.Shape), 0, -1
	if c.own != nil && known {
		from, to = c.part(i, n)
	}
	if moment.Len() != to-from {
		return moment, errors.Errorf("%s: %s: got %d numbers, want this machine's part of a moment",
			c.name, name, moment.Len())
	}
	t := graph.Tensor{Shape: moment.Shape, F32: make([]float32, n)}
	copy(t.F32[from:], moment.F32)
	borders := []int{0}
	for part := range c.machines.Size() {
		borders = append(borders, c.scale(i, c.stretch(c.bucketOf(i), i, part).to, n))
	}
	return t, errors.Wrap(c.machines.Gather(t.F32, borders), c.name)
}

// First returns the index of the first entry of this machine's part of a moment, or another tensor of the state, of the
// parameter with the given name.
func (c *Gradients) First(name string, moment graph.Tensor) int {
	if c == nil || c.own == nil {
		return 0
	}
	from, _ := c.part(c.index[name], entries(moment.Shape))
	return from
}

// bucketOf returns the bucket of a parameter.
func (c *Gradients) bucketOf(param int) bucket {
	i := slices.IndexFunc(c.buckets, func(b bucket) bool { return c.places[param] < b.to })
	return c.buckets[i]
}
