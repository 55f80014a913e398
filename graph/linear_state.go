package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LinearState is what causal linear attention remembers of the tokens so far: for every head the sums of φ(k)ᵀ·v and of
// φ(k), however many tokens there were. Graphs for one new token and for several may share it; run one at a time.
type LinearState struct {
	heads LinearHeads
	next  int // the position of the token that has not been seen yet
	f32   []float32
	f64   []float64
}

// NewLinearState is the state before the first token.
func NewLinearState(h LinearHeads) *LinearState { return &LinearState{heads: h} }

// ErrOrder is the error of a token that does not follow on those before it.
var ErrOrder = errors.New("tokens out of order")

// LinearStep is causal linear attention of some new tokens per sequence to themselves and to the tokens before them:
// (B·n, H(2·QK+V)) → (B·n, H·V), in the same time however many these are. at is one integer, the position of the first
// new token. Sums cannot be taken back, so at is 0, which forgets everything, or the number of tokens so far: else
// running fails with ErrOrder. It has no derivative and no spelled form: it equals rows at … at+n−1 of LinearAttention.
func LinearStep(qkv, at Expr, state *LinearState) Expr {
	return qkv.apply("linear attention step", func() (*G.Node, error) {
		if state == nil {
			return nil, errors.New("no state to keep sums in")
		}
		h, g, s := state.heads, qkv.g, qkv.node.Shape()
		if len(s) != 2 || s[1] != h.Width() || s[0]%h.Batch != 0 {
			return nil, errors.Errorf("%v is not (n·%d, %d), the packed projections of %+v", s, h.Batch, h.Width(), h.Heads)
		}
		if len(at.Ints()) != 1 {
			return nil, errors.Errorf("%d positions, 1 is needed", len(at.Ints()))
		}
		h.Context = s[0] / h.Batch
		total, scratch := &buffer{size: s[0] * h.Heads.Heads}, &buffer{size: scanScratch(g.pool, h)}
		return g.node(&op{
			name:  fmt.Sprintf("linearstep(%v,%s)", h.Heads, h.Features.name),
			shape: tensor.Shape{s[0], h.Heads.Heads * h.V}, wrt: []bool{false, false}, fills: []*buffer{total, scratch},
			f32: stepping(g.pool, scanOf(h, h.Features.f32), &state.f32, &state.next, at.Ints(), total, scratch),
			f64: stepping(g.pool, scanOf(h, h.Features.f64), &state.f64, &state.next, at.Ints(), total, scratch),
		}, qkv.node, at.node)
	}, at)
}

func stepping[T kernel.Float](p *kernel.Pool, l kernel.LinearAttention[T], state *[]T, next *int, at []int, total, scratch *buffer) body[T] {
	return func(y []T, in [][]T) error {
		switch {
		case *state == nil:
			*state = make([]T, l.StateLen())
		case at[0] == 0:
			clear(*state)
		}
		if at[0] != 0 && at[0] != *next {
			return errors.Wrapf(ErrOrder, "token %d, the next one is token %d", at[0], *next)
		}
		l.Forward(p, y, of[T](total), in[0], nil, *state, of[T](scratch))
		*next = at[0] + l.Tokens
		return nil
	}
}
