package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// layer is a forward and a backward over named inputs and parameters.
type layer struct {
	shapes   map[string][2]int
	forward  func(complexParameters) complexMatrix
	backward func(p parameters, delta matrix) parameters
}

func layers() map[string]layer {
	type (
		c  = complexParameters
		r  = parameters
		cm = complexMatrix
		rm = matrix
	)
	const eps = 1e-5
	tokens := []int{3, 0, 3, 6, 3}
	targets := []int{2, hand.Ignore, 0, 4, 2}
	head := map[string][2]int{
		"x": {5, 7}, "wq": {7, 3}, "bq": {1, 3}, "wk": {7, 3}, "bk": {1, 3}, "wv": {7, 4}, "bv": {1, 4},
	}
	attend := func(mask, drop rm) layer {
		return layer{head,
			func(p c) cm { return headForward(p["x"], headOf(p), mask, drop) },
			func(p r, delta rm) r {
				dx, g := headBackward(p["x"], headOf(p), mask, drop, delta)
				return r{"x": dx, "wq": g.Wq, "bq": g.Bq, "wk": g.Wk, "bk": g.Bk, "wv": g.Wv, "bv": g.Bv}
			}}
	}
	multi := multiHead{Batch: 2, Heads: 3, QK: 2, Drop: fixture.Random("drop", 30, 5).Shift(0.3).Step(),
		Masks: []rm{hand.CausalMask(5), hand.WindowMask(5, 2)}}
	elementwise := func(f func(cm) cm, b func(x, delta rm) rm) layer {
		return layer{map[string][2]int{"x": {4, 9}},
			func(p c) cm { return f(p["x"].Scale(6)) }, // ±3: past the bends of GELU
			func(p r, delta rm) r { return r{"x": b(p["x"].Scale(6), delta).Scale(6)} }}
	}
	mlp := func(g string) layer {
		return layer{map[string][2]int{"x": {3, 4}, "w1": {4, 7}, "b1": {1, 7}, "w2": {7, 4}, "b2": {1, 4}},
			func(p c) cm {
				return mlpForward(p["x"], mlpParameters[complex128]{p["w1"], p["b1"], p["w2"], p["b2"]}, g)
			},
			func(p r, delta rm) r {
				dx, d := mlpBackward(p["x"], mlpParameters[float64]{p["w1"], p["b1"], p["w2"], p["b2"]}, g, delta)
				return r{"x": dx, "w1": d.W1, "b1": d.B1, "w2": d.W2, "b2": d.B2}
			}}
	}
	loss := func(reduction hand.Reduction) layer {
		return layer{map[string][2]int{"z": {5, 7}},
			func(p c) cm { return crossEntropyForward(p["z"], targets, reduction) },
			func(p r, delta rm) r { return r{"z": crossEntropyBackward(p["z"], targets, reduction).Mul(delta)} }}
	}
	mask := fixture.Random("mask", 4, 9).Step().Scale(1.5)
	return map[string]layer{
		"embedding": {map[string][2]int{"w": {7, 4}},
			func(p c) cm { return embeddingForward(p["w"], tokens) },
			func(p r, delta rm) r { return r{"w": embeddingBackward(p["w"], tokens, delta)} }},
		"linear": {map[string][2]int{"x": {3, 5}, "w": {5, 7}, "b": {1, 7}},
			func(p c) cm { return linearForward(p["x"], p["w"], p["b"]) },
			func(p r, delta rm) r {
				dx, dw, db := linearBackward(p["x"], p["w"], delta)
				return r{"x": dx, "w": dw, "b": db}
			}},
		"layernorm": {map[string][2]int{"x": {3, 5}, "w": {1, 5}, "b": {1, 5}},
			func(p c) cm { return layerNormForward(p["x"], p["w"], p["b"], eps) },
			func(p r, delta rm) r {
				dx, dw, db := layerNormBackward(p["x"], p["w"], delta, eps)
				return r{"x": dx, "w": dw, "b": db}
			}},
		"head":                  attend(rm{}, rm{}),
		"head, causal":          attend(hand.CausalMask(5), rm{}),
		"head, window":          attend(hand.WindowMask(5, 2), rm{}),
		"head, padding":         attend(hand.PaddingMask([]bool{false, true, false, false, true}), rm{}),
		"head, causal, dropout": attend(hand.CausalMask(5), fixture.Random("rho", 5, 5).Shift(0.2).Step().Scale(1/0.7)),
		"gelu":                  elementwise(geluForward[complex128], geluBackward[float64]),
		"gelu, tanh":            elementwise(geluTanhForward[complex128], geluTanhBackward[float64]),
		"relu":                  elementwise(reluForward[complex128], reluBackward[float64]),
		"mlp, gelu":             mlp("gelu"),
		"mlp, gelu tanh":        mlp("gelu_tanh"),
		"mlp, relu":             mlp("relu"),
		"cross entropy, mean":   loss(hand.Mean),
		"cross entropy, sum":    loss(hand.Sum),
		"multihead": {map[string][2]int{"qkv": {10, 3 * (2*2 + 4)}},
			func(p c) cm { return multiHeadForward(p["qkv"], multi) },
			func(p r, delta rm) r { return r{"qkv": multiHeadBackward(p["qkv"], multi, delta)} }},
		"dropout": {map[string][2]int{"x": {4, 9}},
			func(p c) cm { return dropoutForward(p["x"], mask) },
			func(p r, delta rm) r { return r{"x": dropoutBackward(mask, delta)} }},
		"lora": {map[string][2]int{"x": {3, 5}, "d": {5, 2}, "u": {2, 7}},
			func(p c) cm { return loraForward(p["x"], p["d"], p["u"], 1.5) },
			func(p r, delta rm) r {
				dx, dd, du := loraBackward(p["x"], p["d"], p["u"], 1.5, delta)
				return r{"x": dx, "d": dd, "u": du}
			}},
		"residual": {map[string][2]int{"x": {3, 5}}, // around a sublayer that squares
			func(p c) cm { return residualForward(p["x"], p["x"].Square()) },
			func(p r, delta rm) r {
				return r{"x": residualBackward(delta, delta.Mul(p["x"]).Scale(2))}
			}},
		"block, pre-norm":  block(),
		"block, post-norm": block(fixture.WithPostNorm),
	}
}

const tiny = 1e-30 // of a complex step

func headOf[T hand.Number](p hand.Parameters[T]) headParameters[T] {
	return headParameters[T]{p["wq"], p["bq"], p["wk"], p["bk"], p["wv"], p["bv"]}
}

func block(variants ...fixture.Variant) layer {
	f := fixture.Generic(variants...)
	shapes := map[string][2]int{"x": {f.Batch * f.Context, 8}}
	for name, m := range f.Parameters {
		if len(name) > 4 && name[:4] == "h.1." {
			shapes[name] = [2]int{m.Rows, m.Cols}
		}
	}
	return layer{shapes,
		func(p complexParameters) complexMatrix {
			b, err := blockOf(f.Plan, p, 1)
			if err != nil {
				return complexMatrix{Err: err}
			}
			return b.Forward(p["x"])
		},
		func(p parameters, delta matrix) parameters {
			dx, g, err := blockBackward(f.Plan, p, 1, p["x"], delta)
			if err != nil {
				dx.Err = err
			}
			g["x"] = dx
			return g
		}}
}

// complexStep differentiates Σ y∘Δ by the complex step.
func complexStep(t testing.TB, forward func(complexParameters) complexMatrix, p parameters, delta matrix) parameters {
	t.Helper()
	g, err := verify.ComplexStep(func(z complexParameters) (complex128, error) {
		y := forward(z).Mul(hand.Lift[complex128](delta)).SumTokens().Sum()
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

// Every layer's gradients by hand for a random Δ equal the complex step of Σ y∘Δ, entry by entry.
func TestLayers(t *testing.T) {
	for name, l := range layers() {
		t.Run(name, func(t *testing.T) {
			p, z := parameters{}, complexParameters{}
			for key, shape := range l.shapes {
				p[key] = fixture.Random(name+key, shape[0], shape[1])
				z[key] = hand.Lift[complex128](p[key])
			}
			y := l.forward(z)
			if y.Err != nil {
				t.Fatal(y.Err)
			}
			delta := fixture.Random("delta", y.Rows, y.Cols)
			d := worst(t, l.backward(p, delta), complexStep(t, l.forward, p, delta))
			if !(d.Distance <= verify.Suspicion) {
				t.Errorf("%s (%d, %d): got %v by hand, want %v", d.Name, d.Row, d.Col, d.Got, d.Want)
			}
		})
	}
}

// The complex forms agree with the real ones on the real axis and carry the known derivatives.
func TestFunctions(t *testing.T) {
	x := hand.NewMatrix(1, 5, -2.5, -0.3, 0.1, 0.9, 3)
	tests := map[string]struct {
		f     func(complexMatrix) complexMatrix
		value func(float64) float64
		slope func(float64) float64
	}{
		"exp":  {complexMatrix.Exp, math.Exp, math.Exp},
		"tanh": {complexMatrix.Tanh, math.Tanh, func(x float64) float64 { return 1 - math.Pow(math.Tanh(x), 2) }},
		"erf": {
			complexMatrix.Erf, math.Erf, func(x float64) float64 { return 2 / math.Sqrt(math.Pi) * math.Exp(-x*x) },
		},
		"log": {func(z complexMatrix) complexMatrix { return z.Square().Log() },
			func(x float64) float64 { return math.Log(x * x) }, func(x float64) float64 { return 2 / x }},
		"sqrt": {func(z complexMatrix) complexMatrix { return z.Square().Shift(1).Sqrt() },
			func(x float64) float64 { return math.Hypot(x, 1) },
			func(x float64) float64 { return x / math.Hypot(x, 1) }},
	}
	for name, test := range tests {
		z := hand.Lift[complex128](x)
		for i := range z.Data {
			z.Data[i] += complex(0, tiny)
		}
		for i, y := range test.f(z).Data {
			value, slope := test.value(x.Data[i]), test.slope(x.Data[i])
			if !(math.Abs(real(y)-value) <= 1e-15*(1+math.Abs(value))) ||
				!(math.Abs(imag(y)/tiny-slope) <= 1e-15*(1+math.Abs(slope))) {
				t.Errorf(
					"%s(%v): got %v and slope %v, want %v and %v", name, x.Data[i], real(y), imag(y)/tiny, value, slope,
				)
			}
		}
	}
}

// Large logits neither overflow nor underflow.
func TestLogSumExpIsStable(t *testing.T) {
	logits := hand.NewMatrix(2, 3, 900.0, 0, -900, -800, -801, -802)
	loss := crossEntropyForward(logits, []int{2, 0}, hand.Sum)
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
