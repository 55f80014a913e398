package verify

import (
	"math"
	"testing"
)

// layer is a forward and a backward over named inputs and parameters.
type layer struct {
	shapes   map[string][2]int
	forward  func(Parameters[complex128]) Matrix[complex128]
	backward func(p Parameters[float64], delta Matrix[float64]) Parameters[float64]
}

func layers() map[string]layer {
	type (
		c  = Parameters[complex128]
		r  = Parameters[float64]
		cm = Matrix[complex128]
		rm = Matrix[float64]
	)
	const eps = 1e-5
	tokens := []int{3, 0, 3, 6, 3}
	targets := []int{2, Ignore, 0, 4, 2}
	head := map[string][2]int{"x": {5, 7}, "wq": {7, 3}, "bq": {1, 3}, "wk": {7, 3}, "bk": {1, 3}, "wv": {7, 4}, "bv": {1, 4}}
	attend := func(mask, drop rm) layer {
		return layer{head,
			func(p c) cm { return HeadForward(p["x"], headOf(p), mask, drop) },
			func(p r, delta rm) r {
				dx, g := HeadBackward(p["x"], headOf(p), mask, drop, delta)
				return r{"x": dx, "wq": g.Wq, "bq": g.Bq, "wk": g.Wk, "bk": g.Bk, "wv": g.Wv, "bv": g.Bv}
			}}
	}
	multi := MultiHead{Batch: 2, Heads: 3, QK: 2, Drop: Random("drop", 30, 5).Shift(0.3).Step(),
		Masks: []rm{CausalMask(5), WindowMask(5, 2)}}
	elementwise := func(f func(cm) cm, b func(x, delta rm) rm) layer {
		return layer{map[string][2]int{"x": {4, 9}},
			func(p c) cm { return f(p["x"].Scale(6)) }, // ±3: past the bends of GELU
			func(p r, delta rm) r { return r{"x": b(p["x"].Scale(6), delta).Scale(6)} }}
	}
	mlp := func(g Activation) layer {
		return layer{map[string][2]int{"x": {3, 4}, "w1": {4, 7}, "b1": {1, 7}, "w2": {7, 4}, "b2": {1, 4}},
			func(p c) cm { return MLPForward(p["x"], MLP[complex128]{p["w1"], p["b1"], p["w2"], p["b2"]}, g) },
			func(p r, delta rm) r {
				dx, d := MLPBackward(p["x"], MLP[float64]{p["w1"], p["b1"], p["w2"], p["b2"]}, g, delta)
				return r{"x": dx, "w1": d.W1, "b1": d.B1, "w2": d.W2, "b2": d.B2}
			}}
	}
	loss := func(reduction Reduction) layer {
		return layer{map[string][2]int{"z": {5, 7}},
			func(p c) cm { return CrossEntropyForward(p["z"], targets, reduction) },
			func(p r, delta rm) r { return r{"z": CrossEntropyBackward(p["z"], targets, reduction).Mul(delta)} }}
	}
	mask := Random("mask", 4, 9).Step().Scale(1.5)
	return map[string]layer{
		"embedding": {map[string][2]int{"w": {7, 4}},
			func(p c) cm { return EmbeddingForward(p["w"], tokens) },
			func(p r, delta rm) r { return r{"w": EmbeddingBackward(p["w"], tokens, delta)} }},
		"linear": {map[string][2]int{"x": {3, 5}, "w": {5, 7}, "b": {1, 7}},
			func(p c) cm { return LinearForward(p["x"], p["w"], p["b"]) },
			func(p r, delta rm) r {
				dx, dw, db := LinearBackward(p["x"], p["w"], delta)
				return r{"x": dx, "w": dw, "b": db}
			}},
		"layernorm": {map[string][2]int{"x": {3, 5}, "w": {1, 5}, "b": {1, 5}},
			func(p c) cm { return LayerNormForward(p["x"], p["w"], p["b"], eps) },
			func(p r, delta rm) r {
				dx, dw, db := LayerNormBackward(p["x"], p["w"], delta, eps)
				return r{"x": dx, "w": dw, "b": db}
			}},
		"head":                  attend(rm{}, rm{}),
		"head, causal":          attend(CausalMask(5), rm{}),
		"head, window":          attend(WindowMask(5, 2), rm{}),
		"head, padding":         attend(PaddingMask([]bool{false, true, false, false, true}), rm{}),
		"head, causal, dropout": attend(CausalMask(5), Random("rho", 5, 5).Shift(0.2).Step().Scale(1/0.7)),
		"gelu":                  elementwise(GELUForward[complex128], GELUBackward[float64]),
		"gelu, tanh":            elementwise(GELUTanhForward[complex128], GELUTanhBackward[float64]),
		"relu":                  elementwise(ReLUForward[complex128], ReLUBackward[float64]),
		"mlp, gelu":             mlp(GELU),
		"mlp, gelu tanh":        mlp(GELUTanh),
		"mlp, relu":             mlp(ReLU),
		"cross entropy, mean":   loss(Mean),
		"cross entropy, sum":    loss(Sum),
		"multihead": {map[string][2]int{"qkv": {10, 3 * (2*2 + 4)}},
			func(p c) cm { return MultiHeadForward(p["qkv"], multi) },
			func(p r, delta rm) r { return r{"qkv": MultiHeadBackward(p["qkv"], multi, delta)} }},
		"dropout": {map[string][2]int{"x": {4, 9}},
			func(p c) cm { return DropoutForward(p["x"], mask) },
			func(p r, delta rm) r { return r{"x": DropoutBackward(mask, delta)} }},
		"lora": {map[string][2]int{"x": {3, 5}, "d": {5, 2}, "u": {2, 7}},
			func(p c) cm { return LoRAForward(p["x"], p["d"], p["u"], 1.5) },
			func(p r, delta rm) r {
				dx, dd, du := LoRABackward(p["x"], p["d"], p["u"], 1.5, delta)
				return r{"x": dx, "d": dd, "u": du}
			}},
		"residual": {map[string][2]int{"x": {3, 5}}, // around a sublayer that squares
			func(p c) cm { return ResidualForward(p["x"], p["x"].Square()) },
			func(p r, delta rm) r {
				return r{"x": ResidualBackward(delta, delta.Mul(p["x"]).Scale(2))}
			}},
		"block, pre-norm":  block(),
		"block, post-norm": block(WithPostNorm),
	}
}

func headOf[T Number](p Parameters[T]) Head[T] {
	return Head[T]{p["wq"], p["bq"], p["wk"], p["bk"], p["wv"], p["bv"]}
}

func block(variants ...Variant) layer {
	f := Generic(variants...)
	shapes := map[string][2]int{"x": {f.Batch * f.Context, 8}}
	for name, m := range f.Parameters {
		if len(name) > 4 && name[:4] == "h.1." {
			shapes[name] = [2]int{m.Rows, m.Cols}
		}
	}
	return layer{shapes,
		func(p Parameters[complex128]) Matrix[complex128] {
			b, _ := BlockForward(f.GPT, p, 1, p["x"]) // the error is in the matrix too
			return b.A10
		},
		func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			b, _ := BlockForward(f.GPT, p, 1, p["x"])
			dx, g, err := BlockBackward(f.GPT, p, 1, b, delta)
			if err != nil {
				dx.Err = err
			}
			g["x"] = dx
			return g
		}}
}

// witness differentiates Σ y∘Δ by the complex step.
func witness(t testing.TB, forward func(Parameters[complex128]) Matrix[complex128], p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
	t.Helper()
	g, err := ComplexStep(func(z Parameters[complex128]) (complex128, error) {
		y := forward(z).Mul(Lift[complex128](delta)).SumTokens().SumFeatures()
		if y.Err != nil {
			return 0, y.Err
		}
		return y.Data[0], nil
	}, p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Every layer's gradients by hand for a random Δ are those of the complex step of
// Σ y∘Δ, entry by entry.
func TestLayers(t *testing.T) {
	for name, l := range layers() {
		t.Run(name, func(t *testing.T) {
			p, z := Parameters[float64]{}, Parameters[complex128]{}
			for key, shape := range l.shapes {
				p[key] = Random(name+key, shape[0], shape[1])
				z[key] = Lift[complex128](p[key])
			}
			y := l.forward(z)
			if y.Err != nil {
				t.Fatal(y.Err)
			}
			delta := Random("delta", y.Rows, y.Cols)
			d := worst(t, l.backward(p, delta), witness(t, l.forward, p, delta))
			if !(d.Distance <= Suspicion) {
				t.Errorf("%s (%d, %d): got %v by hand, want %v", d.Name, d.Row, d.Col, d.Got, d.Want)
			}
		})
	}
}

// The complex forms agree with the real ones on the real axis and carry the
// known derivatives.
func TestFunctions(t *testing.T) {
	x := NewMatrix(1, 5, -2.5, -0.3, 0.1, 0.9, 3)
	tests := map[string]struct {
		f     func(Matrix[complex128]) Matrix[complex128]
		value func(float64) float64
		slope func(float64) float64
	}{
		"exp":  {Matrix[complex128].Exp, math.Exp, math.Exp},
		"tanh": {Matrix[complex128].Tanh, math.Tanh, func(x float64) float64 { return 1 - math.Pow(math.Tanh(x), 2) }},
		"erf":  {Matrix[complex128].Erf, math.Erf, func(x float64) float64 { return 2 / math.Sqrt(math.Pi) * math.Exp(-x*x) }},
		"log": {func(z Matrix[complex128]) Matrix[complex128] { return z.Square().Log() },
			func(x float64) float64 { return math.Log(x * x) }, func(x float64) float64 { return 2 / x }},
		"sqrt": {func(z Matrix[complex128]) Matrix[complex128] { return z.Square().Shift(1).Sqrt() },
			func(x float64) float64 { return math.Hypot(x, 1) }, func(x float64) float64 { return x / math.Hypot(x, 1) }},
	}
	for name, test := range tests {
		z := Lift[complex128](x)
		for i := range z.Data {
			z.Data[i] += complex(0, imaginaryStep)
		}
		for i, y := range test.f(z).Data {
			value, slope := test.value(x.Data[i]), test.slope(x.Data[i])
			if !(math.Abs(real(y)-value) <= 1e-15*(1+math.Abs(value))) || !(math.Abs(imag(y)/imaginaryStep-slope) <= 1e-15*(1+math.Abs(slope))) {
				t.Errorf("%s(%v): got %v and slope %v, want %v and %v", name, x.Data[i], real(y), imag(y)/imaginaryStep, value, slope)
			}
		}
	}
}

// Large logits neither overflow nor underflow.
func TestLogSumExpIsStable(t *testing.T) {
	logits := NewMatrix(2, 3, 900.0, 0, -900, -800, -801, -802)
	loss := CrossEntropyForward(logits, []int{2, 0}, Sum)
	want := 1800 + math.Log1p(math.Exp(-1)+math.Exp(-2))
	if got := loss.Data[0]; !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("got loss %v, want %v", got, want)
	}
	for _, p := range logits.Softmax().Data {
		if math.IsNaN(p) {
			t.Errorf("softmax: got %v", logits.Softmax().Data)
		}
	}
}
