package hand_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

var update = flag.Bool("update", false, "write testdata again")

// random returns the input, named x, and the parameters of an example.
func random(shapes string) hand.Parameters[float64] {
	p := hand.Parameters[float64]{}
	for _, s := range strings.Split(strings.TrimSuffix(shapes, ", "), ", ") {
		var name string
		var rows, cols int
		fmt.Sscan(s, &name, &rows, &cols) // an invalid shape has no rows, and its test fails
		p[name] = fixture.Random(name, rows, cols).Scale(3)
	}
	return p
}

// backward returns Δ at everything that the output depends on.
func backward(
	l hand.Layer[float64], p hand.Parameters[float64], delta hand.Matrix[float64],
) (hand.Gradients[float64], error) {
	dx, g := l.Backward(p["x"], delta)
	for i := range g {
		if strings.HasSuffix(g[i].Name, hand.MemoryDelta) {
			g[i].Name, g[i].Delta = "z", false
		}
		g[i].Name = strings.TrimPrefix(g[i].Name, "/")
	}
	return append(g, hand.Gradient[float64]{Name: "x", Value: dx}), errors.Join(dx.Err, g.Err())
}

// The output of every layer and its gradients, with their names and their equations, are in testdata/gradients.txt. The
// next test checks that the gradients are right.
func TestGradients(t *testing.T) {
	var got strings.Builder
	for _, e := range examples[float64]() {
		p := random(e.shapes)
		l := e.layer(place(p))
		y := l.Forward(p["x"])
		g, err := backward(l, p, fixture.Random("Δ", y.Rows, y.Cols))
		if y.Err != nil || err != nil {
			t.Errorf("%s: %v, %v", e.name, y.Err, err)
		}
		fmt.Fprintf(&got, "%s (%d, %d) %.9g\n", e.name, y.Rows, y.Cols, fingerprint(y))
		for _, e := range g {
			fmt.Fprintf(
				&got, "\t%s %s %s | %s | %t %t %.9g\n", e.Name, e.Part, e.Symbol, e.Equation, e.Delta, e.Zero,
				fingerprint(e.Value),
			)
		}
	}
	golden(t, "testdata/gradients.txt", got.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(text), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("%s:%d: got\n%s\nwant\n%s", name, i+1, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("%s: got %d lines, want %d", name, len(g), len(w))
	}
}

// Every layer's Backward is the derivative of its Forward, with respect to the input and to every parameter: to every
// entry with NIGHTLY=1, and along one direction by day.
func TestComplexStep(t *testing.T) {
	check := checkAlong
	if os.Getenv("NIGHTLY") != "" {
		check = checkDerivative
	}
	steps := examples[complex128]()
	for i, e := range examples[float64]() {
		p := random(e.shapes)
		l := e.layer(place(p))
		y := l.Forward(p["x"])
		delta := fixture.Random("Δ", y.Rows, y.Cols)
		g, err := backward(l, p, delta)
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		check(t, e.name, g.Parameters(), p, func(z hand.Parameters[complex128]) (complex128, error) {
			y := steps[i].layer(place(z)).Forward(z["x"]).Mul(hand.Lift[complex128](delta))
			return y.SumTokens().Sum().At(0, 0), y.Err
		})
	}
}

// checkDerivative checks every entry of every parameter.
func checkDerivative(t *testing.T, name string, g, p hand.Parameters[float64], f verify.Objective) {
	t.Helper()
	truth, err := verify.ComplexStep(f, p)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	ds, err := verify.Compare(g, truth)
	if worst := verify.Worst(ds); err != nil || !worst.OK() {
		t.Errorf("%s: got %+v (%v)", name, worst, err)
	}
}

// checkAlong checks one direction of every parameter.
func checkAlong(t *testing.T, name string, g, p hand.Parameters[float64], f verify.Objective) {
	t.Helper()
	largest := verify.Largest(g)
	for parameter, m := range p {
		along := fixture.Random("along "+parameter, m.Rows, m.Cols)
		want, err := verify.ComplexStepAlong(f, p, hand.Parameters[float64]{parameter: along})
		got := 0.0
		if m := g[parameter]; !m.None() { // a parameter that nothing reads has no gradient
			got = m.Mul(along).SumTokens().Sum().At(0, 0)
		}
		if err != nil || !(math.Abs(got-want) <= 1e-12*largest) {
			t.Errorf("%s: %s: got %g, want %g (%v)", name, parameter, got, want, err)
		}
	}
}

// An input, Δ or parameter that is missing or of another shape is an error of both Forward and Backward, not a panic.
func TestErrors(t *testing.T) {
	bad := errors.New("bad")
	for _, e := range examples[float64]() {
		full := random(e.shapes)
		y := e.layer(place(full)).Forward(full["x"])
		delta := fixture.Random("Δ", y.Rows, y.Cols)
		for name, m := range full {
			optional := strings.HasSuffix(name, "bias") || strings.HasSuffix(name, "lora_d") ||
				name == "xsa_lambda" || strings.HasSuffix(name, "v_lambda")
			wide, none := hand.Zeros[float64](m.Rows+1, m.Cols+1), hand.Matrix[float64]{Err: bad}
			for want, put := range map[error]hand.Matrix[float64]{bad: none, hand.ErrShape: wide} {
				if want == hand.ErrShape && name == "x" && !strings.Contains(e.shapes, ",") {
					continue // may have any shape
				}
				p := random(e.shapes)
				p[name] = put
				l := e.layer(place(p))
				_, err := backward(l, p, delta)
				// Backward need not read these.
				blind := strings.HasSuffix(name, "bias") ||
					name == "x" && strings.Contains("dropout, learned positions, sinusoidal, rope, pairs, rope, "+
						"partial, rope by llama3, rope by yarn, not rounded", e.name)
				if y := l.Forward(p["x"]); !errors.Is(y.Err, want) || !errors.Is(err, want) && !(blind && err == nil) {
					t.Errorf("%s: %s is bad: got %v and %v, want %v", e.name, name, y.Err, err, want)
				}
			}
			if optional || name == "x" || name == "z" {
				continue
			}
			p := random(e.shapes)
			delete(p, name)
			l := e.layer(place(p))
			want := "hand: no parameter " + name
			_, err := backward(l, p, delta)
			if y := l.Forward(p["x"]); y.Err == nil || !strings.HasSuffix(y.Err.Error(), want) || err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s without %s: got %v and %v", e.name, name, y.Err, err)
			}
		}
		if _, err := backward(e.layer(place(full)), full, hand.Matrix[float64]{Err: bad}); !errors.Is(err, bad) {
			t.Errorf("%s: Δ is bad: got %v", e.name, err)
		}
	}
}

// handModel is a model with its parameters and text.
type handModel struct {
	name string
	plan variants.Plan
	p    hand.Parameters[float64]
	text hand.Text
}

func handModels() (out []handModel) {
	for _, m := range []struct {
		name     string
		variants []fixture.Variant
	}{
		{"decoder", []fixture.Variant{fixture.WithLoRA, fixture.WithDropout, fixture.WithIgnored}},
		{
			"tied, post-norm",
			[]fixture.Variant{fixture.WithTying, fixture.WithPostNorm, fixture.WithSinusoids, fixture.WithSum},
		},
		{"elman, no positions", []fixture.Variant{fixture.WithElman, func(f *fixture.Fixture) { f.Position = "none" }}},
		{"one block", []fixture.Variant{func(f *fixture.Fixture) { f.Layers = 1 }}},
		{"no blocks", []fixture.Variant{func(f *fixture.Fixture) { f.Layers = 0 }}},
	} {
		f := fixture.Generic(m.variants...)
		out = append(out, handModel{m.name, f.Plan, f.Parameters, f.Text()})
	}
	for _, block := range []string{"pre", "post"} {
		out = append(out, handModel{"pairs, " + block, variants.Plan{
			Batch: 2, Context: 4, Layers: 2, Heads: 2, QK: 2, Eps: 0.1,
			Position: "learned", Attention: "causal", Norm: "layernorm", Block: block, Activation: "gelu",
			Head:    "linear",
			Encoder: &variants.Encoder{Context: 3, Lengths: []int{3, 2}, Attention: "full"},
			Dropout: func(path string) hand.Matrix[float64] {
				if strings.HasSuffix(path, "resid_dropout") {
					rows := map[byte]int{'e': 6, 'd': 8}[path[0]]
					return fixture.Random(path, rows, 5).Shift(0.2).Step()
				}
				return hand.Matrix[float64]{}
			},
		}, pairs(), hand.Text{
			Source: []int{1, 4, 2, 5, 5, 0}, Tokens: []int{1, 2, 6, 3, 1, 5, 0, 0},
			Targets: []int{2, 6, 3, 4, 5, 4, hand.Ignore, hand.Ignore},
		}})
	}
	return out
}

// pairs returns the parameters of a small encoder–decoder.
func pairs() hand.Parameters[float64] {
	shapes := "decoder.lm_head.weight 5 7, encoder.wte.weight 6 5, decoder.wte.weight 7 5, encoder.wpe.weight 3 5, " +
		"decoder.wpe.weight 4 5, "
	for _, side := range []string{"encoder", "decoder"} {
		shapes += side + ".ln_f.weight 1 5, "
		for i := range 2 {
			block := "ln_1.weight 1 5, attn.c_attn.weight 5 14, attn.c_attn.bias 1 14, attn.c_proj.weight 6 5, " +
				"ln_2.weight 1 5, mlp.c_fc.weight 5 7, mlp.c_proj.weight 7 5, "
			if side == "decoder" {
				block += "ln_cross.weight 1 5, cross.c_q.weight 5 4, cross.c_kv.weight 5 10, cross.c_kv.bias 1 10, " +
					"cross.c_proj.weight 6 5, "
			}
			for _, s := range strings.SplitAfter(strings.TrimSuffix(block, ", "), ", ") {
				shapes += fmt.Sprintf("%s.h.%d.%s", side, i, s)
			}
			shapes += ", "
		}
	}
	return random(shapes)
}

// The loss of a model and its gradients, with their names, are in testdata/models.txt.
func TestModels(t *testing.T) {
	var got strings.Builder
	for _, w := range handModels() {
		m, err := variants.Model(w.plan, w.p)
		if err != nil {
			t.Fatal(err)
		}
		loss, logits := m.Forward(w.text), m.Logits(w.text)
		g, err := m.Backward(w.text)
		if loss.Err != nil || err != nil {
			t.Errorf("%s: %v, %v", w.name, loss.Err, err)
		}
		fmt.Fprintf(
			&got, "%s (%d, %d) %.9g (%d, %d) %.9g\n", w.name, loss.Rows, loss.Cols, fingerprint(loss), logits.Rows,
			logits.Cols, fingerprint(logits),
		)
		for _, e := range g {
			fmt.Fprintf(
				&got, "\t%s %s %s | %s | %t %t %.9g\n", e.Name, e.Part, e.Symbol, e.Equation, e.Delta, e.Zero,
				fingerprint(e.Value),
			)
		}
	}
	golden(t, "testdata/models.txt", got.String())
}

// The Backward of a model is the derivative of its loss along a random direction of every parameter.
func TestModelsComplexStep(t *testing.T) {
	for _, w := range handModels() {
		m, err := variants.Model(w.plan, w.p)
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.Backward(w.text)
		if err != nil {
			t.Fatal(err)
		}
		checkAlong(t, w.name, g.Parameters(), w.p, func(z hand.Parameters[complex128]) (complex128, error) {
			m, err := variants.Model(w.plan, z)
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
		{
			pairs, "encoder.h.1.attn.c_proj.weight",
			"encoder.h.1.attn.c_proj: hand: no parameter encoder.h.1.attn.c_proj.weight",
		},
		{
			pairs, "decoder.h.0.cross.c_q.weight",
			"decoder.h.0.cross.c_q: hand: no parameter decoder.h.0.cross.c_q.weight",
		},
		{pairs, "decoder.ln_f.weight", "decoder.ln_f: hand: no parameter decoder.ln_f.weight"},
	} {
		p := maps.Clone(test.p)
		delete(p, test.missing)
		m, err := variants.Model(test.plan, p)
		if err != nil {
			t.Fatal(err)
		}
		if y := m.Forward(test.text); y.Err == nil || y.Err.Error() != test.forward {
			t.Errorf("%s: got %v, want %s", test.missing, y.Err, test.forward)
		}
		if _, err := m.Backward(test.text); err == nil ||
			!strings.HasSuffix(err.Error(), "hand: no parameter "+test.missing) {
			t.Errorf("%s: got %v of Backward", test.missing, err)
		}
	}
}
