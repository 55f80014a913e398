package verify

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// small returns a configuration in the generic sizes, without training fields.
func small(change ...func(*gpt.Config)) gpt.Config {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer = fixture.Tokens, fixture.Vocabulary, fixture.Blocks
	c.NHead, c.NEmbd = fixture.Heads, fixture.Features
	c.QKSize, c.VSize, c.NInner, c.Bias = fixture.QK, fixture.Values, fixture.Hidden, true
	for _, f := range change {
		f(&c)
	}
	return c
}

func newModel(t testing.TB, c gpt.Config) Model {
	t.Helper()
	m, err := NewModel(c, fixture.Batch, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func llama(c *gpt.Config) {
	c.Norm, c.MLP, c.Position, c.QKSize, c.Bias, c.Dropout = "rmsnorm", "swiglu", "rope", 4, false, 0.2
	c.LoraR, c.LoraTargets = 2, []string{"c_attn", "c_gate", "c_fc", "mlp.c_proj"}
}

func everything(c *gpt.Config) {
	c.Block, c.Activation, c.Dropout, c.LoraR, c.LoraAlpha, c.LoraScale = "post", "gelu_tanh", 0.2, 3, 2, "alpha"
	c.LoraFused = true
}

// Every gradient of a model agrees with four others, for each property alone and for many at once. For the generic
// model the complex step takes every entry. For the others it takes a direction over all of them and, with NIGHTLY=1,
// some entries of every parameter, or every entry of the model with everything.
func TestCheck(t *testing.T) {
	tests := map[string]func(*gpt.Config){
		"generic":   func(*gpt.Config) {},
		"tied":      func(c *gpt.Config) { c.Head = "tied" },
		"post-norm": func(c *gpt.Config) { c.Block = "post" },
		"relu":      func(c *gpt.Config) { c.Activation = "relu" },
		"silu":      func(c *gpt.Config) { c.Activation = "silu" },
		"rms norm":  func(c *gpt.Config) { c.Norm, c.Eps = "rmsnorm", 1e-2 },
		"swiglu":    func(c *gpt.Config) { c.MLP, c.Norm, c.Block = "swiglu", "rmsnorm", "post" },
		"llama":     llama,
		"blocks without rope": func(c *gpt.Config) {
			c.NLayer, c.Position, c.QKSize, c.Rope.NoRopeLayerInterval = 3, "rope", 4, 2
		},
		"windows beside full blocks": func(c *gpt.Config) {
			c.NLayer, c.Position, c.QKSize = 3, "rope", 4
			c.Rope.Scaling, c.Rope.Factor, c.Rope.LocalBaseFreq = "linear", 3, 7
			c.Attention = "gqa_window"
			c.Options.Set("window", 2)
			c.Options.Set("full_attention_interval", 2)
		},
		"attentions by block": func(c *gpt.Config) {
			c.NLayer, c.Attention, c.LoraR, c.Dropout = 4, "gated_deltanet*2,window", 2, 0.2
			c.Options.Set("window", 2)
		},
		"multipliers": func(c *gpt.Config) {
			c.Multipliers = parts.Multipliers{
				EmbeddingMultiplier: 3, AttentionMultiplier: 0.5, ResidualMultiplier: 0.25, LogitsScaling: 2,
			}
			c.Position, c.Head = "learned", "linear_no_bias"
		},
		"divided logits with a bias": func(c *gpt.Config) {
			c.LogitsScaling, c.Head, c.Bias, c.FutureTokens, c.LoraR = 3, "linear", true, 2, 2
		},
		"projection biased alone": func(c *gpt.Config) {
			c.Attention, c.NLayer = "alternating_proj_bias", 3
			c.Options.Set("window", 2)
		},
		"rope by linear scaling": func(c *gpt.Config) {
			c.Position, c.QKSize = "rope", 4
			c.Rope.Scaling, c.Rope.Factor = "linear", 3
		},
		"rope of llama 3": func(c *gpt.Config) {
			c.Position, c.QKSize, c.Rope.Theta = "rope", 6, 50
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "llama3", 3, 30
		},
		"rope by yarn": func(c *gpt.Config) {
			c.Position, c.QKSize, c.Rope.Theta = "rope", 8, 50
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "yarn", 3, 500
			c.Rope.BetaFast, c.Rope.BetaSlow, c.Rope.Unrounded, c.Rope.AttentionFactor = 40, 2, true, 1.2
			c.Rope.PartialRotaryFactor = 0.75
		},
		"longrope": func(c *gpt.Config) {
			c.Position, c.QKSize, c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "rope", 4, "longrope", 3, c.BlockSize
			c.Rope.ShortFactor, c.Rope.LongFactor = "1,2.5", "4,5"
		},
		"longrope beyond the training": func(c *gpt.Config) {
			c.Position, c.QKSize, c.Rope.Scaling = "rope", 8, "longrope"
			c.Rope.Factor, c.Rope.Original = 0.5, c.BlockSize-1
			c.Rope.ShortFactor, c.Rope.LongFactor = "1,1,1", "1.5,3,7"
			c.Rope.AttentionFactor, c.Rope.PartialRotaryFactor = 1.2, 0.75
		},
		"partial rope": func(c *gpt.Config) { c.Position, c.QKSize, c.Rope.PartialRotaryFactor = "rope", 6, 2./3 },
		"regularised":  func(c *gpt.Config) { c.LabelSmoothing, c.ZLoss = 0.2, 0.3 },
		"three tokens": func(c *gpt.Config) {
			c.FutureTokens, c.NLayer, c.LoraR, c.Dropout = 3, 3, 2, 0.2
			c.With.Set("value_residual", "learned")
			c.With.Set("skips", "unet")
			c.Attention, c.LabelSmoothing = "sigmoid*2,causal", 0.2
		},
		"tokens by a block": func(c *gpt.Config) {
			c.FutureTokens, c.NLayer, c.Block, c.Head, c.LogitCap, c.ZLoss = 4, 1, "post", "tied", 0.75, 0.1
		},
		"value residual": func(c *gpt.Config) {
			c.NLayer, c.Position, c.QKSize, c.LoraR = 3, "rope", 4, 2
			c.With.Set("value_residual", "learned")
			c.With.Set("qk_norm", "head")
		},
		"embeddings before every block": func(c *gpt.Config) {
			c.NLayer, c.Block = 3, "post"
			c.Dropout = 0.3
			c.With.Set("skips", "embedding")
		},
		"a u of blocks": func(c *gpt.Config) {
			c.NLayer, c.LoraR = 4, 2
			c.Position = "none"
			c.With.Set("skips", "unet")
		},
		"convolved": func(c *gpt.Config) { c.Block, c.LoraR = "post", 2; c.With.Set("short_conv", "qkv") },
		"convolved everywhere": func(c *gpt.Config) {
			c.MLP, c.Position, c.QKSize = "swiglu", "rope", 4
			c.With.Set("short_conv", "canon_abcd")
			c.Parametrization, c.BaseWidth, c.BaseDepth = "mup", 3, 1
		},
		"capped":       func(c *gpt.Config) { c.LogitCap = 0.75 },
		"gelu tanh":    func(c *gpt.Config) { c.Activation = "gelu_tanh" },
		"no biases":    func(c *gpt.Config) { c.Bias = false },
		"epsilon":      func(c *gpt.Config) { c.Eps = 1e-2 },
		"dropout":      func(c *gpt.Config) { c.Dropout = 0.3 },
		"adapters":     func(c *gpt.Config) { c.LoraR = 2 },
		"some adapted": func(c *gpt.Config) { c.LoraR, c.LoraAlpha, c.LoraTargets = 3, 7, []string{"c_fc", "lm_head"} },
		"mup": func(c *gpt.Config) {
			c.Parametrization, c.BaseWidth, c.BaseDepth, c.BaseHead = "mup", 3, 1, 1
		},
		"mup, tied": func(c *gpt.Config) {
			c.Parametrization, c.BaseWidth, c.Position, c.QKSize, c.Head, c.LoraR = "mup", 3, "rope", 4, "tied", 2
		},
		"one block":   func(c *gpt.Config) { c.NLayer = 1 },
		"four blocks": func(c *gpt.Config) { c.NLayer = 4 },
		"usual sizes": func(c *gpt.Config) { c.QKSize, c.VSize, c.NInner = 0, 0, 0 },
		"everything":  everything,
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "generic" && name != "everything" {
				t.Skip("a short run looks at two of them")
			}
			m := newModel(t, small(change))
			if strings.Contains(name, "b") {
				m.Sum = true
			}
			s, err := m.subject()
			if err != nil {
				t.Fatal(err)
			}
			look, nightly := sampling{}, os.Getenv("NIGHTLY") != ""
			if nightly {
				look.few = 4
			}
			if name == "generic" || name == "everything" && nightly {
				look = defaultSampling()
			}
			r, err := check(unwatched(), s, look)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range append(r.Failures, r.First) {
				if f != "" {
					t.Error(f)
				}
			}
			if !r.OK() || !(r.Worst <= Suspicion) || len(r.Suspicious) > 0 || !(r.Direction <= Suspicion) ||
				!(r.WorstFloat32 <= ToleranceFloat32) || !(r.Worst > 0) {
				t.Errorf("got %.1e, %.1e along a direction, %.1e in float32, suspicious %v; want ≤ %.0e and ≤ %.0e",
					r.Worst, r.Direction, r.WorstFloat32, r.Suspicious, Suspicion, ToleranceFloat32)
			}
			if r.Parameters != m.Count() {
				t.Errorf("compared %d parameters, want %d", r.Parameters, m.Count())
			}
			t.Logf("%d parameters: %.1e; float32 %.1e", r.Parameters, r.Worst, r.WorstFloat32)
		})
	}
}

// byHand returns the gradients of a model as derived on paper.
func byHand(t testing.TB, s subject, plan variants.Plan) hand.Gradients[float64] {
	t.Helper()
	m, err := variants.Model(plan, s.parameters)
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Backward(s.text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// evaluated returns the results that Check compares for a model, so that a test can change them.
func evaluated(t testing.TB, c gpt.Config) (subject, variants.Plan, []*results) {
	t.Helper()
	s, err := newModel(t, c).subject()
	if err != nil {
		t.Fatal(err)
	}
	plan, roads, err := evaluate(unwatched(), s)
	if err != nil {
		t.Fatal(err)
	}
	return s, plan, roads
}

// A road with one wrong entry fails. The report names the place where it first went wrong: the first wrong Δ from the
// loss downwards or, if every Δ is right, a gradient.
func TestCheckNamesTheFirstWrong(t *testing.T) {
	delta := func(road int, name string, row, col int) func([]*results) {
		return func(r []*results) {
			d := r[road].deltas[name]
			d.Data[row*d.Cols+col] += 0.01
		}
	}
	gradient := func(road int, name string, i int, by float64) func([]*results) {
		return func(r []*results) { r[road].grads[name].Data[i] += by }
	}
	const anyway = true // a wrong gradient makes the check fail; a wrong Δ alone does not
	tests := map[string]struct {
		fails bool
		spoil func([]*results)
		wants []string
	}{
		"queries": {
			anyway, delta(0, "h.1.attn.c_attn", 8, 4),
			[]string{
				"first wrong Δ", "Δ_q", "h.1.attn.c_attn", "sequence 1, token 2", "queries, head 1, feature 1",
				"autodiff has",
			},
		},
		"keys": {
			anyway, delta(1, "h.0.attn.c_attn", 0, 6),
			[]string{"h.0.attn.c_attn", "sequence 0, token 0", "keys, head 0, feature 0", "kernels has"},
		},
		"values": {
			anyway, delta(0, "h.0.attn.c_attn", 11, 21), []string{"sequence 1, token 5", "values, head 1, feature 4"},
		},
		"heads": {
			anyway, delta(1, "h.0.attn.heads", 3, 7),
			[]string{"Δ₃ = Δ₅ w₃ᵗ", "h.0.attn.heads", "sequence 0, token 3", "head 1, feature 2"},
		},
		"mlp": {
			anyway, delta(0, "h.1.mlp.c_fc", 7, 12),
			[]string{"Δ₇ = Δ₈ ∘ g'(a₇)", "h.1.mlp.c_fc", "sequence 1, token 1", "feature 12"},
		},
		"norm":   {anyway, delta(0, "h.0.ln_2", 2, 5), []string{"Δ₆ = Δ₇ w₆ᵗ", "h.0.ln_2"}},
		"logits": {anyway, delta(0, "lm_head", 5, 10), []string{"Δ₁₂ = y_pred − y_gt", "row 5, column 10"}},
		"block": {
			anyway, delta(2, "h.0", 5, 3),
			[]string{"Δ₁₀, which is Δ₁ of the next block, Δ₅ + LNᵇ(Δ₂) (40)", "at the output of h.0,", "float32 has"},
		},
		"two": {anyway, func(r []*results) { delta(0, "h.0.ln_1", 1, 1)(r); delta(1, "h.1.attn", 4, 2)(r) },
			[]string{"Δ₅ = Δ₁₀ + LNᵇ(Δ₆) (40)", "h.1.attn,", "token 4, feature 2"}},
		"parameter": {
			anyway, func([]*results) {},
			[]string{"first wrong gradient", "h.0.ln_1.weight (41), row 0, column 3", "autodiff has"},
		},
		"adapter": {
			false, gradient(1, "h.1.mlp.c_proj.lora_u", 9, 1e-3),
			[]string{"h.1.mlp.c_proj.lora_u (46), row 1, column 1", "kernels has"},
		},
		"float32": {
			false, gradient(2, "lm_head.bias", 10, 0.1), []string{"lm_head.bias ΣΔ₁₂, row 0, column 10", "float32 has"},
		},
		"values' w": {
			false, gradient(0, "h.0.attn.c_attn.weight", 22+13, 1e-3),
			[]string{"h.0.attn.c_attn.weight v (23), row 1, column 1"},
		},
		"key bias": {false, gradient(0, "h.0.attn.c_attn.bias", 8, 1e-11), nil},
		"not number": {
			false, gradient(1, "wpe.weight", 3, math.NaN()),
			[]string{"wpe.weight (3), row 0, column 3", "kernels has NaN"},
		},
	}
	s, plan, clean := evaluated(t, small(func(c *gpt.Config) { c.LoraR = 2 }))
	for name, test := range tests {
		roads := clone(clean)
		if test.fails {
			gradient(0, "h.0.ln_1.weight", 3, 1e-3)(roads)
		}
		test.spoil(roads)
		r, err := compare(unwatched(), s, plan, roads, sampling{few: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() {
			t.Errorf("%s: got no failure", name)
		}
		for _, want := range test.wants {
			if !strings.Contains(r.First, want) {
				t.Errorf("%s: got %q, want %q", name, r.First, want)
			}
		}
		if name == "key bias" && !strings.Contains(
			strings.Join(r.Failures, ";"), "h.0.attn.c_attn.bias k (29): identically zero, but is not",
		) {
			t.Errorf("%s: got %q", name, r.Failures)
		}
	}
}

// Each kind of block has its own equations.
func TestEquationOfDelta(t *testing.T) {
	for _, c := range []struct{ block, name, want string }{
		{"pre", "h.1", "Δ₁₀ = LNᵇ(Δ₁₁) (40)"}, {"pre", "drop", "Δ₁ = Δ₅ + LNᵇ(Δ₂) (40)"},
		{"pre", "h.0.attn.heads", "Δ₃ = Δ₅ w₃ᵗ"},
		{"post", "h.1", "Δ₁₀ = Δ₁₂ w₁₁ᵗ"},
		{"post", "h.0", "Δ₁₀, which is Δ₁ of the next block, LNᵇ(Δ₅) + Σ_h (…) (33), (35)"},
		{"post", "h.1.ln_1", "Δ₅ = LNᵇ(Δ₁₀) + Δ₇ w₆ᵗ"},
		{"post", "h.0.attn", "LNᵇ(Δ₅) (40)"}, {"post", "h.0.mlp.c_fc", "Δ₇ = Δ₈ ∘ g'(a₇)"},
		{"elman", "h.1", "Δ₁₀ = Δ₁₂ w₁₁ᵗ"}, {"elman", "drop", "Δ₁ = a Uᵗ, a = (Δ + c) ∘ (1 − h²), CS 224n (4)"},
	} {
		f := fixture.Generic(map[string]fixture.Variant{
			"pre": func(*fixture.Fixture) {}, "post": fixture.WithPostNorm, "elman": fixture.WithElman,
		}[c.block])
		got := ""
		for _, e := range byHand(t, subject{parameters: f.Parameters, text: f.Text()}, f.Plan) {
			if e.Delta && e.Name == c.name {
				got = e.Equation
			}
		}
		if got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.block, c.name, got, c.want)
		}
	}
}

func clone(roads []*results) (list []*results) {
	for _, w := range roads {
		c := &results{
			form: w.form, loss: w.loss, grads: hand.Parameters[float64]{}, deltas: map[string]hand.Matrix[float64]{},
		}
		for name, m := range w.grads {
			c.grads[name] = m.Scale(1)
		}
		for name, m := range w.deltas {
			c.deltas[name] = m.Scale(1)
		}
		list = append(list, c)
	}
	return list
}

// Every Δ of the formulas is compared with the library's, in both kinds of block.
func TestCheckSeesEveryDelta(t *testing.T) {
	for block, change := range map[string]func(*gpt.Config){
		"pre": func(*gpt.Config) {}, "post": func(c *gpt.Config) { c.Block = "post" }, "gated, pre": llama,
	} {
		s, plan, roads := evaluated(t, small(change))
		compared := 0
		for _, d := range byHand(t, s, plan) {
			got, ok := roads[0].deltas[d.Name]
			if !ok || !d.Delta {
				continue
			}
			compared++
			if e := Distance(got, d.Value, 1); got.Rows != d.Value.Rows || got.Cols != d.Value.Cols || !e.OK() {
				t.Errorf(
					"%s-norm, %s: got %v (%d, %d), want %v (%d, %d)", block, d.Name, e.Got, got.Rows, got.Cols, e.Want,
					d.Value.Rows, d.Value.Cols,
				)
			}
		}
		if want := len(roads[0].deltas); compared != want || want < 13 {
			t.Errorf("%s-norm: compared %d of %d Δ", block, compared, want)
		}
	}
}

// A missing gradient is an error, before anything is compared.
func TestCheckHoles(t *testing.T) {
	tests := map[string]struct {
		break_ func([]*results)
		want   string
	}{
		"missing": {
			func(r []*results) { delete(r[0].grads, "ln_f.bias") },
			"autodiff: verify: parameters not covered: ln_f.bias: got (0, 0), want (1, 8)",
		},
		"extra": {
			func(r []*results) { r[1].grads["h.2.ln_1.bias"] = fixture.Random("b", 1, 8) },
			"kernels: verify: parameters not covered: h.2.ln_1.bias: got a gradient, want none",
		},
		"shape": {func(r []*results) { r[2].grads["wte.weight"] = r[2].grads["wte.weight"].Transpose() },
			"float32: verify: parameters not covered: wte.weight: got (8, 11), want (11, 8)"},
	}
	s, plan, clean := evaluated(t, small())
	for name, test := range tests {
		roads := clone(clean)
		test.break_(roads)
		_, err := compare(unwatched(), s, plan, roads, sampling{few: 1})
		if !errors.Is(err, ErrCoverage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %s", name, err, test.want)
		}
	}
	m, g := newModel(t, small()), byHand(t, s, plan)
	twice := &Report{Rows: rows(g)}
	twice.Rows = append(twice.Rows, twice.Rows[4])
	if err := twice.compare(clean, g.Parameters()); !errors.Is(err, ErrCoverage) {
		t.Errorf("compared twice: got error %v, want %v", err, ErrCoverage)
	}
	once := &Report{Rows: rows(g)[1:]}
	if err := once.compare(clean, g.Parameters()); !errors.Is(err, ErrCoverage) {
		t.Errorf("not compared: got error %v, want %v", err, ErrCoverage)
	}
	if _, err := Check(without(m, "ln_f.bias")); !errors.Is(err, ErrCoverage) {
		t.Errorf("model without ln_f.bias: got error %v, want %v", err, ErrCoverage)
	}
	more := without(m)
	more.Parameters["ln_g.bias"] = fixture.Random("b", 1, 8)
	if _, err := Check(more); !errors.Is(err, ErrCoverage) {
		t.Errorf("model with ln_g.bias: got error %v, want %v", err, ErrCoverage)
	}
	sick := without(m)
	sick.Parameters["wte.weight"].Data[sick.Tokens[0]*8] = math.NaN()
	if _, err := Check(sick); err == nil || !strings.Contains(err.Error(), "the loss is NaN") {
		t.Errorf("model with NaN: got error %v, want that the loss is NaN", err)
	}
}

// without returns a copy of the model that lacks some parameters.
func without(m Model, names ...string) Model {
	c := m
	c.Parameters = hand.Parameters[float64]{}
	for name, p := range m.Parameters {
		c.Parameters[name] = p.Scale(1)
	}
	for _, name := range names {
		delete(c.Parameters, name)
	}
	return c
}

// A Report survives JSON, even with a distance that is not a number.
func TestReportJSON(t *testing.T) {
	s, plan, roads := evaluated(t, small())
	roads[0].grads["ln_f.bias"].Data[2] = math.NaN()
	want, err := compare(unwatched(), s, plan, roads, sampling{few: 1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := new(Report)
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Row{})); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
	if got.OK() || !math.IsInf(float64(got.Worst), 1) || len(got.Rows) != 38 || got.First == "" {
		t.Errorf(
			"got OK %t, worst %v, %d rows, first %q; want a failure of +Inf in 38 rows", got.OK(), got.Worst,
			len(got.Rows), got.First,
		)
	}
}

// In JSON the distances are keys of the row, beside its fields. Other keys are ignored.
func TestRowJSON(t *testing.T) {
	const text = `{"name":"w","shape":[1,2],"count":2,"norm":5,"structural_zero":true,"complex":null,"kernels":1e-15}`
	want := Row{
		Name: "w", Shape: [2]int{1, 2}, Count: 2, Norm: 5, Zero: true,
		Gaps: map[string]Gap{"complex": Gap(math.Inf(1)), "kernels": 1e-15},
	}
	if got, err := json.Marshal(want); err != nil || string(got) != text {
		t.Errorf("got %s, %v, want %s", got, err, text)
	}
	for _, text := range []string{text, strings.Replace(text, "{", `{"other":1,`, 1)} {
		got := Row{Gaps: map[string]Gap{"autodiff": 1}}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Row{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, wrong := range []string{`"kernels":"a"`, `"name":1`} {
		if err := json.Unmarshal([]byte("{"+wrong+"}"), new(Row)); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}

// tables returns reports with a bit of everything, by the file that has their layout.
func tables() map[string]*Report {
	rows := []Row{
		{
			Name: "wte.weight", Symbol: "w_tok", Equation: "(3)", Shape: [2]int{11, 8}, Count: 88, Norm: 0.56,
			Gaps: map[string]Gap{"autodiff": 1e-15, "kernels": 2e-15, "complex": 3e-16, "float32": 4e-7},
		},
		{
			Name: "h.0.attn.c_attn.bias k", Symbol: "b_k", Equation: "(29)", Shape: [2]int{1, 6}, Count: 6, Zero: true,
			Gaps: map[string]Gap{"float32": 2e-8}, nonzero: true,
		},
		{
			Name: "ln_f.bias", Symbol: "b₁₀", Equation: "(42)", Shape: [2]int{1, 8}, Count: 8, Norm: 12.5,
			Gaps: map[string]Gap{"autodiff": Gap(math.Inf(1)), "kernels": 5e-12, "complex": 2e-10, "exact": 3},
		},
	}
	wrong := &Report{
		ByHand: true, Parameters: 102, Entries: 40, Loss: 2.5, Tolerance: Tolerance, ToleranceFloat32: ToleranceFloat32,
		Rows: rows, Direction: 1e-17, Bound: -43.5,
	}
	right := &Report{
		ByHand: true, Parameters: 88, Entries: 88, Loss: 2.5, Tolerance: Tolerance, ToleranceFloat32: ToleranceFloat32,
		Rows: rows[:1], Direction: 1e-17, Bound: -43.5,
	}
	plain := &Report{Parameters: 96, Entries: 96, Loss: -0.5, Tolerance: Tolerance, ToleranceFloat32: toleranceLayer32,
		Rows: []Row{
			{
				Name: "x", Shape: [2]int{12, 8}, Count: 96, Norm: 3,
				Gaps: map[string]Gap{"differences": 1e-9, "kernels": 1e-16},
			},
		}}
	for _, r := range []*Report{wrong, right, plain} {
		r.finish()
	}
	wrong.First = "the first wrong Δ …"
	return map[string]*Report{
		"testdata/wrong.txt": wrong, "testdata/right.txt": right, "testdata/differences.txt": plain,
	}
}

// The layout of the table.
func TestReportTable(t *testing.T) {
	for file, r := range tables() {
		var b strings.Builder
		n, err := r.WriteTo(&b)
		if err != nil || int(n) != b.Len() {
			t.Errorf("%s: wrote %d bytes of %d, error %v", file, n, b.Len(), err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
