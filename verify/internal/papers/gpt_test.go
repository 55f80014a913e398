package papers

import (
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// byHand returns the loss and the gradients of a fixture as derived on paper.
func byHand(t testing.TB, f fixture.Fixture) (float64, gradients) {
	t.Helper()
	a, err := gptForward(f.Plan, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gptBackward(f.Plan, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		t.Fatal(err)
	}
	return a.Loss.Data[0], g
}

// byComplexStep returns the gradients of a fixture by the complex step, which uses no derivative.
func byComplexStep(t testing.TB, f fixture.Fixture) parameters {
	t.Helper()
	g, err := verify.ComplexStep(f.Loss, f.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func worst(t testing.TB, got, want parameters) verify.Difference {
	t.Helper()
	ds, err := verify.Compare(got, want)
	if err != nil {
		t.Fatal(err)
	}
	if len(ds) != len(want) {
		t.Fatalf("compared %d of %d parameters", len(ds), len(want))
	}
	return verify.Worst(ds)
}

// choices returns the independent properties of a model that the tests combine.
func choices() map[string]fixture.Variant {
	return map[string]fixture.Variant{
		"postnorm": fixture.WithPostNorm, "tied": fixture.WithTying, "lora": fixture.WithLoRA,
		"ignored": fixture.WithIgnored,
		"window":  fixture.WithWindow, "dropout": fixture.WithDropout, "sum": fixture.WithSum,
	}
}

// Every entry of every gradient, for each property alone and for all of them.
func TestGPTEveryEntry(t *testing.T) {
	t.Parallel()
	cases := map[string][]fixture.Variant{
		"generic":  nil,
		"padding":  {fixture.WithPadding},
		"relu":     {fixture.WithReLU},
		"gelutanh": {fixture.WithGELUTanh},
		"nobias":   {fixture.WithoutBiases},
		"all":      slices.Collect(maps.Values(choices())),
	}
	for name, variant := range choices() {
		cases[name] = []fixture.Variant{variant}
	}
	for name, variants := range cases {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("NIGHTLY") == "" && name != "generic" && name != "all" {
				t.Skip("entry by entry is slow")
			}
			f := fixture.Generic(variants...)
			_, g := byHand(t, f)
			d := worst(t, g.Parameters, byComplexStep(t, f))
			t.Logf("worst %.1e %s", d.Distance, d.Name)
			if !(d.Distance <= verify.Suspicion) {
				t.Errorf(
					"%s (%d, %d): got %v by hand, want %v; distance %.1e", d.Name, d.Row, d.Col, d.Got, d.Want,
					d.Distance,
				)
			}
		})
	}
}

// All 128 combinations, each along a random direction through all parameters and at one entry of every parameter.
func TestGPTEveryCombination(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(choices()))
	largest := 0.0
	for set := range 1 << len(names) {
		var on []string
		var variants []fixture.Variant
		for i, name := range names {
			if set>>i&1 == 1 {
				on, variants = append(on, name), append(variants, choices()[name])
			}
		}
		if os.Getenv("NIGHTLY") == "" && set%8 != 5 {
			continue
		}
		f := fixture.Generic(variants...)
		_, g := byHand(t, f)
		if len(g.Parameters) != len(f.Parameters) {
			t.Errorf("%s: got %d gradients, want %d", on, len(g.Parameters), len(f.Parameters))
		}
		objective, scale := f.Loss, verify.Largest(g.Parameters)
		direction, along := parameters{}, 0.0
		for name, m := range f.Parameters {
			direction[name] = fixture.Random("direction "+name, m.Rows, m.Cols)
			for i, u := range direction[name].Data {
				along += u * g.Parameters[name].Data[i]
			}
			i := (set * 31) % len(m.Data)
			want, err := verify.ComplexStepAt(objective, f.Parameters, name, i)
			if got := g.Parameters[name].Data[i]; err != nil || !(math.Abs(got-want) <= verify.Suspicion*scale) {
				t.Errorf("%s: %s[%d]: got %v by hand, want %v (%v)", on, name, i, got, want, err)
			}
		}
		want, err := verify.ComplexStepAlong(objective, f.Parameters, direction)
		if err != nil || !(math.Abs(along-want) <= verify.Suspicion*scale) {
			t.Errorf("%s: got %v by hand along the direction, want %v (%v)", on, along, want, err)
		}
		largest = max(largest, math.Abs(along-want)/scale)
	}
	t.Logf("worst along a direction %.1e", largest)
}

// A bias is added at the output of its layer, so its gradient is Σ_tokens of the Δ there. This checks the names and the
// order of the Δ.
func TestGPTDeltas(t *testing.T) {
	f := fixture.Generic()
	_, g := byHand(t, f)
	var order []string
	checked := 0
	for _, d := range g.Deltas {
		order = append(order, d.Name)
		if bias, ok := g.Parameters[d.Name+".bias"]; ok {
			checked++
			if e := verify.Distance(d.Value.SumTokens(), bias, verify.Largest(g.Parameters)); !e.OK() {
				t.Errorf("Σ Δ(%s): got %v, want %v", d.Name, e.Got, e.Want)
			}
		}
	}
	want := "lm_head ln_f " +
		"h.1 h.1.mlp.c_proj h.1.mlp.act h.1.mlp.c_fc h.1.ln_2 h.1.attn h.1.attn.c_proj h.1.attn.heads " +
		"h.1.attn.c_attn h.1.ln_1 h.0 h.0.mlp.c_proj h.0.mlp.act h.0.mlp.c_fc h.0.ln_2 h.0.attn h.0.attn.c_proj " +
		"h.0.attn.heads h.0.attn.c_attn h.0.ln_1 drop"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order of the Δ:\ngot  %s\nwant %s", got, want)
	}
	if checked != 2*6+2 {
		t.Errorf("checked %d biases, want 14", checked)
	}
}

// Mistakes of the caller are errors that name the place and both sizes.
func TestGPTErrors(t *testing.T) {
	tests := map[string]struct {
		break_ func(*fixture.Fixture)
		want   string
	}{
		"missing": {
			func(f *fixture.Fixture) { delete(f.Parameters, "h.1.ln_2.weight") },
			"h.1.ln_2: hand: no parameter h.1.ln_2.weight",
		},
		"shape": {
			func(f *fixture.Fixture) { f.Parameters["lm_head.weight"] = fixture.Random("w", 7, 11) },
			"lm_head: hand: shapes do not fit: matmul (12, 8), (7, 11)",
		},
		"token": {
			func(f *fixture.Fixture) { f.Tokens[3] = 11 },
			"wte: hand: shapes do not fit: token 11 at 3, embeddings (11, 8)",
		},
		"target": {func(f *fixture.Fixture) { f.Targets[2] = -7 }, "target -7 at 2, logits (12, 11)"},
		"adapter": {
			func(f *fixture.Fixture) { f.Parameters["lm_head.lora_d"] = fixture.Random("d", 8, 4) },
			"no parameter lm_head.lora_u",
		},
		"heads": {
			func(f *fixture.Fixture) { f.Heads = 3 },
			"h.0.attn: hand: shapes do not fit: (12, 4) for 2 sequences and 3 heads",
		},
		"tokens": {
			func(f *fixture.Fixture) { f.Tokens = f.Tokens[:1] },
			"wpe: hand: shapes do not fit: 1 tokens at 12 positions",
		},
		"values": {
			func(f *fixture.Fixture) { f.Parameters["ln_f.bias"] = matrix{Rows: 1, Cols: 8} },
			"ln_f.bias: hand: shapes do not fit: matrix (1, 8) from 0 values",
		},
		"position": {func(f *fixture.Fixture) {
			f.Batch = 1
			f.Context = 12
		}, "wpe: hand: shapes do not fit: token 9 at 9, embeddings (9, 8)"},
	}
	for name, test := range tests {
		f := fixture.Generic()
		test.break_(&f)
		_, err := gptForward(f.Plan, f.Parameters, f.Tokens, f.Targets)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %s", name, err, test.want)
		}
		if _, err := gptBackward(f.Plan, f.Parameters, f.Tokens, f.Targets); err == nil {
			t.Errorf("%s: no error from the backward", name)
		}
	}
}
