package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"gonum.org/v1/gonum/floats"
)

// The gradient of a tapped activation is the Δ of the formulas at the place of that name: along the residual stream,
// after norms, MLP and attention, and inside both.
func TestTappedGradientsAreDeltas(t *testing.T) {
	for name, change := range map[string]func(*gpt.Config){
		"pre": func(*gpt.Config) {}, "post": func(c *gpt.Config) { c.Block = "post" }, "gated, pre": llama,
		"linear": func(c *gpt.Config) { c.Attention = "linear" }, "mla": func(c *gpt.Config) { c.Attention = "mla" },
	} {
		t.Run(name, func(t *testing.T) {
			c := small(change)
			c.Dropout = 0
			m, err := NewModel(c, 1, 5)
			if err != nil {
				t.Fatal(err)
			}
			s, err := m.subject()
			if err != nil {
				t.Fatal(err)
			}
			g := kernels64.graph(5, 0)
			model, err := gpt.New(g, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range model.Params() {
				if err := set(p, m.Parameters); err != nil {
					t.Fatal(err)
				}
			}
			plan, err := m.plan(g)
			if err != nil {
				t.Fatal(err)
			}
			probe, err := inspect.Tap(model, "*", "*.*", "*.*.*", "*.*.*.*")
			if err != nil {
				t.Fatal(err)
			}
			_, gradients, err := probe.Gradients(m.Tokens, m.Targets)
			if err != nil {
				t.Fatal(err)
			}
			compared := map[string]bool{}
			for _, d := range byHand(t, s, plan) {
				got, err := gradients.At(d.Name)
				if !d.Delta || err != nil {
					continue
				}
				compared[d.Name] = true
				if e := Distance(
					FromTensor(got), d.Value, Largest(hand.Parameters[float64]{"": d.Value}),
				); !(e.Distance <= 1e-12) {
					t.Errorf("∂loss/∂%s: got %v, by hand %v, distance %.1e", d.Name, e.Got, e.Want, e.Distance)
				}
			}
			for _, want := range []string{"h.0", "h.1", "h.0.attn", "h.1.attn.heads", "h.0.mlp.act", "lm_head"} {
				if !compared[want] {
					t.Errorf("%s: not compared, of %d", want, len(compared))
				}
			}
		})
	}
}

// The product of inspect.Curvature with a vector is the derivative of the gradient by hand along it, by the complex
// step, which has no rounding of its own.
func TestCurvatureIsByHand(t *testing.T) {
	worst := 0.0
	for name, change := range map[string]func(*gpt.Config){
		"pre": func(*gpt.Config) {}, "post": func(c *gpt.Config) { c.Block = "post" }, "gated, pre": llama,
		"linear": func(c *gpt.Config) { c.Attention = "linear" }, "mla": func(c *gpt.Config) { c.Attention = "mla" },
	} {
		c := small(change)
		c.Dropout, c.Frozen = 0, train.Frozen{"h.0.mlp.*"}
		m, err := NewModel(c, 2, 5)
		if err != nil {
			t.Fatal(err)
		}
		m.Targets = append(slices.Clone(m.Tokens[1:]), 1) // a text, without targets that are ignored
		model, err := gpt.New(kernels64.graph(5, 0), c, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range model.Params() {
			if err := set(p, m.Parameters); err != nil {
				t.Fatal(err)
			}
		}
		curvature, err := inspect.NewCurvature(model, append(text.Tokens(m.Tokens), 1))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := m.plan(model.Graph)
		if err != nil {
			t.Fatal(err)
		}
		rng, v, z := rand.New(rand.NewPCG(8, 1)), []float64{}, lifted(m.Parameters)
		for _, p := range model.Trainable() {
			for i := range z[p.Name()].Data {
				v = append(v, rng.NormFloat64())
				z[p.Name()].Data[i] += complex(0, imaginaryStep*v[len(v)-1])
			}
		}
		got, err := curvature.Times(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		byHand, err := variants.Model(plan, z)
		if err != nil {
			t.Fatal(err)
		}
		g, err := byHand.Backward(hand.Text{Tokens: m.Tokens, Targets: m.Targets})
		if err != nil {
			t.Fatal(err)
		}
		want := []float64{}
		for _, p := range model.Trainable() {
			for _, x := range g.Parameters()[p.Name()].Data {
				want = append(want, imag(x)/imaginaryStep)
			}
		}
		e := floats.Distance(got, want, 2) / floats.Norm(want, 2)
		if worst = max(worst, e); len(got) != len(want) || !(e <= 1e-7) {
			t.Errorf("%s: %.1e from the complex step, %d numbers and %d", name, e, len(got), len(want))
		}
	}
	t.Logf("%.1e", worst)
}
