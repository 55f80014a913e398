package fused

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/experts"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// Router describes how the logits of a router become the gates of experts: the k largest probabilities of a token, and
// 0 for the other experts. Of equal probabilities, those in earlier columns come first; NaN counts as +∞.
type Router struct {
	Experts, Active int  // E and k, 1 ≤ k ≤ E ≤ MaxExperts
	Sigmoid         bool // the probabilities are σ(z); otherwise softmax(z)
	// Norm divides the gates of a token by their sum, to which 1e-20 is added.
	Norm bool
}

// MaxExperts is the largest number of experts of a mixture.
const MaxExperts = 1024

// Check returns an error unless 1 ≤ k ≤ E ≤ MaxExperts.
func (r Router) Check() error {
	if r.Active < 1 || r.Active > r.Experts || r.Experts > MaxExperts {
		return errors.Errorf("got %d of %d experts, want at least 1 of at most %d", r.Active, r.Experts, MaxExperts)
	}
	return nil
}

func (r Router) check(z graph.Expr) error {
	if s := z.Operand().Shape(); len(s) != 2 || s[1] != r.Experts {
		return errors.Errorf("got %v, want a column for each of %d experts", s, r.Experts)
	}
	return r.Check()
}

func (r Router) kernel() experts.Router { return experts.Router(r) }

// Gates returns the kernel of the gates of r: logits (n, E) → (n, E). The bias (E) is optional: it is added to the
// probabilities that choose the experts, but not to the gates. Its gradient is 0, as is the gradient of a gate of 0.
func Gates(z, bias graph.Expr, r Router) (y graph.Expr, ok bool) {
	all := append([]graph.Expr{z}, present(bias)...)
	return z.Kernel("gates", func(g *ops.Builder) (*ops.Node, error) {
		if err := r.check(z); err != nil {
			return nil, err
		}
		if len(all) > 1 && bias.Operand().Shape().TotalSize() != r.Experts {
			return nil, errors.Errorf("got a bias %v, want a number for each of %d experts", bias.Shape(), r.Experts)
		}
		own := ops.Own{
			Name: "gates", Shape: z.Operand().Shape(), F32: gates[float32](g.Pool, r), F64: gates[float64](g.Pool, r),
		}
		return g.Apply(own, operands(all...))
	}, all[1:]...)
}

func gates[T float32 | float64](p *kernel.Pool, r Router) ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward: func(y []T, x [][]T) {
			var bias []T
			if len(x) > 1 {
				bias = x[1]
			}
			experts.Gates(p, r.kernel(), y, x[0], bias)
		},
		Backward: func(dx [][]T, dy, y []T, x [][]T) {
			experts.GatesBackward(p, r.kernel(), dx[0], dy, y, x[0])
		},
	}
}

// SwitchLoss returns the kernel of E·Σ f_e·P_e, a scalar, for logits z (n, E) and their gates (n, E): f_e is the share
// of the tokens whose gate of expert e is not 0, and P_e the mean of its probabilities, which are divided by their sum.
// The gradient of the gates is 0.
func SwitchLoss(z, gates graph.Expr, r Router) (loss graph.Expr, ok bool) {
	return z.Kernel("switch loss", func(g *ops.Builder) (*ops.Node, error) {
		if err := r.check(z); err != nil {
			return nil, err
		}
		if s := gates.Operand().Shape(); !s.Eq(z.Operand().Shape()) {
			return nil, errors.Errorf("got gates %v, want the shape of the logits, %v", s, z.Operand().Shape())
		}
		own := ops.Own{
			Name: "switch loss", Shape: ops.Shape{}, F32: switchLoss[float32](r), F64: switchLoss[float64](r),
		}
		return g.Apply(own, []*ops.Node{z.Operand(), gates.Operand()})
	}, gates)
}

func switchLoss[T float32 | float64](r Router) ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward: func(y []T, x [][]T) { y[0] = experts.Balance(r.kernel(), x[0], x[1]) },
		Backward: func(dx [][]T, dy, _ []T, x [][]T) {
			experts.BalanceBackward(r.kernel(), dx[0], dy[0], x[0], x[1])
		},
	}
}

// ExpertLoad returns the kernel of the number of tokens that chose each expert, those whose gate of it is not 0:
// gates (n, E) → (1, E). The gradient of the gates is 0.
func ExpertLoad(gates graph.Expr) (count graph.Expr, ok bool) {
	return gates.Kernel("expert load", func(g *ops.Builder) (*ops.Node, error) {
		s := gates.Operand().Shape()
		if len(s) != 2 {
			return nil, errors.Errorf("got gates %v, want a row of each token, with a gate of each expert", s)
		}
		return g.Apply(ops.Own{
			Name: "expert load", Shape: ops.Shape{1, s[1]},
			F32: expertLoad[float32](), F64: expertLoad[float64](),
		}, []*ops.Node{gates.Operand()})
	})
}

func expertLoad[T float32 | float64]() ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward:  func(y []T, x [][]T) { experts.Load(y, x[0]) },
		Backward: func([][]T, []T, []T, [][]T) {},
	}
}

// ExpertWeights holds the matrices of the experts of a mixture: w_g and w_u (d, f), and w_d (f, d), of each.
type ExpertWeights struct {
	Gate, Up, Down []ExpertMatrix
	Scale          float64 // s of the adapters
}

// ExpertMatrix is a matrix w (in, out). With an adapter, a low-rank product that is added to it, it is w + s·a·b.
type ExpertMatrix struct {
	W    graph.Expr
	A, B graph.Expr // a (in, r) and b (r, out); empty without an adapter
}

// MixExperts returns the kernel of a mixture of gated MLPs, of which a token passes only those whose gates are not 0:
//
//	y_i = Σ_e g_ie·(silu(x_i·w_g,e)∘(x_i·w_u,e))·w_d,e
//
// for x (n, d) and gates g (n, E), of which at most active are not 0 in a row; otherwise running fails. Only active
// experts do work. A gate of 0 has gradient 0, where the equation's is the product of Δ and the expert's result.
// Adapters, which all have one rank r, multiply the rows of an expert, and w + s·a·b is never computed.
func MixExperts(x, gates graph.Expr, w ExpertWeights, active int) (y graph.Expr, ok bool) {
	all := slices.Concat(w.Gate, w.Up, w.Down)
	m := ops.ExpertMatrices{Packed: make([]ops.Weights, len(all)), Adapted: make([]bool, len(all)), Scale: w.Scale}
	with, adapters := []graph.Expr{gates}, []graph.Expr(nil)
	for i, w := range all {
		if p, ok := w.W.Weights(false); ok {
			m.Packed[i] = p // not an operand
		} else {
			with = append(with, w.W)
		}
		if m.Adapted[i] = w.A.Graph() != nil; m.Adapted[i] {
			adapters = append(adapters, w.A, w.B)
		}
	}
	matrices := with[1:]
	with = slices.Concat(with, adapters)
	return x.Kernel("mix experts", func(g *ops.Builder) (*ops.Node, error) {
		l, err := w.layer(x, gates, active)
		if err != nil {
			return nil, err
		}
		for _, w := range matrices {
			w.Multiplied(false)
		}
		return g.Experts(l, m, append([]*ops.Node{x.Operand()}, operands(with...)...)...)
	}, with...)
}

// layer returns the sizes of the mixture, or an error if the operands do not fit.
func (w ExpertWeights) layer(x, gates graph.Expr, active int) (l experts.Layer, err error) {
	s, g, n := x.Operand().Shape(), gates.Operand().Shape(), len(w.Gate)
	if err := (Router{Experts: n, Active: active}).Check(); err != nil {
		return l, err
	}
	if len(s) != 2 || !g.Eq(ops.Shape{s[0], n}) || len(w.Up) != n || len(w.Down) != n {
		return l, errors.Errorf("got %v, gates %v and %d, %d and %d matrices, "+
			"want a gate of each token for each expert", s, g, n, len(w.Up), len(w.Down))
	}
	l = experts.Layer{Tokens: s[0], Embd: s[1], Experts: n, Active: active}
	if first := w.Gate[0].W.Operand().Shape(); len(first) == 2 {
		l.Inner = first[1]
	}
	for e := range n {
		in, out := ops.Shape{l.Embd, l.Inner}, ops.Shape{l.Inner, l.Embd}
		a, b, c := w.Gate[e].W.Operand().Shape(), w.Up[e].W.Operand().Shape(), w.Down[e].W.Operand().Shape()
		if !a.Eq(in) || !b.Eq(in) || !c.Eq(out) {
			return l, errors.Errorf("expert %d: got %v, %v and %v, want %v, %v and %v", e, a, b, c, in, in, out)
		}
		for _, m := range []ExpertMatrix{w.Gate[e], w.Up[e], w.Down[e]} {
			if err := m.adapt(&l, e); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// adapt sets the rank of the adapters of l, which is the rank of the first one. m is a matrix of expert e.
func (m ExpertMatrix) adapt(l *experts.Layer, e int) error {
	if m.A.Graph() == nil {
		return nil
	}
	a, b, w := m.A.Operand().Shape(), m.B.Operand().Shape(), m.W.Operand().Shape()
	if l.Rank == 0 && len(a) == 2 {
		l.Rank = a[1]
	}
	if !a.Eq(ops.Shape{w[0], l.Rank}) || !b.Eq(ops.Shape{l.Rank, w[1]}) {
		return errors.Errorf("expert %d: got an adapter %v and %v of %v, want matrices of the rank %d",
			e, a, b, w, l.Rank)
	}
	return nil
}
