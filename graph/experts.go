package graph

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/experts"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

func (r Router) check(z Expr) error {
	if s := z.node.Shape(); len(s) != 2 || s[1] != r.Experts {
		return errors.Errorf("got %v, want a column for each of %d experts", s, r.Experts)
	}
	return r.Check()
}

func (r Router) kernel() experts.Router { return experts.Router(r) }

// Gates returns the kernel of the gates of r: logits (n, E) → (n, E). The bias (E) is optional: it is added to the
// probabilities that choose the experts, but not to the gates. Its gradient is 0, as is the gradient of a gate of 0.
func Gates(z, bias Expr, r Router) (y Expr, ok bool) {
	operands := append([]Expr{z}, present(bias)...)
	return z.kernel("gates", func() (*G.Node, error) {
		if err := r.check(z); err != nil {
			return nil, err
		}
		if len(operands) > 1 && bias.node.Shape().TotalSize() != r.Experts {
			return nil, errors.Errorf("got a bias %v, want a number for each of %d experts", bias.Shape(), r.Experts)
		}
		b := z.g.ops
		own := ops.Own{
			Name: "gates", Shape: z.node.Shape(), F32: gates[float32](b.Pool, r), F64: gates[float64](b.Pool, r),
		}
		return b.Apply(own, nodes(operands...))
	}, operands[1:]...)
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
func SwitchLoss(z, gates Expr, r Router) (loss Expr, ok bool) {
	return z.kernel("switch loss", func() (*G.Node, error) {
		if err := r.check(z); err != nil {
			return nil, err
		}
		if s := gates.node.Shape(); !s.Eq(z.node.Shape()) {
			return nil, errors.Errorf("got gates %v, want those of the logits %v", s, z.node.Shape())
		}
		own := ops.Own{
			Name: "switch loss", Shape: tensor.Shape{}, F32: switchLoss[float32](r), F64: switchLoss[float64](r),
		}
		return z.g.ops.Apply(own, G.Nodes{z.node, gates.node})
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
func ExpertLoad(gates Expr) (count Expr, ok bool) {
	return gates.kernel("expert load", func() (*G.Node, error) {
		s := gates.node.Shape()
		if len(s) != 2 {
			return nil, errors.Errorf("got gates %v, want those of tokens for each expert", s)
		}
		return gates.g.ops.Apply(ops.Own{
			Name: "expert load", Shape: tensor.Shape{1, s[1]},
			F32: expertLoad[float32](), F64: expertLoad[float64](),
		}, G.Nodes{gates.node})
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
	W    Expr
	A, B Expr // a (in, r) and b (r, out); empty without an adapter
}

// MixExperts returns the kernel of a mixture of gated MLPs, of which a token passes only those whose gates are not 0:
//
//	y_i = Σ_e g_ie·(silu(x_i·w_g,e)∘(x_i·w_u,e))·w_d,e
//
// for x (n, d) and gates g (n, E), of which at most active are not 0 in a row; otherwise running fails. The work is
// that of active experts. A gate of 0 has gradient 0, where that of the equation is the product of Δ and the expert's
// result. Adapters, which all have one rank r, multiply the rows of an expert, and w + s·a·b is never computed.
func MixExperts(x, gates Expr, w ExpertWeights, active int) (y Expr, ok bool) {
	all := slices.Concat(w.Gate, w.Up, w.Down)
	m := ops.ExpertMatrices{Packed: make([]ops.Weights, len(all)), Adapted: make([]bool, len(all)), Scale: w.Scale}
	with, adapters := []Expr{gates}, []Expr(nil)
	for i, w := range all {
		if p := x.g.packed(w.W); p != nil && !p.transposed {
			m.Packed[i] = p.Weights // not an operand
		} else {
			with = append(with, w.W)
		}
		if m.Adapted[i] = w.A.g != nil; m.Adapted[i] {
			adapters = append(adapters, w.A, w.B)
		}
	}
	matrices := with[1:]
	with = slices.Concat(with, adapters)
	return x.kernel("mix experts", func() (*G.Node, error) {
		l, err := w.layer(x, gates, active)
		if err != nil {
			return nil, err
		}
		for _, w := range matrices {
			if _, known := x.g.multiplied[w.name]; w.name != "" && !known {
				x.g.multiplied[w.name] = false
			}
		}
		return x.g.ops.Experts(l, m, append(G.Nodes{x.node}, nodes(with...)...)...)
	}, with...)
}

// layer returns the sizes of the mixture, or an error if the operands do not fit.
func (w ExpertWeights) layer(x, gates Expr, active int) (l experts.Layer, err error) {
	s, g, n := x.node.Shape(), gates.node.Shape(), len(w.Gate)
	if err := (Router{Experts: n, Active: active}).Check(); err != nil {
		return l, err
	}
	if len(s) != 2 || !g.Eq(tensor.Shape{s[0], n}) || len(w.Up) != n || len(w.Down) != n {
		return l, errors.Errorf("got %v, gates %v and %d, %d and %d matrices, "+
			"want a gate of each token for each expert", s, g, n, len(w.Up), len(w.Down))
	}
	l = experts.Layer{Tokens: s[0], Embd: s[1], Experts: n, Active: active}
	if first := w.Gate[0].W.node.Shape(); len(first) == 2 {
		l.Inner = first[1]
	}
	for e := range n {
		in, out := tensor.Shape{l.Embd, l.Inner}, tensor.Shape{l.Inner, l.Embd}
		if a, b, c := w.Gate[e].W.node.Shape(), w.Up[e].W.node.Shape(), w.Down[e].W.node.Shape(); !a.Eq(in) ||
			!b.Eq(in) || !c.Eq(out) {
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
	if m.A.g == nil {
		return nil
	}
	a, b, w := m.A.node.Shape(), m.B.node.Shape(), m.W.node.Shape()
	if l.Rank == 0 && len(a) == 2 {
		l.Rank = a[1]
	}
	if !a.Eq(tensor.Shape{w[0], l.Rank}) || !b.Eq(tensor.Shape{l.Rank, w[1]}) {
		return errors.Errorf("expert %d: got an adapter %v and %v of %v, want matrices of the rank %d",
			e, a, b, w, l.Rank)
	}
	return nil
}
