package verify

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
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
				if e := Distance(FromTensor(got), d.Value, Largest(hand.Parameters[float64]{"": d.Value})); !(e.Distance <= 1e-12) {
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
