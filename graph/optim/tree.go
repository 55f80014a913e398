package optim

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Tree has the gradients of n micro-batches added in an order that halves of them, quarters and so on share: with
// n = r·2ᵏ, r odd, every r are added in turn, and these sums in pairs, pairs of pairs, up to the whole. So a machine that
// has one of 2ʲ equal parts of the micro-batches, j ≤ k, holds one sum of the tree, whatever j is, and all give the same
// bits. It takes Sums(n) copies of the gradients. n below 1 is none: all are added in turn.
func (c *Gradients) Tree(n int) {
	if c != nil {
		c.run = odd(n)
	}
}

// Sums is how many copies of the gradients a step of n micro-batches keeps by Tree: k, and one more where r is not 1.
func Sums(n int) (copies int) {
	if odd(n) > 1 {
		copies = 1
	}
	for ; n > 0 && n%2 == 0; n /= 2 {
		copies++
	}
	return copies
}

// odd is r, the odd factor of n.
func odd(n int) int {
	for n > 0 && n%2 == 0 {
		n /= 2
	}
	return max(0, n)
}

// sum is that of the gradients of so many micro-batches.
type sum struct {
	batches int
	grads   []graph.Tensor
	flat    []float32 // all of them and what lies between, of float32
}

// push adds the gradients of one micro-batch: to the newest sum, while it is less than a run, or is one to be paired
// with; else a new one begins. Then whole sums of one size are paired.
func (c *Gradients) push(grads []graph.Tensor) {
	if n := c.newest(); n > 0 && (c.run == 0 || n%c.run != 0 || c.run == 1 && n == 1) {
		c.add(c.depth-1, grads)
		c.sums[c.depth-1].batches++
	} else {
		if c.depth == len(c.sums) {
			c.sums = append(c.sums, like(grads))
		}
		s := &c.sums[c.depth]
		s.batches = 1
		for i, g := range grads {
			copy(s.grads[i].F32, g.F32)
			copy(s.grads[i].F64, g.F64)
		}
		c.depth++
	}
	for c.run > 0 && c.depth > 1 && c.newest()%c.run == 0 && c.newest() == c.sums[c.depth-2].batches {
		c.pair()
	}
}

// newest is how many micro-batches are in the newest sum.
func (c *Gradients) newest() int {
	if c.depth == 0 {
		return 0
	}
	return c.sums[c.depth-1].batches
}

// pair adds the newest sum to the one before.
func (c *Gradients) pair() {
	c.depth--
	c.add(c.depth-1, c.sums[c.depth].grads)
	c.sums[c.depth-1].batches += c.sums[c.depth].batches
}

// total is the one sum that is left.
func (c *Gradients) total() []graph.Tensor {
	for c.depth > 1 {
		c.pair()
	}
	return c.sums[0].grads
}

func (c *Gradients) add(to int, grads []graph.Tensor) {
	for i, s := range c.sums[to].grads {
		if s.F32 != nil {
			kernel.Add(c.pool, s.F32, s.F32, grads[i].F32)
		} else {
			kernel.Add(c.pool, s.F64, s.F64, grads[i].F64)
		}
	}
}

// like makes room for a sum: in float32 in one piece, to be handed to others at once, where every tensor begins with a
// line of the cache.
func like(grads []graph.Tensor) (s sum) {
	const line = 16
	n := 0
	for _, g := range grads {
		n += (len(g.F32) + line - 1) / line * line
	}
	s.flat = kernel.Make[float32](n)
	rest := s.flat
	for _, g := range grads {
		t := graph.Tensor{Shape: g.Shape}
		if g.F32 != nil {
			t.F32 = rest[:len(g.F32):len(g.F32)]
			rest = rest[(len(g.F32)+line-1)/line*line:]
		} else {
			t.F64 = kernel.Make[float64](len(g.F64))
		}
		s.grads = append(s.grads, t)
	}
	return s
}
