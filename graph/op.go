package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Op is an operation that a user writes in Go, for an equation that the operations of Expr cannot express, or express
// too slowly. It runs in planned memory, and is timed, recomputed and differentiated as the library's own operations
// are. A panic in a pass is an error of the run. A pass must give the same numbers whenever it gets the same, and must
// write to nothing but its results; passes of different programs may run at the same time.
type Op struct {
	Name    string
	Shape   []int // shape of the result; empty for one number
	Float32 Pass[float32]
	Float64 Pass[float64]

	// Part is optional: the number of successive entries, such as a row, that the passes can compute without
	// the other entries, if all operands have the shape of the result. Threads then call the passes at the same time,
	// each with some of the parts.
	Part int
}

// Pass computes an Op and its derivatives in one type of numbers. All numbers are row-major, as the shapes of the
// operands order them. Usually both types are instances of one generic function.
type Pass[T float32 | float64] struct {
	// Forward writes the result to y, which is 0 before.
	Forward func(y []T, x [][]T)
	// Backward adds the gradient of operand x[i] to dx[i], which is 0 before, for every i, given the gradient dy of the
	// result y. Without it the operation has no derivative.
	Backward func(dx [][]T, dy, y []T, x [][]T)
}

// Apply returns the result of op on x and the others. It is an error if op lacks the Forward of the graph's type, if a
// size is not positive, if an operand consists of integers, or if the parts do not fit.
func (x Expr) Apply(op Op, others ...Expr) Expr {
	return x.apply(op.Name, func() (*G.Node, error) {
		for _, n := range op.Shape {
			if n < 1 {
				return nil, errors.Errorf("got shape %v, want positive sizes", op.Shape)
			}
		}
		list, shape := append(G.Nodes{x.node}, nodes(others...)...), tensor.Shape(op.Shape)
		for i, n := range list {
			if n.Dtype() != x.g.ops.Dtype {
				return nil, errors.Errorf("operand %d: got integers, want floating-point numbers", i)
			}
			if op.Part != 0 && !n.Shape().Eq(shape) {
				return nil, errors.Errorf("operand %d: got shape %v, want the result's, %v, with parts",
					i, n.Shape(), shape)
			}
		}
		if size := shape.TotalSize(); op.Part < 0 || op.Part > 0 && size%op.Part != 0 {
			return nil, errors.Errorf("got parts of %d entries, want a divisor of the %d of the result", op.Part, size)
		}
		own := ops.Own{
			Name: op.Name, Shape: op.Shape, Part: op.Part,
			F32: ops.OwnPass[float32](op.Float32), F64: ops.OwnPass[float64](op.Float64),
		}
		if x.g.ops.Dtype == Float32 && own.F32.Forward == nil || x.g.ops.Dtype == Float64 && own.F64.Forward == nil {
			return nil, errors.Errorf("got no Forward in %v, the type of the graph", x.g.ops.Dtype)
		}
		return x.g.ops.Apply(own, list)
	}, others...)
}

// Abs returns |x|. Its derivative is the sign of x, and 0 at 0 and NaN.
func (x Expr) Abs() Expr { return x.entrywise("abs", math.Abs, sign) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// Sin returns sin x, which is NaN at ±∞.
func (x Expr) Sin() Expr { return x.entrywise("sin", elementary.Sin, elementary.Cos) }

// Cos returns cos x, which is NaN at ±∞.
func (x Expr) Cos() Expr {
	return x.entrywise("cos", elementary.Cos, func(x float64) float64 { return -elementary.Sin(x) })
}

// Pow returns x^c for a finite constant c, with derivative c·x^(c−1). It is NaN for x < 0 unless c is an integer.
func (x Expr) Pow(c float64) Expr {
	if err := finite([]float64{c}); err != nil {
		return x.apply("pow", func() (*G.Node, error) { return nil, err })
	}
	return x.entrywise("pow", func(x float64) float64 { return elementary.Pow(x, c) }, func(x float64) float64 {
		if c == 0 {
			return 0
		}
		return c * elementary.Pow(x, c-1)
	})
}

// Clamp returns least where x is less, most where x is greater, and x elsewhere. Its derivative is 1 from least to
// most, including both, and 0 elsewhere. NaN stays NaN. It is an error unless least ≤ most.
func (x Expr) Clamp(least, most float64) Expr {
	if !(least <= most) {
		return x.apply("clamp", func() (*G.Node, error) {
			return nil, errors.Errorf("got %v to %v, want an interval", least, most)
		})
	}
	return x.entrywise("clamp", func(x float64) float64 { return min(max(x, least), most) }, func(x float64) float64 {
		if least <= x && x <= most {
			return 1
		}
		return 0
	})
}

// entrywise returns f of every entry, with derivative df. Both are computed in float64.
func (x Expr) entrywise(name string, f, df func(x float64) float64) Expr {
	return x.Apply(Op{name, x.Shape(), entryPass[float32](f, df), entryPass[float64](f, df), 1})
}

func entryPass[T float32 | float64](f, df func(x float64) float64) Pass[T] {
	return Pass[T]{
		func(y []T, x [][]T) {
			for i, v := range x[0] {
				y[i] = T(f(float64(v)))
			}
		},
		func(dx [][]T, dy, _ []T, x [][]T) {
			for i, v := range x[0] {
				dx[0][i] = dy[i] * T(df(float64(v)))
			}
		},
	}
}

// Max returns the larger of x and y, entry by entry, for two expressions of one shape. Its derivative belongs to the
// larger, and half of it to each if they are equal. It is NaN if either is.
func (x Expr) Max(y Expr) Expr { return x.extreme("max", y, 1) }

// Min returns the smaller of x and y, entry by entry, as Max returns the larger.
func (x Expr) Min(y Expr) Expr { return x.extreme("min", y, -1) }

// extreme returns the larger of x and y for sign 1, and the smaller for sign −1.
func (x Expr) extreme(name string, y Expr, sign float64) Expr {
	return x.alike(name, extremePass(float32(sign)), extremePass(sign), y)
}

// alike returns the result of two passes on numbers of one shape, entry by entry.
func (x Expr) alike(name string, f32 Pass[float32], f64 Pass[float64], others ...Expr) Expr {
	return x.apply(name, func() (*G.Node, error) {
		list := append(G.Nodes{x.node}, nodes(others...)...)
		for _, n := range list {
			if !n.Shape().Eq(x.node.Shape()) || n.Dtype() != x.g.ops.Dtype {
				return nil, errors.Errorf("got shapes %v and %v, want floating-point numbers of one shape",
					x.node.Shape(), n.Shape())
			}
		}
		return x.g.ops.Apply(ops.Own{
			Name: name, Shape: x.node.Shape(), F32: ops.OwnPass[float32](f32), F64: ops.OwnPass[float64](f64), Part: 1,
		}, list)
	}, others...)
}

func extremePass[T float32 | float64](sign T) Pass[T] {
	return Pass[T]{
		func(y []T, x [][]T) {
			for i, a := range x[0] {
				y[i] = sign * max(sign*a, sign*x[1][i])
			}
		},
		func(dx [][]T, dy, _ []T, x [][]T) {
			for i, a := range x[0] {
				switch a, b := sign*a, sign*x[1][i]; {
				case a > b:
					dx[0][i] += dy[i]
				case a < b:
					dx[1][i] += dy[i]
				case a == b:
					dx[0][i] += T(dy[i] / 2)
					dx[1][i] += T(dy[i] / 2)
				}
			}
		},
	}
}

// Where returns x where mask is not 0, and y elsewhere, entry by entry, for three expressions of one shape. An entry
// that is not taken does not matter, even if it is infinite or NaN. It is differentiated by x and y alone.
func (x Expr) Where(mask, y Expr) Expr {
	return x.alike("where", wherePass[float32](), wherePass[float64](), mask, y)
}

func wherePass[T float32 | float64]() Pass[T] {
	return Pass[T]{
		func(y []T, x [][]T) {
			for i, mask := range x[1] {
				if y[i] = x[2][i]; mask != 0 {
					y[i] = x[0][i]
				}
			}
		},
		func(dx [][]T, dy, _ []T, x [][]T) {
			for i, mask := range x[1] {
				if mask != 0 {
					dx[0][i] += dy[i]
				} else {
					dx[2][i] += dy[i]
				}
			}
		},
	}
}

// TopK returns x where an entry is one of the k largest of its row, and 0 elsewhere: (n, d) → (n, d). Of equal entries,
// those in earlier columns come first; NaN counts as +∞. The derivative is 1 where x is kept. It is an
// error unless 1 ≤ k ≤ d.
func (x Expr) TopK(k int) Expr { return x.TopKBy(x.Detach(), k) }

// TopKBy returns x where the entry of scores is one of the k largest of its row, as TopK, and 0 elsewhere. Both have
// the same shape. The derivative by the scores is 0.
func (x Expr) TopKBy(scores Expr, k int) Expr {
	return x.apply("top k", func() (*G.Node, error) {
		s := x.node.Shape()
		if len(s) != 2 || x.node.Dtype() != x.g.ops.Dtype || k < 1 || k > s[1] {
			return nil, errors.Errorf("got the %d largest of %v, want 1 to all numbers of the rows of a matrix", k, s)
		}
		if by := scores.node.Shape(); !by.Eq(s) || scores.node.Dtype() != x.g.ops.Dtype {
			return nil, errors.Errorf("got scores %v of %s for %v, want a number for each", by, scores.node.Dtype(), s)
		}
		return x.g.ops.Apply(ops.Own{
			Name: fmt.Sprintf("top %d", k), Shape: s, F32: topK[float32](k, s[1]), F64: topK[float64](k, s[1]),
			Part: s[1],
		}, G.Nodes{x.node, scores.node})
	}, scores)
}

// topK adds the entries of a row at the k largest scores: those above the k-th largest, and the first that equal it.
func topK[T float32 | float64](k, d int) ops.OwnPass[T] {
	each := func(to, from, x []T) {
		sorted := make([]T, d)
		for at := 0; at < len(x); at += d {
			row := x[at : at+d]
			for i, v := range row {
				sorted[i] = key(v)
			}
			slices.Sort(sorted)
			least := sorted[d-k]
			equal := 0 // entries that equal the least, and are kept
			for _, v := range sorted[d-k:] {
				if v == least {
					equal++
				}
			}
			for i, v := range row {
				switch v := key(v); {
				case v > least:
					to[at+i] += from[at+i]
				case v == least && equal > 0:
					to[at+i] += from[at+i]
					equal--
				}
			}
		}
	}
	return ops.OwnPass[T]{
		Forward:  func(y []T, x [][]T) { each(y, x[0], x[1]) },
		Backward: func(dx [][]T, dy, _ []T, x [][]T) { each(dx[0], dy, x[1]) },
	}
}

// key returns x, or +∞ for NaN.
func key[T float32 | float64](x T) T {
	if x != x {
		return T(math.Inf(1))
	}
	return x
}
