package identity

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

type matrix = hand.Matrix[float64]

// pass is a layer for one kind of numbers.
type pass[T hand.Number] func(p hand.Parameters[T]) hand.Layer[T]

// formula returns the formula of a layer of x, with parameters of the given sizes.
func formula(sizes map[string][2]int, real pass[float64], step pass[complex128]) Formula {
	f := Formula{At: hand.Parameters[float64]{}}
	for name, size := range sizes {
		f.At[name] = fixture.Random(name, size[0], size[1])
	}
	f.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return step(p).Forward(p["x"]) }
	f.Backward = func(p hand.Parameters[float64], delta matrix) (hand.Gradients[float64], error) {
		dx, g := real(p).Backward(p["x"], delta)
		return append(g, hand.Gradient[float64]{Name: "x", Value: dx}), nil
	}
	return f
}

// wrong is a layer with another backward pass.
type wrong struct {
	hand.Layer[float64]
	back func(x, delta matrix) (matrix, hand.Gradients[float64])
}

func (l wrong) Backward(x, delta matrix) (matrix, hand.Gradients[float64]) { return l.back(x, delta) }

// softmaxes is the softmax of every row.
type softmaxes[T hand.Number] struct{}

func (softmaxes[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] { return x.Softmax() }

func (softmaxes[T]) Backward(x, delta hand.Matrix[T]) (hand.Matrix[T], hand.Gradients[T]) {
	rho := x.Softmax()
	return rho.Mul(delta.Sub(rho.Mul(delta).Sum())), nil
}

func site[T hand.Number](p hand.Parameters[T]) hand.Site[T] {
	return hand.Site[T]{Parameters: p, Eps: 1e-5}
}

func rotation[T hand.Number](hand.Parameters[T]) hand.Layer[T] {
	return hand.RoPE[T]{Positions: []int{0, 1, 2, 5}, Size: 6, Theta: 100}
}

func grouped[T hand.Number](p hand.Parameters[T]) hand.SelfAttention[T] {
	heads := hand.Heads[T]{Batch: 2, Count: 4, Groups: 2, Head: func(_, _ int) hand.Head[T] {
		return hand.Attention[T]{Mask: hand.CausalMask(2)}
	}}
	return site(p).SelfAttention(heads, 8, nil)
}

func latent[T hand.Number](p hand.Parameters[T]) hand.MLA[T] {
	heads := hand.Heads[T]{Batch: 2, Count: 2, Head: func(_, _ int) hand.Head[T] { return hand.Attention[T]{} }}
	return site(p).MLA(heads).(hand.MLA[T])
}

// TestPlanted checks that right formulas are equal in a hundred draws and that a mistake is found in each of them.
func TestPlanted(t *testing.T) {
	x := [2]int{4, 6}
	norm := map[string][2]int{"x": x, "weight": {1, 6}, "bias": {1, 6}}
	groups := map[string][2]int{
		"x": x, "c_attn.weight": {6, 8 + 4 + 6}, "c_attn.bias": {1, 18}, "c_proj.weight": {12, 6},
	}
	latents := map[string][2]int{
		"x": x, "c_q.weight": {6, 8}, "c_kv_down.weight": {6, 3}, "c_k_up.weight": {3, 8}, "c_v_up.weight": {3, 10},
		"c_proj.weight": {10, 6},
	}
	for _, c := range []struct {
		name  string
		right Formula
		wrong pass[float64]
	}{
		{"softmax without its sum",
			formula(map[string][2]int{"x": x},
				func(hand.Parameters[float64]) hand.Layer[float64] { return softmaxes[float64]{} },
				func(hand.Parameters[complex128]) hand.Layer[complex128] { return softmaxes[complex128]{} }),
			func(hand.Parameters[float64]) hand.Layer[float64] {
				return wrong{softmaxes[float64]{}, func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					return x.Softmax().Mul(delta), nil
				}}
			}},
		{"layer norm without its second mean",
			formula(norm,
				func(p hand.Parameters[float64]) hand.Layer[float64] { return site(p).LayerNorm() },
				func(p hand.Parameters[complex128]) hand.Layer[complex128] { return site(p).LayerNorm() }),
			func(p hand.Parameters[float64]) hand.Layer[float64] {
				l := site(p).LayerNorm()
				return wrong{l, func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					_, g := l.Backward(x, delta)
					centred := x.Sub(x.Mean())
					sigma, dnorm := centred.Square().Mean().Shift(1e-5).Sqrt(), delta.Mul(p["weight"])
					return dnorm.Sub(dnorm.Mean()).Div(sigma), g
				}}
			}},
		{"rotary with the wrong sign",
			formula(map[string][2]int{"x": x}, rotation[float64], rotation[complex128]),
			func(p hand.Parameters[float64]) hand.Layer[float64] {
				l := rotation(p)
				return wrong{l, func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					return l.Forward(delta), nil
				}}
			}},
		{"gqa without the sum over its group",
			formula(groups,
				func(p hand.Parameters[float64]) hand.Layer[float64] { return grouped(p) },
				func(p hand.Parameters[complex128]) hand.Layer[complex128] { return grouped(p) }),
			func(p hand.Parameters[float64]) hand.Layer[float64] {
				l := grouped(p)
				return wrong{l, func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					affine := site(p).At("c_attn").Packed(8, 4)
					qkv := affine.Forward(x)
					q, k, v := qkv.Columns(0, 8), qkv.Columns(8, 12), qkv.Columns(12, 18)
					d := delta.MatMul(p["c_proj.weight"].Transpose())
					dq, _, dv := l.Heads.Backward(q, k, v, d)
					alone := l.Heads // one head of each group alone
					alone.Count = 2
					_, dk, _ := alone.Backward(hand.Join(q.Columns(0, 2), q.Columns(4, 6)), k, v,
						hand.Join(d.Columns(0, 3), d.Columns(6, 9)))
					_, g := l.Backward(x, delta)
					dx, _ := affine.Backward(x, hand.Join(dq, dk, dv))
					return dx, g
				}}
			}},
		{"latent attention without the keys' share of the latent",
			formula(latents,
				func(p hand.Parameters[float64]) hand.Layer[float64] { return latent(p) },
				func(p hand.Parameters[complex128]) hand.Layer[complex128] { return latent(p) }),
			func(p hand.Parameters[float64]) hand.Layer[float64] {
				l := latent(p)
				up := l.UpK
				l.UpK = wrong{up, func(x, delta matrix) (matrix, hand.Gradients[float64]) {
					dx, g := up.Backward(x, delta)
					return dx.Scale(0), g
				}}
				return l
			}},
	} {
		mistaken := c.right
		mistaken.Backward = formula(nil, c.wrong, nil).Backward
		for seed := range uint64(100) {
			entries, bound, err := c.right.Differing(seed)
			if err != nil || len(entries) > 0 || bound > -40 {
				t.Fatalf("%s: the right formula: got %v, 2^%.1f, %v", c.name, entries, bound, err)
			}
			equal, _, err := mistaken.Holds(seed)
			if err != nil || equal {
				t.Fatalf("%s: draw %d does not find it: %v", c.name, seed, err)
			}
		}
		if entries, _, err := mistaken.Differing(1); err != nil || len(entries["x"]) == 0 {
			t.Errorf("%s: got %v, %v, want entries of x", c.name, entries, err)
		}
	}
}

// TestStructuralZeros checks that a gradient that is marked as 0 for every value of the parameters is 0.
func TestStructuralZeros(t *testing.T) {
	f := formula(
		map[string][2]int{"x": {2, 3}, "weight": {3, 2}, "bias": {1, 2}},
		func(p hand.Parameters[float64]) hand.Layer[float64] {
			l := site(p).Linear()
			return wrong{l, func(x, delta matrix) (matrix, hand.Gradients[float64]) {
				dx, g := l.Backward(x, delta)
				for i, part := range []string{"q", "k"} {
					b := g[1]
					b.Part, b.Zero, b.Value = part, part == "k", g[1].Value.Columns(i, i+1)
					g = append(g, b)
				}
				return dx, append(g[:1:1], g[2:]...)
			}}
		}, func(p hand.Parameters[complex128]) hand.Layer[complex128] { return site(p).Linear() })
	entries, _, err := f.Differing(1)
	if err != nil || len(entries) != 1 || len(entries["bias"]) != 1 || entries["bias"][0] != 1 {
		t.Errorf("got %v, %v, want entry 1 of bias", entries, err)
	}
}

// TestRefused checks that a formula that the road cannot follow is an error which names the function.
func TestRefused(t *testing.T) {
	loop := func(x matrix) matrix { // a user's loop over Data
		out := hand.Zeros[float64](x.Rows, x.Cols)
		for i, v := range x.Data {
			out.Data[i] = math.Tanh(v)
		}
		return out
	}
	size := map[string][2]int{"x": {2, 3}}
	act := func(hand.Parameters[complex128]) hand.Layer[complex128] { return hand.ReLU[complex128]{} }
	for _, c := range []struct {
		name, want string
		backward   func(x, delta matrix) (matrix, hand.Gradients[float64])
		reads      bool
	}{
		{"a loop over Data", "identity.TestRefused", func(x, delta matrix) (matrix, hand.Gradients[float64]) {
			return delta.Mul(loop(x)), nil
		}, true},
		{"an entry as a factor", "identity.TestRefused", func(x, delta matrix) (matrix, hand.Gradients[float64]) {
			return delta.Scale(math.Exp(x.Data[0])), nil
		}, true},
		{"an entry by At", "identity.TestRefused", func(x, delta matrix) (matrix, hand.Gradients[float64]) {
			return delta.Shift(x.At(0, 0)), nil
		}, true},
		{
			"a result from Data", "backward: x",
			func(x, _ matrix) (matrix, hand.Gradients[float64]) { return loop(x), nil }, true,
		},
		{"a division by 0", "backward: x: row 0, column 0 is NaN",
			func(x, delta matrix) (matrix, hand.Gradients[float64]) {
				return delta.Mul(x.Step().Div(x.Scale(0))), nil
			}, false},
		{"another size", "the gradient is (3, 2), the parameter (2, 3)",
			func(_, delta matrix) (matrix, hand.Gradients[float64]) {
				return delta.Transpose(), nil
			}, false},
	} {
		f := formula(size, func(hand.Parameters[float64]) hand.Layer[float64] { return wrong{nil, c.backward} }, act)
		_, _, err := f.Holds(1)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, hand.ErrReadsData) != c.reads {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	f := formula(size, nil, act)
	f.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return p["x"].Sub(p["x"]).Log() }
	if _, _, err := f.Holds(1); err == nil || !strings.Contains(err.Error(), "forward: row 0, column 0 is -Inf") {
		t.Errorf("got %v, want the entry that is not a number", err)
	}
}

// cube is a user's function with the given derivative at x, where its value is y.
func cube(derivative func(x, y matrix) matrix) hand.Function {
	return hand.Function{
		Name: "cube", Of64: func(x float64) float64 { return x * x * x },
		OfComplex:    func(x complex128) complex128 { return x * x * x },
		Differential: derivative,
	}
}

// On the exact road only the derivative of a user's function is known, which may depend on x and on the value y. An
// incomplete function is refused, and so is a derivative of another shape.
func TestFunction(t *testing.T) {
	ofX := func(x, _ matrix) matrix { return x.Square().Scale(3) }
	ofY := func(_, y matrix) matrix { return y.Sub(y.Square()) }
	at := func(f hand.Function, derivative func(x, y matrix) matrix) Formula {
		return Formula{
			At:      hand.Parameters[float64]{"x": fixture.Random("x", 2, 3)},
			Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return p["x"].Apply(f) },
			Backward: func(p hand.Parameters[float64], delta matrix) (hand.Gradients[float64], error) {
				return hand.Gradients[float64]{{Name: "x", Value: delta.Mul(derivative(p["x"], p["x"].Apply(f)))}}, nil
			},
		}
	}
	for _, c := range []struct {
		name           string
		declared, used func(x, y matrix) matrix
		differing      int
	}{
		{"3x²", ofX, ofX, 0}, {"y − y²", ofY, ofY, 0}, {"3x² for y − y²", ofY, ofX, 6}, {"y − y² for 3x²", ofX, ofY, 6},
	} {
		entries, _, err := at(cube(c.declared), c.used).Differing(1)
		if err != nil || len(entries["x"]) != c.differing {
			t.Errorf("%s: got %v, %v, want %d entries", c.name, entries, err, c.differing)
		}
	}
	row := cube(func(x, _ matrix) matrix { return x.Tokens(0, 1) })
	if _, _, err := at(row, ofX).Differing(1); err == nil ||
		!strings.Contains(err.Error(), "3 derivatives at 6 numbers") {
		t.Errorf("a derivative of one row: got %v", err)
	}
	if y := hand.NewMatrix(1, 1, 2.0).Apply(cube(ofX)); y.Err != nil || y.Data[0] != 8 {
		t.Errorf("2³ is %v, %v", y.Data, y.Err)
	}
	for i, drop := range []func(f *hand.Function){
		func(f *hand.Function) { f.Name = "" }, func(f *hand.Function) { f.Of64 = nil },
		func(f *hand.Function) { f.OfComplex = nil }, func(f *hand.Function) { f.Differential = nil },
	} {
		f := cube(ofX)
		drop(&f)
		if y := hand.NewMatrix(1, 1, 2.0).Apply(f); y.Err == nil ||
			!strings.Contains(y.Err.Error(), "want a name, Of64") {
			t.Errorf("a function without its part %d: got %v, %v", i, y.Data, y.Err)
		}
	}
}
