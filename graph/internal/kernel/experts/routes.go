package experts

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Routes sorts the pairs of a token and an expert by the expert, and the pairs of an expert by the token.
type Routes[T kernel.Float] struct {
	first  []int // of the pairs of every expert, and the number of all pairs
	token  []int // of every pair
	gate   []T   // of every pair
	of     []int // the pairs of every token, in the order of the experts; −1 after the last
	next   []int
	blocks []block
}

// block is a range of pairs of one expert, which a thread computes at a time.
type block struct{ expert, from, to int }

// blockRows is the largest number of pairs of a block.
const blockRows = 128

// NewRoutes returns the memory for the pairs of l.
func NewRoutes[T kernel.Float](l Layer) *Routes[T] {
	return &Routes[T]{
		first: make([]int, l.Experts+1), next: make([]int, l.Experts),
		token: make([]int, l.Places()), gate: make([]T, l.Places()), of: make([]int, l.Places()),
		blocks: make([]block, 0, min(l.Experts, l.Places())+l.Places()/blockRows),
	}
}

// set finds the pairs of the gates (n, E). It panics if a token has more than k of them.
func (r *Routes[T]) set(l Layer, gates []T) {
	clear(r.first)
	for rest := gates; len(rest) > 0; rest = rest[l.Experts:] {
		for e, g := range rest[:l.Experts] {
			if g != 0 {
				r.first[e+1]++
			}
		}
	}
	r.blocks = r.blocks[:0]
	for e := range l.Experts {
		from, n := r.first[e], r.first[e+1]
		r.first[e+1] += from
		parts := (n + blockRows - 1) / blockRows
		for i := range parts {
			r.blocks = append(r.blocks, block{e, from + n*i/parts, from + n*(i+1)/parts})
		}
	}
	copy(r.next, r.first)
	for i := range l.Tokens {
		own := r.of[i*l.Active : (i+1)*l.Active]
		n := 0
		for e, g := range gates[i*l.Experts : (i+1)*l.Experts] {
			if g == 0 {
				continue
			}
			if n == l.Active {
				panic(fmt.Sprintf("token %d: got more than %d gates that are not 0", i, l.Active))
			}
			at := r.next[e]
			r.next[e]++
			r.token[at], r.gate[at], own[n] = i, g, at
			n++
		}
		for ; n < l.Active; n++ {
			own[n] = -1
		}
	}
}

// pairs returns the number of pairs.
func (r *Routes[T]) pairs() int { return r.first[len(r.first)-1] }
