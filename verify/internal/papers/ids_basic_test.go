package papers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// leaves holds the inputs and parameters of a test's expression, by name.
type leaves map[string]graph.Expr

// computed returns the library's result for some numbers, in one form: y, and the gradients by each of them of Σ y∘Δ,
// or of y if it is a single number.
func computed(
	t *testing.T, f form, numbers parameters, delta matrix, build func(s graph.Scope, x leaves) graph.Expr,
) (matrix, parameters) {
	t.Helper()
	g := f.graph(fixture.Seed, fixture.Step)
	s, x := g.Root(), leaves{}
	var wrt []graph.Expr
	for name, m := range numbers {
		x[name] = s.Value(name, graph.Const(0), m.Rows, m.Cols)
		fill(x[name], m)
		wrt = append(wrt, x[name])
	}
	y := build(s, x)
	loss := y
	if !delta.None() {
		weights := s.Value("delta", graph.Const(0), delta.Rows, delta.Cols)
		fill(weights, delta)
		loss = y.Mul(weights).SumAll()
	}
	grads := parameters{}
	p, err := graph.Compile(loss, wrt...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for _, x := range wrt {
		grads[x.Name()] = verify.FromTensor(p.Grad(x))
	}
	if delta.None() {
		return hand.NewMatrix(1, 1, p.Loss()), grads
	}
	if p, err = graph.Compile(y); err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return verify.FromTensor(p.Value()), grads
}

// scored returns the library's cross entropy of the logits z, divided by a temperature, and its gradient.
func scored(
	t *testing.T, f form, z matrix, targets []int, reduction hand.Reduction, temperature float64,
) (loss float64, dz matrix) {
	t.Helper()
	y, g := computed(t, f, parameters{"z": z}, matrix{}, func(s graph.Scope, x leaves) graph.Expr {
		ids := s.Ints("targets", len(targets), z.Cols, hand.Ignore)
		copy(ids.Ints(), targets)
		l := nn.NewCrossEntropy(s.Sub("loss"))
		l.Sum = reduction == hand.Sum
		logits := x["z"]
		if temperature != 1 {
			logits = logits.Scale(1 / temperature)
		}
		return l.Forward(logits, ids)
	})
	return y.Data[0], g["z"]
}

func wide() []form { return []form{reference, kernels64} }

// n tokens of text are n − 1 tokens with a target each, which is the token that follows.
func TestI01ShiftByOne(t *testing.T) {
	for n := 1; n <= 7; n++ {
		text := []int{3, 1, 4, 1, 5, 9, 2}[:n]
		tokens, targets := fixture.Shift(text)
		if len(tokens) != n-1 || len(targets) != n-1 {
			t.Fatalf("%d tokens: got %d inputs and %d targets, want %d each", n, len(tokens), len(targets), n-1)
		}
		for i := range tokens {
			if tokens[i] != text[i] || targets[i] != text[i+1] {
				t.Errorf("place %d of %v: got %d with the target %d", i, text, tokens[i], targets[i])
			}
		}
		if n == 1 {
			continue
		}
		know := hand.Zeros[float64](n-1, 11) // knowing nothing costs ln V for each of them
		sum := crossEntropyForward(know, targets, hand.Sum).Data[0]
		mean := crossEntropyForward(know, targets, hand.Mean).Data[0]
		if want := math.Log(11); !(math.Abs(sum-float64(n-1)*want) <= 1e-13) || !(math.Abs(mean-want) <= 1e-14) {
			t.Errorf("%d tokens: got losses %v and %v, want %v and %v", n, sum, mean, float64(n-1)*want, want)
		}
	}
}

// The probabilities of a token sum to 1, so that its Δ at the logits sums to 0, and is 0 where a target is ignored.
func TestI02RowsSumToZero(t *testing.T) {
	z, targets := fixture.Random("z", 7, 11).Scale(9), []int{3, 0, hand.Ignore, 10, 3, hand.Ignore, 5}
	for _, reduction := range []hand.Reduction{hand.Mean, hand.Sum} {
		formula := crossEntropyBackward(z, targets, reduction)
		for _, f := range wide() {
			_, dz := scored(t, f, z, targets, reduction, 1)
			near(t, f.name+": ΔZ", dz, formula)
			vanishes(t, f.name+": rows of ΔZ", dz.Sum())
		}
		vanishes(t, "by hand: rows of ΔZ", formula.Sum())
		for i, target := range targets {
			row := formula.Tokens(i, i+1)
			if largest := verify.Largest(parameters{"": row}); (largest == 0) != (target == hand.Ignore) {
				t.Errorf("row %d with the target %d: largest entry %v", i, target, largest)
			}
		}
	}
}

// The sum is the mean times the number of targets that count, in the loss and in Δ.
func TestI02SumIsMeanTimesKept(t *testing.T) {
	z := fixture.Random("z", 7, 11).Scale(9)
	for kept := 1; kept <= 7; kept++ {
		targets := []int{3, 0, 7, 10, 3, 1, 5}
		for i := kept; i < 7; i++ {
			targets[i] = hand.Ignore
		}
		c := float64(kept)
		near(
			t, "by hand: L", crossEntropyForward(z, targets, hand.Sum),
			crossEntropyForward(z, targets, hand.Mean).Scale(c),
		)
		near(
			t, "by hand: ΔZ", crossEntropyBackward(z, targets, hand.Sum),
			crossEntropyBackward(z, targets, hand.Mean).Scale(c),
		)
		for _, f := range wide() {
			sum, dsum := scored(t, f, z, targets, hand.Sum, 1)
			mean, dmean := scored(t, f, z, targets, hand.Mean, 1)
			if !(math.Abs(sum/mean-c) <= 1e-13*c) {
				t.Errorf("%s: sum/mean is %v, want %v", f.name, sum/mean, c)
			}
			near(t, f.name+": ΔZ", dsum, dmean.Scale(c))
		}
	}
}

// The loss is ln Σ e^z − z_y, never the logarithm of a probability: for e⁻¹¹⁰ it is 110 nats, but in float32 e⁻¹¹⁰ is
// 0.
func TestI02FiniteAt110Nats(t *testing.T) {
	z := hand.NewMatrix[float64](2, 3, 110, 0, -5, 0, 0, 0)
	for _, f := range []form{{"float32, reference", false, false}, kernels32, reference, kernels64} {
		loss, dz := scored(t, f, z, []int{1, 2}, hand.Sum, 1)
		if want := 110 + math.Log(3); !(math.Abs(loss-want) <= 1e-5) {
			t.Errorf("%s: got %v nats, want %v", f.name, loss, want)
		}
		if got := dz.Tokens(0, 1).Data; !(math.Abs(got[0]-1) <= 1e-6) || !(math.Abs(got[1]+1) <= 1e-6) ||
			!(math.Abs(got[2]) <= 1e-6) {
			t.Errorf("%s: got Δ = %v, want (1, −1, 0)", f.name, got)
		}
	}
	g := graph.New(graph.Float32, 1)
	x := g.Root().Value("z", graph.Const(0), 2, 3)
	fill(x, z)
	p, err := graph.Compile(x.Softmax())
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if got := math.Log(p.Value().At(1)); !math.IsInf(got, -1) {
		t.Errorf("ln of the probability in float32: got %v, want −∞, else the test shows nothing", got)
	}
}

// With a temperature in the loss Δ is (softmax(z/T) − onehot)/T: the last factor is missing from Diab (15), erratum D5.
func TestI02TemperatureDividesDelta(t *testing.T) {
	z, targets := fixture.Random("z", 7, 11).Scale(9), []int{3, 0, hand.Ignore, 10, 3, hand.Ignore, 5}
	for _, temperature := range []float64{0.5, 1, 3} {
		without := crossEntropyBackward(z.Scale(1/temperature), targets, hand.Mean)
		want := complexStep(t, func(p complexParameters) complexMatrix {
			return crossEntropyForward(p["z"].Scale(1/temperature), targets, hand.Mean)
		}, parameters{"z": z}, ones(1, 1))["z"]
		near(t, "by hand", without.Scale(1/temperature), want)
		for _, f := range wide() {
			_, dz := scored(t, f, z, targets, hand.Mean, temperature)
			near(t, f.name, dz, want)
		}
		if got := frobenius(without.Sub(want)) / frobenius(want); !(math.Abs(got-math.Abs(temperature-1)) <= 1e-12) {
			t.Errorf("T = %v: without 1/T it is off by %v, want |T − 1|", temperature, got)
		}
	}
}

func softmax(_ graph.Scope, x leaves) graph.Expr { return x["x"].Softmax() }

// rounded returns x rounded to multiples of 2⁻¹⁰, so that adding a whole number rounds nothing.
func rounded(x matrix) matrix {
	return each(x, func(v float64) float64 { return math.Round(v*1024) / 1024 })
}

// A number added to an entire row cancels in its softmax, to the bit; a number added to one entry does not.
func TestI03ShiftInvariance(t *testing.T) {
	x := rounded(fixture.Random("x", 5, 7).Scale(8))
	shifts := hand.NewMatrix[float64](5, 1, 0, 1, -64, 4096, -65536)
	p := x.Softmax()
	if got := x.Add(shifts).Softmax(); !slices.Equal(got.Data, p.Data) {
		t.Errorf("by hand: got %v, want %v", got.Data, p.Data)
	}
	near(t, "Σ p", p.Sum(), ones(5, 1))
	delta := fixture.Random("delta", 5, 7)
	for _, f := range wide() {
		want, _ := computed(t, f, parameters{"x": x}, delta, softmax)
		got, _ := computed(t, f, parameters{"x": x.Add(shifts)}, delta, softmax)
		near(t, f.name+": softmax", want, p)
		if !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: got %v, want %v", f.name, got.Data, want.Data)
		}
	}
	x.Data[0] += 4
	if got := x.Softmax().Sub(p); !(math.Abs(got.Data[0]) > 0.01) || !(frobenius(got.Tokens(1, 5)) == 0) {
		t.Errorf("one entry moved: the softmax moves by %v", got.Data)
	}
}

// The Jacobian of the softmax is diag(p) − pᵗp, symmetric; it is zero where p is one-hot, and nowhere else.
func TestI03Jacobian(t *testing.T) {
	const n = 6
	unit := permutation(natural(n)...)
	rows := map[string]matrix{
		"random": fixture.Random("x", 1, n).Scale(6), "uniform": hand.Zeros[float64](1, n),
		"nearly one-hot": hand.NewMatrix[float64](1, n, 0, 8, 0, 0, 0, 0),
		"one-hot":        hand.NewMatrix[float64](1, n, 0, 0, 0, 800, 0, 0),
	}
	for name, x := range rows {
		p := x.Softmax()
		want := softmaxJacobian(p)
		stacked := hand.JoinTokens(slices.Repeat([]matrix{x}, n)...) // row i gives the derivative of output i
		near(t, name+": by complex step", complexStep(t, func(z complexParameters) complexMatrix {
			return z["x"].Softmax()
		},
			parameters{"x": stacked}, unit)["x"], want)
		for _, f := range wide() {
			_, g := computed(t, f, parameters{"x": stacked}, unit, softmax)
			near(t, name+": "+f.name, g["x"], want)
			near(t, name+": "+f.name+", symmetric", g["x"], g["x"].Transpose())
			if largest := verify.Largest(g); (largest == 0) != (name == "one-hot") {
				t.Errorf("%s: %s: the largest derivative is %v", name, f.name, largest)
			}
		}
	}
}

// Δ comes back through the softmax as p∘(Δ − Σ Δ∘p), whose rows sum to 0: no step changes the sum of the probabilities.
func TestI03RowsSumToZero(t *testing.T) {
	x, delta := fixture.Random("x", 5, 7).Scale(8), fixture.Random("delta", 5, 7)
	p := x.Softmax()
	want := p.Mul(delta.Sub(delta.Mul(p).Sum()))
	vanishes(t, "by hand: rows of Δx", want.Sum())
	for _, f := range wide() {
		_, g := computed(t, f, parameters{"x": x}, delta, softmax)
		near(t, f.name, g["x"], want)
		vanishes(t, f.name+": rows of Δx", g["x"].Sum())
	}
	if !(frobenius(want) > 0.1) {
		t.Errorf("Δx has length %v: the test shows nothing", frobenius(want))
	}
}

// Looked-up rows are the product with the one-hot matrix, to the bit. A row gets the sum of Δ over the places where it
// was looked up, and other rows get 0.
func TestI04GatherIsOneHotProduct(t *testing.T) {
	const vocabulary, d = 11, 5
	tokens := []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5} // 5 three times, 1 and 3 twice; never 0, 7, 8, 10
	w, delta := fixture.Random("w", vocabulary, d), fixture.Random("delta", len(tokens), d)
	numbers := parameters{"w": w}
	want, sums := oneHotRows(tokens, vocabulary).MatMul(w), hand.Zeros[float64](vocabulary, d)
	for i, v := range tokens {
		for j := range d {
			sums.Data[v*d+j] += delta.At(i, j)
		}
	}
	check := func(name string, y, dw matrix) {
		if !slices.Equal(y.Data, want.Data) {
			t.Errorf("%s: got %v, want %v", name, y.Data, want.Data)
		}
		near(t, name+": ∂w", dw, sums)
		for v := range vocabulary {
			length := frobenius(dw.Tokens(v, v+1))
			if absent := !slices.Contains(tokens, v); absent != (length == 0) {
				t.Errorf("%s: row %d is absent: %t, and its gradient has length %v", name, v, absent, length)
			}
		}
	}
	check("by hand", embeddingForward(w, tokens), embeddingBackward(w, tokens, delta))
	for _, f := range wide() {
		y, g := computed(t, f, numbers, delta, func(s graph.Scope, x leaves) graph.Expr {
			ids := s.Ints("tokens", len(tokens), vocabulary, -1)
			copy(ids.Ints(), tokens)
			e := nn.NewEmbedding(s.Sub("wte"), vocabulary, d)
			e.Weight = x["w"]
			return e.Forward(ids)
		})
		check(f.name+": gather", y, g["w"])
		y, g = computed(t, f, numbers, delta, func(s graph.Scope, x leaves) graph.Expr {
			ids := s.Ints("tokens", len(tokens), vocabulary, -1)
			copy(ids.Ints(), tokens)
			return ids.OneHot(vocabulary).MatMul(x["w"])
		})
		check(f.name+": product", y, g["w"])
	}
}

// The affine layer in sizes that do not divide one another: y = xw + b, Δx = Δwᵗ, ∂w = xᵗΔ and ∂b = Σ_tokens Δ, each
// entry written out.
func TestI10Affine(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {1, 5, 3}, {7, 1, 2}, {3, 17, 1}, {13, 19, 33}, {65, 130, 67}} {
		n, in, out := size[0], size[1], size[2]
		x, w := fixture.Random("x", n, in), fixture.Random("w", in, out)
		b, delta := fixture.Random("b", 1, out), fixture.Random("delta", n, out)
		for _, bias := range []bool{true, false} {
			wantY, wantX := hand.Zeros[float64](n, out), hand.Zeros[float64](n, in)
			wantW, wantB := hand.Zeros[float64](in, out), hand.Zeros[float64](1, out)
			for i := range n {
				for j := range out {
					for k := range in {
						wantY.Data[i*out+j] += x.At(i, k) * w.At(k, j)
						wantX.Data[i*in+k] += delta.At(i, j) * w.At(k, j)
						wantW.Data[k*out+j] += x.At(i, k) * delta.At(i, j)
					}
					wantB.Data[j] += delta.At(i, j)
					if bias {
						wantY.Data[i*out+j] += b.Data[j]
					}
				}
			}
			numbers, handB := parameters{"x": x, "w": w}, matrix{}
			if bias {
				numbers["b"], handB = b, b
			}
			name := fmt.Sprintf("%v, bias %t, ", size, bias)
			dx, dw, db := linearBackward(x, w, delta)
			near(t, name+"by hand: y", linearForward(x, w, handB), wantY)
			near(t, name+"by hand: Δx", dx, wantX)
			near(t, name+"by hand: ∂w", dw, wantW)
			near(t, name+"by hand: ∂b", db, wantB)
			for _, f := range wide() {
				y, g := computed(t, f, numbers, delta, func(s graph.Scope, x leaves) graph.Expr {
					l := nn.NewLinear(s.Sub("fc"), in, []int{out}, bias, graph.Const(0)).(*nn.Linear)
					l.Weight = x["w"]
					if bias {
						l.Bias = x["b"].Reshape(out)
					}
					return l.Forward(x["x"])
				})
				near(t, name+f.name+": y", y, wantY)
				near(t, name+f.name+": Δx", g["x"], wantX)
				near(t, name+f.name+": ∂w", g["w"], wantW)
				if bias {
					near(t, name+f.name+": ∂b", g["b"], wantB)
				}
			}
		}
	}
}

// Products of queries and keys whose features have variance 1 have the variance dρ: exactly, over the rows of a matrix
// of ±1 that are orthogonal to one another, and 64 for 64 within 1 % when they are drawn.
func TestI11VarianceOfProducts(t *testing.T) {
	const width = 64
	random := rand.New(rand.NewPCG(64, 0))
	h := hand.Zeros[float64](width, width)
	k := hand.Zeros[float64](1, width)
	for i := range width {
		k.Data[i] = float64(1 - 2*random.IntN(2))
		for j := range width {
			h.Data[i*width+j] = 1
			for bit := i & j; bit > 0; bit &= bit - 1 {
				h.Data[i*width+j] *= -1
			}
		}
	}
	raw := h.MatMul(k.Transpose())
	if got := dot(raw, raw) / width; got != width {
		t.Errorf("over orthogonal rows: got variance %v, want %d", got, width)
	}
	// Their mean is ±1, so with the scale 1/√dρ the scores, and the logarithms of the weights, vary by (64 − 1)/64.
	weights := attentionWeights(k, h, matrix{}).Log()
	centred := weights.Sub(weights.Mean())
	if got := dot(centred, centred) / width; !(math.Abs(got-63./64) <= 1e-13) {
		t.Errorf("logarithms of the weights: got variance %v, want 63/64", got)
	}
	const pairs = 160_000
	var sum, squares float64
	for range pairs {
		product := 0.0
		for range width {
			product += random.NormFloat64() * random.NormFloat64()
		}
		sum, squares = sum+product, squares+product*product
	}
	mean := sum / pairs
	variance := squares/pairs - mean*mean
	if !(math.Abs(mean) <= 0.15) || !(math.Abs(variance-width) <= 0.01*width) {
		t.Errorf("of %d pairs: got mean %v and variance %v, want about 0 and %d", pairs, mean, variance, width)
	}
	t.Logf("variance %.1f", variance)
}
