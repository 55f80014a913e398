package hand_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/parts"
)

// handModel is a model with its parameters and text.
type handModel struct {
	name string
	plan parts.Plan
	p    hand.Parameters[float64]
	text hand.Text
}

func handModels() (out []handModel) {
	for _, m := range []struct {
		name     string
		variants []fixture.Variant
	}{
		{"decoder", []fixture.Variant{fixture.WithLoRA, fixture.WithDropout, fixture.WithIgnored}},
		{"tied, post-norm", []fixture.Variant{fixture.WithTying, fixture.WithPostNorm, fixture.WithSinusoids, fixture.WithSum}},
		{"elman, no positions", []fixture.Variant{fixture.WithElman, func(f *fixture.Fixture) { f.Position = "none" }}},
		{"one block", []fixture.Variant{func(f *fixture.Fixture) { f.Layers = 1 }}},
		{"no blocks", []fixture.Variant{func(f *fixture.Fixture) { f.Layers = 0 }}},
	} {
		f := fixture.Generic(m.variants...)
		out = append(out, handModel{m.name, f.Plan, f.Parameters, f.Text()})
	}
	for _, block := range []string{"pre", "post"} {
		out = append(out, handModel{"pairs, " + block, parts.Plan{
			Batch: 2, Context: 4, Layers: 2, Heads: 2, QK: 2, Eps: 0.1,
			Position: "learned", Attention: "causal", Norm: "layernorm", Block: block, Activation: "gelu", Head: "linear",
			Encoder: &parts.Encoder{Context: 3, Lengths: []int{3, 2}, Attention: "full"},
			Dropout: func(path string) hand.Matrix[float64] {
				if strings.HasSuffix(path, "resid_dropout") {
					rows := map[byte]int{'e': 6, 'd': 8}[path[0]]
					return fixture.Random(path, rows, 5).Shift(0.2).Step()
				}
				return hand.Matrix[float64]{}
			},
		}, pairs(), hand.Text{
			Source: []int{1, 4, 2, 5, 5, 0}, Tokens: []int{1, 2, 6, 3, 1, 5, 0, 0}, Targets: []int{2, 6, 3, 4, 5, 4, hand.Ignore, hand.Ignore},
		}})
	}
	return out
}

// pairs returns the parameters of a small encoder–decoder.
func pairs() hand.Parameters[float64] {
	shapes := "decoder.lm_head.weight 5 7, encoder.wte.weight 6 5, decoder.wte.weight 7 5, encoder.wpe.weight 3 5, decoder.wpe.weight 4 5, "
	for _, side := range []string{"encoder", "decoder"} {
		shapes += side + ".ln_f.weight 1 5, "
		for i := range 2 {
			block := "ln_1.weight 1 5, attn.c_attn.weight 5 14, attn.c_attn.bias 1 14, attn.c_proj.weight 6 5, ln_2.weight 1 5, " +
				"mlp.c_fc.weight 5 7, mlp.c_proj.weight 7 5, "
			if side == "decoder" {
				block += "ln_cross.weight 1 5, cross.c_q.weight 5 4, cross.c_kv.weight 5 10, cross.c_kv.bias 1 10, cross.c_proj.weight 6 5, "
			}
			for _, s := range strings.SplitAfter(strings.TrimSuffix(block, ", "), ", ") {
				shapes += fmt.Sprintf("%s.h.%d.%s", side, i, s)
			}
			shapes += ", "
		}
	}
	return random(shapes)
}

// The loss of a model and its gradients, with their names, are those of testdata/models.txt.
func TestModels(t *testing.T) {
	var got strings.Builder
	for _, w := range handModels() {
		m, err := parts.Model(w.plan, w.p)
		if err != nil {
			t.Fatal(err)
		}
		loss, logits := m.Forward(w.text), m.Logits(w.text)
		g, err := m.Backward(w.text)
		if loss.Err != nil || err != nil {
			t.Errorf("%s: %v, %v", w.name, loss.Err, err)
		}
		fmt.Fprintf(&got, "%s (%d, %d) %.9g (%d, %d) %.9g\n", w.name, loss.Rows, loss.Cols, fingerprint(loss), logits.Rows, logits.Cols, fingerprint(logits))
		for _, e := range g {
			fmt.Fprintf(&got, "\t%s %s %s | %s | %t %t %.9g\n", e.Name, e.Part, e.Symbol, e.Equation, e.Delta, e.Zero, fingerprint(e.Value))
		}
	}
	golden(t, "testdata/models.txt", got.String())
}

// The Backward of a model is the derivative of its loss along a random direction of every parameter.
func TestModelsComplexStep(t *testing.T) {
	for _, w := range handModels() {
		m, err := parts.Model(w.plan, w.p)
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.Backward(w.text)
		if err != nil {
			t.Fatal(err)
		}
		checkAlong(t, w.name, g.Parameters(), w.p, func(z hand.Parameters[complex128]) (complex128, error) {
			m, err := parts.Model(w.plan, z)
			if err != nil {
				return 0, err
			}
			loss := m.Forward(w.text)
			return loss.At(0, 0), loss.Err
		})
	}
}

// An error names the layer in which it arose, in Forward and in Backward.
func TestModelErrors(t *testing.T) {
	all := handModels()
	decoder, pairs := all[0], all[len(all)-2]
	for _, test := range []struct {
		handModel
		missing, forward string
	}{
		{decoder, "wte.weight", "wte: hand: no parameter wte.weight"},
		{decoder, "wpe.weight", "wpe: hand: no parameter wpe.weight"},
		{decoder, "h.0.ln_1.weight", "h.0.ln_1: hand: no parameter h.0.ln_1.weight"},
		{decoder, "h.1.mlp.c_fc.weight", "h.1.mlp.c_fc: hand: no parameter h.1.mlp.c_fc.weight"},
		{decoder, "ln_f.weight", "ln_f: hand: no parameter ln_f.weight"},
		{decoder, "lm_head.weight", "lm_head: hand: no parameter lm_head.weight"},
		{pairs, "encoder.h.1.attn.c_proj.weight", "encoder.h.1.attn.c_proj: hand: no parameter encoder.h.1.attn.c_proj.weight"},
		{pairs, "decoder.h.0.cross.c_q.weight", "decoder.h.0.cross.c_q: hand: no parameter decoder.h.0.cross.c_q.weight"},
		{pairs, "decoder.ln_f.weight", "decoder.ln_f: hand: no parameter decoder.ln_f.weight"},
	} {
		p := maps.Clone(test.p)
		delete(p, test.missing)
		m, err := parts.Model(test.plan, p)
		if err != nil {
			t.Fatal(err)
		}
		if y := m.Forward(test.text); y.Err == nil || y.Err.Error() != test.forward {
			t.Errorf("%s: got %v, want %s", test.missing, y.Err, test.forward)
		}
		if _, err := m.Backward(test.text); err == nil || !strings.HasSuffix(err.Error(), "hand: no parameter "+test.missing) {
			t.Errorf("%s: got %v of Backward", test.missing, err)
		}
	}
}
