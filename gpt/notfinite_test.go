package gpt

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Where an activation first overflows, the error of the step names the step, the micro-batch, the layer, its operation,
// and the row, in every form of the network, and so does the error of an evaluation. The weights are finite.
func TestOverflowNamesItsPlace(t *testing.T) {
	const id = 3
	forms := map[string]func(*Config){
		"kernels":      func(*Config) {},
		"no kernels":   func(c *Config) { c.Kernels = false },
		"recomputed":   func(c *Config) { c.Recompute = true },
		"bf16":         func(c *Config) { c.Precision = "bf16" },
		"with dropout": func(c *Config) { c.Dropout = 0.3 },
	}
	places := map[string]struct{ weight, want string }{
		"embedding": {"wte.weight", "first: wpe: add positions: row 4 of 24, column 2 is +Inf"},
		"MLP":       {"h.1.mlp.c_fc.weight", "first: h.1.mlp"},
		"attention": {"h.0.attn.c_attn.weight", "first: h.0.attn"},
		"norm":      {"ln_f.weight", "first: ln_f"},
	}
	for name, form := range forms {
		for place, at := range places {
			if place == "embedding" && name == "no kernels" {
				continue // there the norm of every text overflows
			}
			t.Run(name+"/"+place, func(t *testing.T) {
				c := tiny()
				c.GradientAccumulationSteps = 3
				form(&c)
				c.Hooks.Fill = func(step, micro int, x, y []int) error {
					for i := range x {
						x[i], y[i] = 0, 1
					}
					if step == 1 && micro == 2 {
						x[4] = id
					}
					return nil
				}
				trainer := newTrainer(t, c)
				steps(t, trainer, 1)
				micro := 1
				for _, p := range trainer.Model.Params() {
					w := p.Tensor()
					switch {
					case p.Name() != at.weight && !(place == "embedding" && p.Name() == "wpe.weight"):
					case place != "embedding":
						for i := range w.Len() {
							w.Set(i, 3e38)
						}
					case p.Name() == "wte.weight":
						micro = 3
						w.Set(id*c.NEmbd+2, 1.8e38)
					default:
						w.Set(4*c.NEmbd+2, 1.8e38)
					}
				}
				_, err := trainer.Step()
				want := fmt.Sprintf("step 2: micro-batch %d of 3: the loss is ", micro)
				if !errors.Is(err, graph.ErrNotFinite) || !strings.HasPrefix(err.Error(), want) ||
					!strings.Contains(err.Error(), at.want) {
					t.Errorf("got %v, want %q, and %q in it", err, want, at.want)
				}
				if _, err := trainer.Evaluate(t.Context()); place != "embedding" {
					mustContain(t, err, "evaluate: the loss is ", at.want)
				}
			})
		}
	}
}

// A text whose logits are not finite ends with an error that names the layer, by steps and without.
func TestOverflowOfADecoder(t *testing.T) {
	for _, c := range []Config{odd(), ours()} { // cached, and rerun
		m, err := New(graph.New(graph.Float32, 1), c, 1)
		check(t, err)
		for _, p := range m.Params() {
			for i := range p.Tensor().Len() {
				if strings.HasPrefix(p.Name(), "h.1.mlp.") {
					p.Tensor().Set(i, math.Copysign(3e38, p.Tensor().At(i)))
				}
			}
		}
		d := newDecoderOf(t, m)
		_, err = first(generate(t.Context(), d, []int{1, 2}, 1, search.NewSampler(1)))
		if !errors.Is(err, graph.ErrNotFinite) {
			t.Errorf("got %v, want ErrNotFinite", err)
		}
		mustContain(t, err, "generate: the logit of token ", "; first: h.1.mlp.")
	}
}
