package reduce

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Shard makes Apply call its update only for this machine's part of the parameters, of those of Across, and fetch the
// others' parts (ZeRO-1, Rajbhandari et al. 2020). The parameters are the same bits. Shard cuts moments, lists with a
// tensor for every parameter, to that part; Whole completes them. A machine alone keeps them.
func (c *Gradients) Shard(p *graph.Program, moments ...[]graph.Tensor) error {
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
	for _, list := range moments {
		for i, t := range list {
			if t.Len() > 0 {
				list[i] = c.Zeros(i)
				copy(list[i].F32, t.F32[c.own[i].from:c.own[i].to])
			}
		}
	}
	return nil
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

// Zeros returns zeros for a moment of parameter i, or of this machine's part of it.
func (c *Gradients) Zeros(i int) graph.Tensor {
	if c == nil || i < 0 || i >= len(c.params) {
		return graph.Tensor{}
	}
	t := c.params[i].Tensor()
	if c.own == nil {
		return zerosLike(t)
	}
	return graph.Tensor{Shape: t.Shape, F32: kernel.Make[float32](c.own[i].to - c.own[i].from)}
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

// Whole returns the full moment of the parameter with the given name from the parts of all machines. All machines must
// call it.
func (c *Gradients) Whole(name string, moment graph.Tensor) (graph.Tensor, error) {
	if c == nil {
		return moment, errNoParams
	}
	i, known := c.index[name]
	if c.own == nil || !known || moment.Len() != c.own[i].to-c.own[i].from {
		return moment, errors.Errorf("%s: %s: got %d numbers, want this machine's part of a moment",
			c.name, name, moment.Len())
	}
	t := graph.Tensor{Shape: moment.Shape, F32: make([]float32, c.params[i].Tensor().Len())}
	copy(t.F32[c.own[i].from:], moment.F32)
	borders := []int{0}
	for part := range c.machines.Size() {
		borders = append(borders, c.stretch(c.bucketOf(i), i, part).to)
	}
	return t, errors.Wrap(c.machines.Gather(t.F32, borders), c.name)
}

// First returns the index of the first entry of this machine's part of the parameter with the given name.
func (c *Gradients) First(name string) int {
	if c == nil || c.own == nil {
		return 0
	}
	return c.own[c.index[name]].from
}

// bucketOf returns the bucket of a parameter.
func (c *Gradients) bucketOf(param int) bucket {
	i := slices.IndexFunc(c.buckets, func(b bucket) bool { return c.places[param] < b.to })
	return c.buckets[i]
}
