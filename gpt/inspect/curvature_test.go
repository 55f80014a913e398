package inspect

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// verse has five blocks of odd(), which batches of two do not divide.
var verse = text.Tokens{
	3, 1, 12, 0, 7, 2, 5, 9, 4, 1, 1, 8, 3, 6, 2, 11, 5, 0, 10, 7, 7, 4, 12, 3, 9, 1, 6, 8, 2, 2, 5, 11, 0, 4, 1, 3,
}

func curvature(t testing.TB, m *gpt.Model) *Curvature {
	t.Helper()
	c, err := NewCurvature(m, verse)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func times(t testing.TB, c *Curvature, v []float64) []float64 {
	t.Helper()
	product, err := c.Times(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return product
}

// tiny returns odd() with so few parameters that its Hessian fits a matrix.
func tiny() gpt.Config {
	c := odd()
	c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner, c.Bias = 1, 1, 3, 3, 2, 3, false
	return c
}

// Largest finds the largest eigenvalue of the matrix of all second derivatives, within its residual at any number of
// iterations. The matrix is symmetric.
func TestCurvatureOfAMatrix(t *testing.T) {
	c := curvature(t, model(t, tiny(), true, 2))
	n := c.Len()
	h, all := mat.NewSymDense(n, nil), make([][]float64, n)
	for i := range all {
		unit := make([]float64, n)
		unit[i] = 1
		all[i] = times(t, c, unit)
		for j := range i {
			if e := math.Abs(all[i][j] - all[j][i]); !(e <= 1e-7) {
				t.Fatalf("entries %d, %d differ by %.1e", i, j, e)
			}
		}
		for j := range i + 1 {
			h.SetSym(i, j, all[i][j])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(h, false) {
		t.Fatal("no eigenvalues")
	}
	values := eigen.Values(nil)
	near := func(x, within float64) bool {
		return slices.ContainsFunc(values, func(y float64) bool { return math.Abs(x-y) <= within })
	}
	for _, most := range []int{1, 3, 8, 25} {
		e, err := c.Largest(t.Context(), Lanczos{Seed: 1, MaxIterations: most})
		if err != nil || e.Iterations != most || !near(e.Value, e.Residual+1e-7) || e.Value > values[n-1]+1e-7 {
			t.Errorf("%d iterations: got %+v, %v, the largest is %v", most, e, err, values[n-1])
		}
	}
	for seed := range uint64(3) {
		e, err := c.Largest(t.Context(), Lanczos{Seed: seed, Tolerance: 1e-6, MaxIterations: n})
		if err != nil || !(math.Abs(e.Value-values[n-1]) <= 1e-7*e.Value) || e.Residual > 1e-6*e.Value ||
			e.Iterations == n {
			t.Errorf("seed %d: got %+v, %v, want %v", seed, e, err, values[n-1])
		}
		if got, want := e.StableRate(), 2/e.Value; got != want || !math.IsInf(Eigenvalue{Value: -1}.StableRate(), 1) {
			t.Errorf("stable rate: got %v, want %v", got, want)
		}
	}
	full, err := c.Largest(t.Context(), Lanczos{Seed: 1, MaxIterations: math.MaxInt})
	if err != nil || full.Iterations > n || !(math.Abs(full.Value-values[n-1]) <= 1e-7*full.Value) {
		t.Errorf("all iterations: got %+v, %v, want %v after at most %d", full, err, values[n-1], n)
	}
}

// The Hessian of Σ cᵢwᵢ²/2 is the diagonal matrix of c, which are numbers of the model that its constructor does not
// know. Other parameters are frozen.
func TestCurvatureOfAQuadratic(t *testing.T) {
	for dtype, within := range map[graph.Dtype]float64{graph.Float64: 1e-9, graph.Float32: 2e-3} {
		c := tiny()
		c.Frozen = train.Frozen{"wpe.*", "h.*", "ln_f.*", "lm_head.*"}
		c.Hooks.Loss = func(logits, targets graph.Expr) graph.Expr {
			w, ok := logits.Graph().Leaf("wte.weight")
			if !ok {
				t.Error("no wte.weight")
			}
			scale := logits.Graph().Root().Value("scale", graph.Const(1), w.Shape()...)
			return w.Square().Mul(scale).SumAll().Scale(0.5).Add(nn.LogProbs(logits, targets).SumAll().Scale(0))
		}
		m, err := gpt.New(graph.New(dtype, 3), c, 2)
		if err != nil {
			t.Fatal(err)
		}
		scale, _ := m.Graph.Leaf("scale")
		for i := range scale.Tensor().Len() {
			scale.Tensor().Set(i, float64(i)-5)
		}
		h := curvature(t, m)
		n, v := h.Len(), make([]float64, h.Len())
		for i := range v {
			v[i] = 1 + math.Sin(float64(i))
		}
		for i, got := range times(t, h, v) {
			if want := (float64(i) - 5) * v[i]; !(math.Abs(got-want) <= within*float64(n)) {
				t.Errorf("%v: entry %d: got %v, want %v", dtype, i, got, want)
			}
		}
		e, err := h.Largest(t.Context(), Lanczos{Seed: 1, Tolerance: 1e-5, MaxIterations: n})
		if want := float64(n) - 6; err != nil || n != 39 || !(math.Abs(e.Value-want) <= (within+1e-7)*want) {
			t.Errorf("%v: got %+v, %v, want %v", dtype, e, err, want)
		}
	}
}

// uᵀHv = vᵀHu, H(2v) = 2Hv and H0 = 0, for several architectures. The copy has the loss of
// the model without dropout.
func TestCurvatureOfVariants(t *testing.T) {
	random, llama, adapted := odd(), odd(), odd()
	random.Options.Offer("window", 2)
	random.Options.Offer("random_keys", 2)
	random.Attention, llama.Norm, llama.MLP, llama.Position = "bigbird", "rmsnorm", "swiglu", "rope"
	adapted.LoraR, adapted.LoraAlpha, adapted.Dropout = 2, 3, 0.5
	for name, config := range map[string]gpt.Config{"bigbird": random, "gated": llama, "adapters, dropout": adapted} {
		m := model(t, config, true, 2)
		c := curvature(t, m)
		rng := rand.New(rand.NewPCG(7, 7))
		u, v := make([]float64, c.Len()), make([]float64, c.Len())
		for i := range u {
			u[i], v[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		hu, hv := times(t, c, u), times(t, c, v)
		left, right := floats.Dot(u, hv), floats.Dot(v, hu)
		if size := floats.Norm(u, 2) * floats.Norm(hv, 2); !(math.Abs(left-right) <= 1e-9*size) {
			t.Errorf("%s: uᵀHv = %v, vᵀHu = %v", name, left, right)
		}
		floats.Scale(2, v)
		twice := times(t, c, v)
		floats.Scale(2, hv)
		if e := floats.Distance(twice, hv, math.Inf(1)); !(e <= 1e-8*floats.Norm(hv, math.Inf(1))) {
			t.Errorf("%s: H(2v) differs from 2Hv by %.1e", name, e)
		}
		if zero := times(t, c, make([]float64, c.Len())); floats.Norm(zero, 2) != 0 {
			t.Errorf("%s: H0 is %v", name, zero)
		}
		if err := c.read(); err != nil {
			t.Fatal(err)
		}
		m.Graph.SetTraining(false)
		p, err := graph.Compile(m.Loss)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for range text.Blocks(verse, m.Tokens.Ints(), m.Targets.Ints(), m.Config.BlockSize) {
			copy(c.model.Tokens.Ints(), m.Tokens.Ints())
			copy(c.model.Targets.Ints(), m.Targets.Ints())
			if err := errors.Join(p.Run(), c.program.Run()); err != nil ||
				!(math.Abs(p.Loss()-c.program.Loss()) <= 1e-13) {
				t.Errorf(
					"%s: batch %d: the copy's loss is %v, the model's %v, %v", name, i, c.program.Loss(), p.Loss(), err,
				)
			}
			i++
		}
		if i != 3 {
			t.Errorf("%d batches, want 3", i)
		}
	}
}

// A Curvature changes nothing in its model, sees the new parameters of a model that is trained, and computes the same
// bits on any number of threads.
func TestCurvatureLeavesTheModel(t *testing.T) {
	var all [][]float64
	var found []Eigenvalue
	for _, threads := range []int{1, 2, 8} {
		config := odd()
		config.Threads = threads
		m, err := gpt.New(graph.New(graph.Float32, 3), config, 2)
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Tokens.Ints(), tokens)
		c := curvature(t, m)
		bits := func() (all []float64) {
			for _, p := range m.Params() {
				all = append(all, p.Tensor().Floats()...)
			}
			return all
		}
		before := bits()
		v := start(c.Len(), 5)
		first := times(t, c, v)
		e, err := c.Largest(t.Context(), Lanczos{Seed: 2, Tolerance: 1e-3, MaxIterations: 30})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, bits()) || !slices.Equal(m.Tokens.Ints()[:len(tokens)], tokens) ||
			len(before) != c.Len() {
			t.Error("the model has changed")
		}
		all, found = append(all, first), append(found, e)
		if !slices.Equal(first, times(t, c, v)) {
			t.Error("the same product has other bits")
		}
		m.Params()[0].Tensor().Set(0, 3)
		if slices.Equal(first, times(t, c, v)) {
			t.Error("a change of the model is not seen")
		}
	}
	for i := range all {
		if !slices.Equal(all[0], all[i]) || found[0] != found[i] {
			t.Errorf("other bits on other threads: %+v and %+v", found[0], found[i])
		}
	}
}

// In float32 the largest eigenvalue equals float64's to about 1e-4.
func TestCurvatureInFloat32(t *testing.T) {
	var found []float64
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		from := model(t, odd(), true, 2)
		m, err := gpt.New(graph.New(dtype, 3), odd(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range m.Params() {
			if err := p.Tensor().Copy(from.Params()[i].Tensor()); err != nil {
				t.Fatal(err)
			}
		}
		e, err := curvature(t, m).Largest(t.Context(), Lanczos{Seed: 1, Tolerance: 1e-4, MaxIterations: 60})
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, e.Value)
	}
	if t.Logf("%v", found); !(math.Abs(found[0]-found[1]) <= 1e-3*found[1]) {
		t.Errorf("got %v in float32, %v in float64", found[0], found[1])
	}
}

// A context that ends stops the search between two batches.
func TestCurvatureStops(t *testing.T) {
	c := curvature(t, model(t, odd(), true, 2))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := 0
	e, err := c.Largest(ctx, Lanczos{Seed: 1, MaxIterations: 9, Progress: func(i int) {
		if seen = i; i == 3 {
			cancel(why)
		}
	}})
	if !errors.Is(err, why) || seen != 3 || e.Iterations != 3 {
		t.Errorf("got %+v, %v after %d iterations", e, err, seen)
	}
}

func TestCurvatureRefuses(t *testing.T) {
	m := model(t, odd(), true, 2)
	frozen := odd()
	frozen.Frozen = train.Frozen{"*", "*.*", "*.*.*", "*.*.*.*"}
	limited := model(t, odd(), true, 2)
	for _, tc := range []struct {
		m    *gpt.Model
		s    text.Split
		want string
	}{
		{nil, verse, "no model or no text"}, {m, nil, "no model or no text"},
		{&gpt.Model{}, verse, "no model or no text"},
		{replace(t, m, "h.0", func(x graph.Expr) graph.Expr { return x }), verse, "with edits"},
		{model(t, frozen, true, 1), verse, "without trainable parameters"},
	} {
		if _, err := NewCurvature(tc.m, tc.s); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
	short, err := NewCurvature(m, verse[:5])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.Times(t.Context(), make([]float64, short.Len())); err != nil {
		t.Errorf("H0: %v", err)
	}
	c := curvature(t, m)
	large := curvature(t, limited)
	large.model.Graph.SetMemoryLimit(1000)
	ones := make([]float64, c.Len())
	ones[0] = math.NaN()
	times := func(c *Curvature, v []float64) error { _, err := c.Times(t.Context(), v); return err }
	largest := func(c *Curvature, o Lanczos) error { _, err := c.Largest(t.Context(), o); return err }
	for want, err := range map[string]error{
		"want at least 8":                       largest(short, Lanczos{MaxIterations: 1}),
		"got a vector of 1 numbers":             times(c, []float64{1}),
		"not finite":                            times(c, ones),
		"got none or no context":                times(&Curvature{}, nil),
		"curvature: got none":                   largest(nil, Lanczos{MaxIterations: 1}),
		"got Tolerance 0 and MaxIterations 0":   largest(c, Lanczos{}),
		"got Tolerance NaN and MaxIterations 1": largest(c, Lanczos{Tolerance: math.NaN(), MaxIterations: 1}),
		"got Tolerance 1 and MaxIterations 1":   largest(c, Lanczos{Tolerance: 1, MaxIterations: 1}),
		"bytes, want at most 1000 bytes":        largest(large, Lanczos{MaxIterations: 9}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
