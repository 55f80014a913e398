package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Tree sets the order in which the gradients of n micro-batches are added, such that halves of them, quarters and so on
// have sums of their own: with n = r·2ᵏ, r odd, every r are added in turn, and these sums in pairs, pairs of pairs, up
// to the full sum. So a machine that has one of 2ʲ equal parts of the micro-batches, j ≤ k, holds one sum of the tree,
// and the result has the same bits for every j. It needs Sums(n) copies of the gradients. If n is below 1, all are
// added in turn.
func (c *Gradients) Tree(n int) {
	if c != nil {
		c.run = odd(n)
	}
}

// Sums returns the number of copies of the gradients that a step of n micro-batches keeps with Tree: k, and one more if
// r is not 1.
func Sums(n int) (copies int) {
	if odd(n) > 1 {
		copies = 1
	}
	for ; n > 0 && n%2 == 0; n /= 2 {
		copies++
	}
	return copies
}

// odd returns r, the odd factor of n.
func odd(n int) int {
	for n > 0 && n%2 == 0 {
		n /= 2
	}
	return max(0, n)
}

// tree holds the sums of the gradients of micro-batches.
type tree struct {
	layout
	run     int   // number of micro-batches added in turn before sums are paired; 0 means all
	sums    []sum // sums over micro-batches: depth are in use, the others are memory to reuse
	depth   int
	batches int // number of micro-batches in all sums
}

// sum is the sum of the gradients of a number of micro-batches.
type sum struct {
	batches int
	grads   []graph.Tensor
	flat    []float32 // all of them, with padding, in float32
}

// push adds the gradients of one micro-batch to the newest sum if that is shorter than a run, or is to be paired with
// it; otherwise it begins a new sum. Then it pairs complete sums of the same size.
func (c *tree) push(grads []graph.Tensor) {
	if n := c.newest(); n > 0 && (c.run == 0 || n%c.run != 0 || n == 1) {
		c.add(c.depth-1, grads)
		c.sums[c.depth-1].batches++
	} else {
		s := c.room()
		s.batches = 1
		for i, g := range grads {
			copy(s.grads[i].F32, g.F32)
			copy(s.grads[i].F64, g.F64)
		}
		c.depth++
	}
	for c.depth > 1 && c.newest() == c.sums[c.depth-2].batches {
		c.pair()
	}
}

// newest returns the number of micro-batches in the newest sum.
func (c *tree) newest() int {
	if c.depth == 0 {
		return 0
	}
	return c.sums[c.depth-1].batches
}

// pair adds the newest sum to the one before.
func (c *tree) pair() {
	c.depth--
	c.add(c.depth-1, c.sums[c.depth].grads)
	c.sums[c.depth-1].batches += c.sums[c.depth].batches
}

// total pairs all sums and returns the one that remains.
func (c *tree) total() []graph.Tensor {
	for c.depth > 1 {
		c.pair()
	}
	return c.sums[0].grads
}

// add adds the gradients of all parameters to a sum.
func (c *tree) add(to int, grads []graph.Tensor) {
	for i, s := range c.sums[to].grads {
		c.plus(s, grads[i])
	}
}

// plus adds a gradient of a parameter to a sum.
func (c *tree) plus(s, grad graph.Tensor) {
	if s.F32 != nil {
		kernel.Add(c.pool, s.F32, s.F32, grad.F32)
	} else {
		kernel.Add(c.pool, s.F64, s.F64, grad.F64)
	}
}

// room returns memory for another sum. In float32 it is one piece, so that other functions can use it at once.
func (c *tree) room() *sum {
	if c.depth == len(c.sums) {
		var s sum
		for i, x := range c.params {
			t := x.Tensor()
			if t.F64 != nil {
				t = zerosLike(t)
			} else {
				if s.flat == nil {
					s.flat = kernel.Make[float32](c.size)
				}
				t.F32 = s.flat[c.places[i]:][:t.Len():t.Len()]
			}
			s.grads = append(s.grads, t)
		}
		c.sums = append(c.sums, s)
	}
	return &c.sums[c.depth]
}
