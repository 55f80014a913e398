package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

var normLayerCases = []layerCase{
	{"layer norm with ε beside σ", "LayerNormSigma", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1 // large enough to matter
		return NewLayerNormSigma(at).Forward(x)
	}},
	{"layer norm with ε beside σ, without bias", "LayerNormSigma", func(at Site, x graph.Expr) graph.Expr {
		at.Bias = false
		return NewLayerNormSigma(at).Forward(x)
	}},
	{"plain layer norm", "LayerNormPlain", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1
		return NewLayerNormPlain(at).Forward(x)
	}},
	{"rms norm", "RMSNorm", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1
		return NewRMSNorm(at).Forward(x)
	}},
	{"block of plain norms", "LayerNormPlain Block", func(at Site, x graph.Expr) graph.Expr {
		at.Norm = func(at Site) Layer { return NewLayerNormPlain(at) }
		return NewBlock(at, causal).Forward(x)
	}},
}

// norms returns the three norms by name, with a gain of 1 and a shift of 0 if they have them.
func norms() map[string]func(at Site) Layer {
	return map[string]func(at Site) Layer{
		"inside": func(at Site) Layer { return NewLayerNorm(at) },
		"beside": func(at Site) Layer { return NewLayerNormSigma(at) },
		"plain":  func(at Site) Layer { return NewLayerNormPlain(at) },
	}
}

// normOf returns a norm of rows of 8, and the gradient of Σ y∘Δ by the rows.
func normOf(t *testing.T, make func(at Site) Layer, eps float64, kernels bool, x, delta []float64) (y, dx []float64) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	g.Kernels = kernels
	d := Dims{Batch: 1, Context: len(x) / 8, Embd: 8}
	in := g.Root().Value("x", graph.Const(0), d.Context, d.Embd)
	out := g.Root().Value("delta", graph.Const(0), d.Context, d.Embd)
	copy(in.Tensor().F64, x)
	copy(out.Tensor().F64, delta)
	result := make(Site{Scope: g.Root().Sub("ln"), Dims: d, Style: Style{Eps: eps}}).Forward(in)
	forward, err := graph.Compile(result)
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Run(); err != nil {
		t.Fatal(err)
	}
	y = forward.Value().Floats()
	p, err := graph.Compile(result.Mul(out).SumAll(), in)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return y, p.Grad(in).Floats()
}

// wave returns some numbers without a pattern.
func wave(n int, frequency float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 3*math.Sin(frequency*float64(i)) + 0.5
	}
	return x
}

// A token of equal features is 0 after every norm. Its gradient is finite if ε is inside the root, and NaN if ε is
// outside (errata C3) or missing (errata S7): only in that row, and without a panic.
func TestI21ConstantRow(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	for j := range 8 {
		x[8+j] = 2
	}
	for name, c := range map[string]struct {
		norm string
		eps  float64
		nan  bool
	}{
		"inside": {"inside", 1e-5, false}, "beside": {"beside", 1e-5, true}, "plain": {"plain", 1e-5, false},
	} {
		for _, kernels := range []bool{false, true} {
			y, dx := normOf(t, norms()[c.norm], c.eps, kernels, x, delta)
			for i := range x {
				row := i / 8
				if row == 1 && y[i] != 0 {
					t.Errorf("%s, kernels %t: y of the constant row is %v", name, kernels, y[i])
				}
				if got, want := math.IsNaN(dx[i]), c.nan && row == 1; got != want {
					t.Errorf(
						"%s, kernels %t: row %d of the gradient is %v, want NaN: %t", name, kernels, row, dx[i], want,
					)
				}
			}
		}
	}
	for _, kernels := range []bool{false, true} {
		if y, _ := normOf(t, norms()["plain"], 0, kernels, x, delta); !math.IsNaN(y[9]) {
			t.Errorf("without ε, kernels %t: y of the constant row is %v, want NaN", kernels, y[9])
		}
	}
}

// LN(ax + b) = LN(x) for a > 0, without ε.
func TestI20I21I22ShiftAndScale(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	moved := make([]float64, len(x))
	for i, v := range x {
		moved[i] = 5*v - 7
	}
	for name, norm := range norms() {
		for _, kernels := range []bool{false, true} {
			y, _ := normOf(t, norm, 0, kernels, x, delta)
			again, _ := normOf(t, norm, 0, kernels, moved, delta)
			for i := range y {
				if !(math.Abs(y[i]-again[i]) <= 1e-12) {
					t.Fatalf("%s, kernels %t: entry %d is %v, of 5x − 7 %v", name, kernels, i, y[i], again[i])
				}
			}
		}
	}
}

// A norm without affine parameters equals one with a gain of 1 and no shift, to the bit.
func TestI22IsLayerNormWithoutAffine(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	want, wantDX := normOf(t, norms()["inside"], 1e-3, true, x, delta)
	got, gotDX := normOf(t, norms()["plain"], 1e-3, true, x, delta)
	for i := range want {
		if got[i] != want[i] || gotDX[i] != wantDX[i] {
			t.Fatalf("entry %d: %v and %v, want %v and %v", i, got[i], gotDX[i], want[i], wantDX[i])
		}
	}
}

func TestNormOfAnotherWidth(t *testing.T) {
	for _, norm := range []func(at Site) Layer{norms()["inside"], norms()["beside"]} {
		g := graph.New(graph.Float32, 1)
		x := g.Root().Value("x", graph.Const(1), 2, 7)
		_, err := graph.Compile(
			norm(Site{Scope: g.Root().Sub("h.0.ln_1"), Dims: Dims{Embd: 8}, Style: Style{Bias: true}}).Forward(x),
		)
		if err == nil || !strings.Contains(err.Error(), "h.0.ln_1") ||
			!strings.Contains(err.Error(), "8 gains for 7 features") {
			t.Errorf("got error %v, want one that names the layer and both widths", err)
		}
	}
}

func rms(at Site) Layer { return NewRMSNorm(at) }

// Without ε the size of a token is lost: the norm of c·x is the norm of x for c > 0, and the gradient is c times
// smaller and has no component along x. With ε it has a component that ε leaves.
func TestI64Scale(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	moved := make([]float64, len(x))
	for i, v := range x {
		moved[i] = 5 * v
	}
	for _, kernels := range []bool{false, true} {
		y, dx := normOf(t, rms, 0, kernels, x, delta)
		again, far := normOf(t, rms, 0, kernels, moved, delta)
		_, left := normOf(t, rms, 0.1, kernels, x, delta)
		for row := range 3 {
			along, kept := 0.0, 0.0
			for i := 8 * row; i < 8*row+8; i++ {
				if !(math.Abs(y[i]-again[i]) <= 1e-14) || !(math.Abs(dx[i]-5*far[i]) <= 1e-14) {
					t.Fatalf(
						"kernels %t, entry %d: %v and Δ %v, of 5x %v and %v", kernels, i, y[i], dx[i], again[i], far[i],
					)
				}
				along, kept = along+dx[i]*x[i], kept+left[i]*x[i]
			}
			if !(math.Abs(along) <= 1e-14) || !(math.Abs(kept) > 1e-4) {
				t.Errorf("kernels %t, row %d: Δ·x is %v, want 0, and with ε %v, want more", kernels, row, along, kept)
			}
		}
	}
}

// For a token whose features have the mean 0 it has the value of the layer norm.
func TestI64OfCentredTokens(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	for row := range 3 {
		mean := 0.0
		for _, v := range x[8*row : 8*row+8] {
			mean += v / 8
		}
		for i := range 8 {
			x[8*row+i] -= mean
		}
	}
	want, _ := normOf(t, norms()["inside"], 0.1, true, x, delta)
	for _, kernels := range []bool{false, true} {
		got, _ := normOf(t, rms, 0.1, kernels, x, delta)
		for i, w := range want {
			if !(math.Abs(got[i]-w) <= 1e-14) {
				t.Fatalf("kernels %t, entry %d: got %v, want %v", kernels, i, got[i], w)
			}
		}
	}
}

// A token of zeros stays 0, and its gradient is Δ/√ε; without ε both are NaN, only in that row.
func TestI64ZeroRow(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	clear(x[8:16])
	for _, kernels := range []bool{false, true} {
		y, dx := normOf(t, rms, 0.01, kernels, x, delta)
		bare, none := normOf(t, rms, 0, kernels, x, delta)
		for i, d := range delta {
			inside := i/8 == 1
			if inside && (y[i] != 0 || !(math.Abs(dx[i]-10*d) <= 1e-13)) {
				t.Errorf("kernels %t, entry %d: got %v and %v, want 0 and %v", kernels, i, y[i], dx[i], 10*d)
			}
			if math.IsNaN(bare[i]) != inside || math.IsNaN(none[i]) != inside {
				t.Errorf(
					"kernels %t, entry %d without ε: got %v and %v, want NaN: %t", kernels, i, bare[i], none[i], inside,
				)
			}
		}
	}
}

// The dynamic tanh is odd in x while its bias is 0, stays within its gains, and treats every feature alone: another
// value of one feature changes no other.
func TestI67OddBoundedLocal(t *testing.T) {
	x, delta := wave(24, 1.7), wave(24, 0.9)
	dyt := func(at Site) Layer { return NewDyT(at) }
	negative, moved := make([]float64, len(x)), slices.Clone(x)
	for i, v := range x {
		negative[i] = -v
	}
	moved[5] = 1e300
	for _, kernels := range []bool{false, true} {
		y, dx := normOf(t, dyt, 0, kernels, x, delta)
		odd, even := normOf(t, dyt, 0, kernels, negative, delta)
		far, flat := normOf(t, dyt, 0, kernels, moved, delta)
		if far[5] != 1 || flat[5] != 0 {
			t.Errorf("kernels %t, 1e300: got %v and Δ %v, want 1 and 0", kernels, far[5], flat[5])
		}
		for i, v := range x {
			if want := math.Tanh(0.5 * v); !(math.Abs(y[i]-want) <= 1e-15) || odd[i] != -y[i] || even[i] != dx[i] {
				t.Errorf("kernels %t, entry %d: got %v, and %v with Δ %v of −x, want %v, %v and %v",
					kernels, i, y[i], odd[i], even[i], want, -y[i], dx[i])
			}
			if i != 5 && (far[i] != y[i] || flat[i] != dx[i]) {
				t.Errorf("kernels %t, entry %d changed with entry 5: got %v, want %v", kernels, i, far[i], y[i])
			}
		}
	}
}

// headNormed returns attention with a norm of every head's queries and keys.
func headNormed(attention Attention) Attention {
	return func(at Site) Layer {
		at.Links.Before = []NamedLink{
			{"qk_norm", func(at Site, sizes fused.AttentionShape) Link { return Packed(NewHeadNorm(at, sizes)) }},
		}
		return attention(at)
	}
}

// widthNormed returns attention with a norm of the queries, and one of the keys, of all heads together.
func widthNormed(attention Attention) Attention {
	return func(at Site) Layer {
		at.Links.Before = []NamedLink{
			{"qk_norm", func(at Site, sizes fused.AttentionShape) Link { return Packed(NewWidthNorm(at, sizes)) }},
		}
		return attention(at)
	}
}

var qkNormLayerCases = []layerCase{
	{"attention with norms of heads, adapters and dropout", "QKNorm SelfAttention",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout, at.Eps = NewLoRA(everywhere, 2, 0.7), 0.3, 0.1
			return headNormed(causal)(at).Forward(x)
		}},
	{"grouped attention with norms of heads and rope", "QKNorm GroupedAttention RoPE",
		func(at Site, x graph.Expr) graph.Expr {
			at.Eps = 0.1
			return headNormed(func(at Site) Layer { return sharedBy(at) })(rotary(at)).Forward(x)
		}},
	{"grouped attention with norms of all heads", "QKNorm GroupedAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1
		return widthNormed(func(at Site) Layer { return sharedBy(at) })(at).Forward(x)
	}},
	{"norms of queries and keys without values", "QKNorm", func(at Site, x graph.Expr) graph.Expr {
		sizes := fused.AttentionShape{Heads: 1, QK: at.Inner, Groups: 1}
		return NewHeadNorm(at, sizes).Forward(
			NewLinear(at.Scope.Sub("in"), at.Embd, []int{2 * at.Inner}, true, graph.Normal(1)).Forward(x),
		)
	}},
}

func TestQKNormStepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return headNormed(causal)(at).(Cached) })
		stepEqualsForward(t, Window{3}, d, func(at Site) Cached {
			return widthNormed(func(at Site) Layer { return sharedBy(at) })(at).(Cached)
		})
	}
}

// Without ε, attention with norms does not depend on the size of its queries and keys: c_attn·c with its values divided
// by c again gives the same result. Latent attention refuses the norm.
func TestI75IgnoresScale(t *testing.T) {
	d := shapes[0]
	for name, normed := range map[string]func(Attention) Attention{"head": headNormed, "width": widthNormed} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			at := newSite(g, d)
			at.Bias, at.Eps = false, 0
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			y := normed(causal)(at).Forward(x)
			before := output(t, y)
			w, _ := g.Leaf("h.0.c_attn.weight")
			scaled, columns := w.Tensor(), w.Tensor().Shape[1]
			for i := range scaled.Len() {
				if i%columns < 2*d.Heads*d.QK {
					scaled.Set(i, 1e3*scaled.At(i))
				}
			}
			if after := output(t, y); !(distance(before, after, 0) <= 1e-13) {
				t.Errorf(
					"%s, kernels %t: queries and keys times 1000 change the result by %g", name, kernels,
					distance(before, after, 0),
				)
			}
		}
	}
	for _, of := range []Attention{
		func(at Site) Layer { return NewGLA(at) }, func(at Site) Layer { return NewMinGRU(at) },
		func(at Site) Layer { return NewMamba2(at, 1) },
	} {
		g := graph.New(graph.Float64, 1)
		headNormed(of)(newSite(g, d))
		if err := g.Err(); err == nil || !strings.Contains(
			err.Error(), "h.0: a recurrence with qk_norm: the layer has no such link",
		) {
			t.Errorf("got %v", err)
		}
	}
	for _, latent := range []Attention{
		func(at Site) Layer { return NewMLA(at, 3) }, func(at Site) Layer {
			return NewMLARoPE(positioned(at, 7, 0), 3, 5, 2, 100)
		},
	} {
		g := graph.New(graph.Float64, 1)
		headNormed(latent)(newSite(g, d))
		if err := g.Err(); err == nil || !strings.Contains(
			err.Error(), "h.0: latent attention with qk_norm: the layer has no such link",
		) {
			t.Errorf("got %v", err)
		}
	}
}
