package fused

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// MeanTokens returns the kernel of the mean over the tokens of each of batch sequences: x (B·T, d) → (B, d).
func MeanTokens(x graph.Expr, batch int) (y graph.Expr, ok bool) {
	return x.Kernel("mean of tokens", func(g *ops.Builder) (*ops.Node, error) {
		if err := checkSequences(x.Operand().Shape(), batch); err != nil {
			return nil, err
		}
		return g.MeanTokens(x.Operand(), batch)
	})
}

// GatherTokens returns the kernel of one token of each sequence: row b·T + at[b] of x (B·T, d) is row b of y (B, d).
// Running fails on a position outside 0 … T−1, whether or not ok is true.
func GatherTokens(x, at graph.Expr) (y graph.Expr, ok bool) {
	at.RequireIDs() // in the reference too: an ignored position has no token
	return x.Kernel("gather tokens", func(g *ops.Builder) (*ops.Node, error) {
		shape, batch := x.Operand().Shape(), count(at)
		if err := at.CheckIDs(shape[0], "tokens"); err != nil {
			return nil, err
		}
		if err := checkSequences(shape, batch); err != nil {
			return nil, err
		}
		if err := at.CheckIDs(shape[0]/batch, "tokens"); err != nil {
			return nil, err
		}
		return g.GatherTokens(x.Operand(), at.IDs())
	}, at)
}

func checkSequences(shape ops.Shape, batch int) error {
	if len(shape) != 2 || batch < 1 || shape[0]%batch != 0 {
		return errors.Errorf("got %v, want the same number of tokens for each of %d sequences", shape, batch)
	}
	return nil
}

// MixTokens returns the kernel of w·x for every sequence: w (m, T), x (B·T, c) → (B·m, c), that is, m mixtures of the T
// tokens.
func MixTokens(w, x graph.Expr) (y graph.Expr, ok bool) {
	return x.Kernel("mix tokens", func(g *ops.Builder) (*ops.Node, error) {
		a, b := w.Operand().Shape(), x.Operand().Shape()
		if len(a) != 2 || len(b) != 2 || b[0]%a[1] != 0 {
			return nil, errors.Errorf("%v mixes %d tokens, %v is not a batch of such sequences", a, a[1], b)
		}
		return g.MixTokens(w.Operand(), x.Operand())
	}, w)
}

// Elman returns the kernel of h_t = tanh(h_{t−1}·w + a_t) over batch sequences with h_0 = 0: a (B·T, d), w (d, d) →
// (B·T, d). Its backward pass is backpropagation through time.
func Elman(a, w graph.Expr, batch int) (h graph.Expr, ok bool) {
	return a.Kernel("elman", func(g *ops.Builder) (*ops.Node, error) {
		if err := checkElman(a.Operand(), w.Operand(), batch); err != nil {
			return nil, err
		}
		return g.Elman(a.Operand(), w.Operand(), batch)
	}, w)
}

// Convolve returns the kernel of the causal convolution of every feature by itself in sequences of length tokens, y_t =
// w_0∘x_t + … + w_{taps−1}∘x_{t−taps+1}, where tokens before the first are 0: x (B·T, d), w = [w_0 | w_1 | …] (taps·d)
// → (B·T, d).
func Convolve(x, w graph.Expr, length int) (y graph.Expr, ok bool) {
	return x.Kernel("convolve", func(g *ops.Builder) (*ops.Node, error) {
		taps, err := checkConvolve(x.Operand(), w.Operand())
		if err != nil {
			return nil, err
		}
		if n := x.Operand().Shape()[0]; length < 1 || n%length != 0 {
			return nil, errors.Errorf("got %d tokens, want entire sequences of %d", n, length)
		}
		return g.Convolve(x.Operand(), w.Operand(), kernel.Convolution{Length: length, Taps: taps})
	}, w)
}

// checkConvolve returns the number of weights of each feature.
func checkConvolve(x, w *ops.Node) (taps int, err error) {
	s, of := x.Shape(), w.Shape()
	if len(s) != 2 || s[1] < 1 {
		return 0, errors.Errorf("got tokens %v, want (B·n, d)", s)
	}
	if len(of) != 2 || of[0] != 1 || of[1] < s[1] || of[1]%s[1] != 0 {
		return 0, errors.Errorf("got weights %v, want a multiple of the %d features", of, s[1])
	}
	return of[1] / s[1], nil
}

func checkElman(a, w *ops.Node, batch int) error {
	if s := a.Shape(); len(s) != 2 {
		return errors.Errorf("got tokens %v, want (B·n, d)", s)
	}
	d := a.Shape()[1]
	if s := w.Shape(); len(s) != 2 || s[0] != d || s[1] != d {
		return errors.Errorf("got a recurrent weight %v, want (%d, %d)", s, d, d)
	}
	if n := a.Shape()[0]; batch < 1 || n%batch != 0 {
		return errors.Errorf("got %d tokens, want the same number for each of %d sequences", n, batch)
	}
	return nil
}

// MixColumns returns the kernel of [a | λ₁·b + λ₂·c] for x = [a | b] (n, d), c (n, e), and λ = [λ₁, λ₂], or [λ₂] if λ₁
// is 1. With e = d there is no a.
func MixColumns(x, c, lambda graph.Expr) (y graph.Expr, ok bool) {
	return x.Kernel("mix columns", func(g *ops.Builder) (*ops.Node, error) {
		s, of := x.Operand().Shape(), c.Operand().Shape()
		if len(s) != 2 || len(of) != 2 || of[0] != s[0] || of[1] < 1 || of[1] > s[1] {
			return nil, errors.Errorf("got %v and %v, want at most as many columns of the same rows", s, of)
		}
		if l := lambda.Operand().Shape(); l.TotalSize() != 1 && l.TotalSize() != 2 {
			return nil, errors.Errorf("got factors %v, want 1 or 2", l)
		}
		return g.MixColumns(x.Operand(), c.Operand(), lambda.Operand())
	}, c, lambda)
}

// Exclude returns the kernel of y − λ∘(y·v/(‖v‖² + ε))∘v in every head, for results y and values v (n, H·d) of H heads.
// lambda (H) may be empty, which is 1. It is an error if the sizes do not fit.
func Exclude(y, v, lambda graph.Expr, heads int, eps float64) (z graph.Expr, ok bool) {
	return y.Kernel("exclude", func(g *ops.Builder) (*ops.Node, error) {
		s, of := y.Operand().Shape(), v.Operand().Shape()
		if len(s) != 2 || !s.Eq(of) || heads < 1 || s[1]%heads != 0 {
			return nil, errors.Errorf("got %v and %v in %d heads, want results and values of one shape", s, of, heads)
		}
		if n := lambda.Operand(); n != nil && n.Shape().TotalSize() != heads {
			return nil, errors.Errorf("got factors %v, want one for each of %d heads", n.Shape(), heads)
		}
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("got ε = %v, want 0 or more", eps)
		}
		return g.Exclude(y.Operand(), v.Operand(), lambda.Operand(), heads, eps)
	}, append([]graph.Expr{v}, present(lambda)...)...)
}

// MatMulEach returns the kernel of a·x in every row of a (n, t·s) and x (n, s·d), which hold matrices (t, s) and
// (s, d): (n, t·d). It is an error if the sizes do not fit.
func MatMulEach(a, x graph.Expr, s int) (y graph.Expr, ok bool) {
	return a.Kernel("matmul each", func(g *ops.Builder) (*ops.Node, error) {
		of, by := a.Operand().Shape(), x.Operand().Shape()
		if len(of) != 2 || len(by) != 2 || of[0] != by[0] || s < 1 || of[1]%s != 0 || by[1]%s != 0 {
			return nil, errors.Errorf("got %v and %v, want rows of matrices (t, %d) and (%d, d)", of, by, s, s)
		}
		return g.MatMulEach(a.Operand(), x.Operand(), s)
	}, x)
}

// Sinkhorn returns the kernel of Sinkhorn's normalisation of matrices (s, s), the rows of z (n, s²). It takes e^z of
// every entry. Then it divides, the given number of times, first each column and then each row by its sum plus eps. The
// first division is a softmax, without eps.
func Sinkhorn(z graph.Expr, pairs int, eps float64) (y graph.Expr, ok bool) {
	return z.Kernel("sinkhorn", func(g *ops.Builder) (*ops.Node, error) {
		of := z.Operand().Shape()
		if len(of) != 2 {
			return nil, errors.Errorf("got %v, want a matrix in every row", of)
		}
		s := int(math.Sqrt(float64(of[1])))
		switch {
		case s*s != of[1]:
			return nil, errors.Errorf("got %v, want a matrix of as many rows as columns in every row", of)
		case pairs < 1 || pairs > 1000:
			return nil, errors.Errorf("got %d pairs of divisions, want 1 to 1000", pairs)
		case !(eps > 0 && eps <= math.MaxFloat64):
			return nil, errors.Errorf("got ε = %v, want more than 0", eps)
		}
		return g.Sinkhorn(z.Operand(), s, pairs, eps)
	})
}
