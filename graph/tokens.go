package graph

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MeanTokens returns the kernel of the mean over the tokens of each of batch sequences: x (B·T, d) → (B, d).
func MeanTokens(x Expr, batch int) (y Expr, ok bool) {
	return x.kernel("mean of tokens", func() (*G.Node, error) {
		if err := checkSequences(x.node.Shape(), batch); err != nil {
			return nil, err
		}
		return x.g.ops.MeanTokens(x.node, batch)
	})
}

// GatherTokens returns the kernel of one token of each sequence: row b·T + at[b] of x (B·T, d) is row b of y (B, d).
// Running fails on a position outside 0 … T−1, whether or not ok is true.
func GatherTokens(x, at Expr) (y Expr, ok bool) {
	at.neverIgnored() // in the reference too: an ignored position has no token
	return x.kernel("gather tokens", func() (*G.Node, error) {
		shape, batch := x.node.Shape(), at.count()
		if err := at.ids.check(shape[0], "tokens"); err != nil {
			return nil, err
		}
		if err := checkSequences(shape, batch); err != nil {
			return nil, err
		}
		if err := at.ids.check(shape[0]/batch, "tokens"); err != nil {
			return nil, err
		}
		return x.g.ops.GatherTokens(x.node, at.list())
	}, at)
}

func checkSequences(shape tensor.Shape, batch int) error {
	if len(shape) != 2 || batch < 1 || shape[0]%batch != 0 {
		return errors.Errorf("got %v, want the same number of tokens for each of %d sequences", shape, batch)
	}
	return nil
}

// MixTokens returns the kernel of w·x for every sequence: w (m, T), x (B·T, c) → (B·m, c), that is, m mixtures of the T
// tokens.
func MixTokens(w, x Expr) (y Expr, ok bool) {
	return x.kernel("mix tokens", func() (*G.Node, error) {
		a, b := w.node.Shape(), x.node.Shape()
		if len(a) != 2 || len(b) != 2 || b[0]%a[1] != 0 {
			return nil, errors.Errorf("%v mixes %d tokens, %v is not a batch of such sequences", a, a[1], b)
		}
		return x.g.ops.MixTokens(w.node, x.node)
	}, w)
}

// Elman returns the kernel of h_t = tanh(h_{t−1}·w + a_t) over batch sequences with h_0 = 0: a (B·T, d), w (d, d) →
// (B·T, d). Its backward pass is backpropagation through time.
func Elman(a, w Expr, batch int) (h Expr, ok bool) {
	return a.kernel("elman", func() (*G.Node, error) {
		if err := checkElman(a.node, w.node, batch); err != nil {
			return nil, err
		}
		return a.g.ops.Elman(a.node, w.node, batch)
	}, w)
}

// Convolve returns the kernel of the causal convolution of every feature by itself in sequences of length tokens, y_t =
// w_0∘x_t + … + w_{taps−1}∘x_{t−taps+1}, where tokens before the first are 0: x (B·T, d), w = [w_0 | w_1 | …] (taps·d)
// → (B·T, d).
func Convolve(x, w Expr, length int) (y Expr, ok bool) {
	return x.kernel("convolve", func() (*G.Node, error) {
		taps, err := checkConvolve(x.node, w.node)
		if err != nil {
			return nil, err
		}
		if n := x.node.Shape()[0]; length < 1 || n%length != 0 {
			return nil, errors.Errorf("got %d tokens, want entire sequences of %d", n, length)
		}
		return x.g.ops.Convolve(x.node, w.node, kernel.Convolution{Length: length, Taps: taps})
	}, w)
}

// checkConvolve returns the number of weights of each feature.
func checkConvolve(x, w *G.Node) (taps int, err error) {
	s, of := x.Shape(), w.Shape()
	if len(s) != 2 || s[1] < 1 {
		return 0, errors.Errorf("got tokens %v, want (B·n, d)", s)
	}
	if len(of) != 2 || of[0] != 1 || of[1] < s[1] || of[1]%s[1] != 0 {
		return 0, errors.Errorf("got weights %v, want a multiple of the %d features", of, s[1])
	}
	return of[1] / s[1], nil
}

func checkElman(a, w *G.Node, batch int) error {
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
func MixColumns(x, c, lambda Expr) (y Expr, ok bool) {
	return x.kernel("mix columns", func() (*G.Node, error) {
		s, of := x.node.Shape(), c.node.Shape()
		if len(s) != 2 || len(of) != 2 || of[0] != s[0] || of[1] < 1 || of[1] > s[1] {
			return nil, errors.Errorf("got %v and %v, want at most as many columns of the same rows", s, of)
		}
		if l := lambda.node.Shape(); l.TotalSize() != 1 && l.TotalSize() != 2 {
			return nil, errors.Errorf("got factors %v, want 1 or 2", l)
		}
		return x.g.ops.MixColumns(x.node, c.node, lambda.node)
	}, c, lambda)
}

// Exclude returns the kernel of y − λ∘(y·v/(‖v‖² + ε))∘v in every head, for results y and values v (n, H·d) of H heads.
// lambda (H) may be empty, which is 1. It is an error if the sizes do not fit.
func Exclude(y, v, lambda Expr, heads int, eps float64) (z Expr, ok bool) {
	return y.kernel("exclude", func() (*G.Node, error) {
		s, of := y.node.Shape(), v.node.Shape()
		if len(s) != 2 || !s.Eq(of) || heads < 1 || s[1]%heads != 0 {
			return nil, errors.Errorf("got %v and %v in %d heads, want results and values of one shape", s, of, heads)
		}
		if n := lambda.node; n != nil && n.Shape().TotalSize() != heads {
			return nil, errors.Errorf("got factors %v, want one for each of %d heads", n.Shape(), heads)
		}
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("got ε = %v, want 0 or more", eps)
		}
		return y.g.ops.Exclude(y.node, v.node, lambda.node, heads, eps)
	}, append([]Expr{v}, present(lambda)...)...)
}

// MatMulEach returns the kernel of a·x in every row of a (n, t·s) and x (n, s·d), which hold matrices (t, s) and
// (s, d): (n, t·d). It is an error if the sizes do not fit.
func MatMulEach(a, x Expr, s int) (y Expr, ok bool) {
	return a.kernel("matmul each", func() (*G.Node, error) {
		of, by := a.node.Shape(), x.node.Shape()
		if len(of) != 2 || len(by) != 2 || of[0] != by[0] || s < 1 || of[1]%s != 0 || by[1]%s != 0 {
			return nil, errors.Errorf("got %v and %v, want rows of matrices (t, %d) and (%d, d)", of, by, s, s)
		}
		return a.g.ops.MatMulEach(a.node, x.node, s)
	}, x)
}

// Sinkhorn returns the kernel of Sinkhorn's normalisation of matrices (s, s), the rows of z (n, s²). It takes e^z of
// every entry. Then it divides, the given number of times, first each column and then each row by its sum plus eps. The
// first division is a softmax, without eps.
func Sinkhorn(z Expr, pairs int, eps float64) (y Expr, ok bool) {
	return z.kernel("sinkhorn", func() (*G.Node, error) {
		of := z.node.Shape()
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
		return z.g.ops.Sinkhorn(z.node, s, pairs, eps)
	})
}
