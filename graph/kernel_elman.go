package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Elman is the kernel of h_t = tanh(h_{t−1}·w + a_t) over batch sequences with h_0 = 0: a (B·T, d), w (d, d) → (B·T, d).
// Its backward pass goes back through time.
func Elman(a, w Expr, batch int) (h Expr, ok bool) {
	if !a.fused() {
		return Expr{}, false
	}
	return a.apply("elman", func() (*G.Node, error) {
		g := a.g
		if err := recurrent(a.node, w.node, batch); err != nil {
			return nil, err
		}
		d := w.node.Shape()[0]
		return g.node(&op{
			name: "elman", shape: a.node.Shape().Clone(), f32: elman[float32](g.pool, batch, d), f64: elman[float64](g.pool, batch, d),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dw := &buffer{part: true, size: in[1].Shape().TotalSize()}
				da, err := g.node(&op{
					name: "elman.da", shape: in[0].Shape().Clone(), fills: []*buffer{dw},
					f32: elmanBackward[float32](g.pool, batch, d, dw), f64: elmanBackward[float64](g.pool, batch, d, dw),
				}, out, in[1], grad)
				if err != nil {
					return nil, err
				}
				part, err := g.part("elman.dw", da, dw, in[1].Shape())
				return G.Nodes{da, part}, err
			},
		}, a.node, w.node)
	}, w), true
}

func recurrent(a, w *G.Node, batch int) error {
	d := a.Shape()[1]
	if s := w.Shape(); s[0] != d || s[1] != d {
		return errors.Errorf("a recurrent weight %v, (%d, %d) is needed", s, d, d)
	}
	if n := a.Shape()[0]; batch < 1 || n%batch != 0 {
		return errors.Errorf("%d tokens are not equally many for each of %d sequences", n, batch)
	}
	return nil
}

func elman[T kernel.Float](p *kernel.Pool, batch, d int) body[T] {
	return func(h []T, in [][]T) error {
		kernel.Elman(p, h, in[0], in[1], nil, batch, d)
		return nil
	}
}

func elmanBackward[T kernel.Float](p *kernel.Pool, batch, d int, dw *buffer) body[T] {
	return func(da []T, in [][]T) error {
		kernel.ElmanBackward(p, da, of[T](dw), in[0], in[1], in[2], batch, d)
		return nil
	}
}

// ElmanState is what one recurrent layer remembers of the tokens so far: h of the last. Graphs for one new token and for
// several may share it; run one at a time.
type ElmanState struct {
	batch, width int
	tokens       int // of every sequence
	f32          []float32
	f64          []float64
}

// NewElmanState is the state before the first token, for so many sequences and features.
func NewElmanState(batch, width int) *ElmanState { return &ElmanState{batch: batch, width: width} }

// ElmanStep is Elman for the newest tokens of every sequence, (B·n, d) → (B·n, d), going on from the state and leaving
// it behind the last of them. at is one integer, the number of tokens before them: at 0 the state is forgotten, any other
// number has to be that of the tokens seen, or the run fails with ErrOrder. It has no derivative and no
// spelled form: it equals rows at … at+n−1 of Elman.
func ElmanStep(a, w, at Expr, state *ElmanState) Expr {
	return a.apply("elman step", func() (*G.Node, error) {
		g := a.g
		if state == nil {
			return nil, errors.New("no state to go on from")
		}
		if err := recurrent(a.node, w.node, state.batch); err != nil {
			return nil, err
		}
		if d := a.node.Shape()[1]; d != state.width {
			return nil, errors.Errorf("%d features, the state has %d", d, state.width)
		}
		if len(at.Ints()) != 1 {
			return nil, errors.Errorf("%d positions, 1 is needed", len(at.Ints()))
		}
		return g.node(&op{
			name: "elmanstep", shape: a.node.Shape().Clone(), wrt: []bool{false, false, false},
			f32: elmanStep(g.pool, at.Ints(), state, &state.f32), f64: elmanStep(g.pool, at.Ints(), state, &state.f64),
		}, a.node, w.node, at.node)
	}, w, at)
}

func elmanStep[T kernel.Float](p *kernel.Pool, at []int, s *ElmanState, last *[]T) body[T] {
	return func(h []T, in [][]T) error {
		d, n := s.width, len(h)/(s.batch*s.width)
		if *last == nil {
			*last = kernel.Make[T](s.batch * d)
		}
		if at[0] == 0 {
			clear(*last)
			s.tokens = 0
		}
		if at[0] != s.tokens {
			return errors.Wrapf(ErrOrder, "token %d, the next one is token %d", at[0], s.tokens)
		}
		kernel.Elman(p, h, in[0], in[1], *last, s.batch, d)
		for b := range s.batch {
			copy((*last)[b*d:(b+1)*d], h[(b*n+n-1)*d:])
		}
		s.tokens += n
		return nil
	}
}
