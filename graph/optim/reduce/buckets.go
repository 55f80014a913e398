package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// bucketSize is the minimum size of a bucket in numbers, except for the last one: 4 MB.
const bucketSize = 1 << 20

// bucket is a set of parameters whose gradients are sent together.
type bucket struct {
	params   []int
	from, to int   // its range in the flat sum
	borders  []int // borders of the machines' parts, relative to from
}

// stretch is a range of entries of a parameter that consists of entire chunks of a norm.
type stretch struct{ param, from, to int }

// divide lays out the flat sum, once: the parameters in the order in which p's backward pass finishes them, in buckets.
// Every machine has a part of each bucket.
func (c *Gradients) divide(p *graph.Program) error {
	if c.buckets != nil {
		return nil
	}
	if x := c.params[0]; x.Tensor().F64 != nil {
		return errors.Errorf("%s: %s has type %v, want %v across machines",
			c.name, x.Name(), graph.Float64, graph.Float32)
	}
	var b bucket
	var list []bucket
	places, found := make([]int, len(c.params)), 0
	for _, x := range p.Watch(nil) {
		i, ours := c.index[x.Name()]
		if !ours {
			continue
		}
		found++
		places[i] = b.to
		b.params, b.to = append(b.params, i), b.to+lines(x.Tensor().Len())
		if b.to-b.from >= bucketSize {
			list, b = append(list, b), bucket{from: b.to, to: b.to}
		}
	}
	if len(b.params) > 0 {
		list = append(list, b)
	}
	if found != len(c.params) {
		return errors.Errorf("%s: got gradients of %d parameters, want %d: was the program compiled with them?",
			c.name, found, len(c.params))
	}
	c.places = places
	for i := range list {
		c.border(&list[i])
	}
	c.buckets, c.sums, c.depth = list, nil, 0
	return nil
}

// lines returns n rounded up to entire cache lines of float32.
func lines(n int) int {
	const line = 16
	return (n + line - 1) / line * line
}

// border divides a bucket into about equal parts of entire chunks, so that a norm is the same sum for any number of
// parts.
func (c *Gradients) border(b *bucket) {
	n := c.machines.Size()
	b.borders = make([]int, 1, n+1)
	for _, i := range b.params {
		size, grain := c.params[i].Tensor().Len(), kernel.Grain
		if c.entire != nil && c.entire[i] {
			grain = size
		}
		for at := 0; at < size; at += grain {
			from := c.places[i] - b.from + at
			for len(b.borders) < n && from >= len(b.borders)*(b.to-b.from)/n {
				b.borders = append(b.borders, from)
			}
		}
	}
	for len(b.borders) <= n {
		b.borders = append(b.borders, b.to-b.from)
	}
}

// stretches returns the stretches of the parameters in a part.
func (c *Gradients) stretches(part int) (list []stretch) {
	for _, b := range c.buckets {
		for _, i := range b.params {
			if s := c.stretch(b, i, part); s.from < s.to {
				list = append(list, s)
			}
		}
	}
	return list
}

// stretch returns the range of a parameter of the bucket that lies in a part.
func (c *Gradients) stretch(b bucket, i, part int) stretch {
	n, place := c.params[i].Tensor().Len(), c.places[i]-b.from
	within := func(x int) int { return max(0, min(n, x-place)) }
	return stretch{i, within(b.borders[part]), within(b.borders[part+1])}
}
