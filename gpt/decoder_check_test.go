package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// What a decoder is taken to remember before anything is allocated is what its caches hold, for every attention that is
// decoded token by token; those that keep sums or latents hold less.
func TestRemembered(t *testing.T) {
	const batch = 3
	less := map[string]bool{"linear": true, "taylor": true, "mla": true, "mla_rope": true, "mla_latent_rope": true}
	tried := 0
	for _, attention := range parts.Attentions() {
		name := attention.String()
		if name == "linformer" { // is not causal
			continue
		}
		c := tiny()
		c.VocabSize, c.Attention, c.QKSize = 41, name, 4
		for _, option := range attention.Options {
			if option.Name == "window" {
				c.Options.Set("window", 3)
			}
		}
		m, err := New(graph.New(graph.Float32, 1), c, batch)
		if err != nil {
			t.Fatal(name, err)
		}
		caches := nn.Caches{}
		step, err := newStepProgram(m, batch, 1, caches)
		if err != nil {
			t.Fatal(name, err)
		}
		if step == nil { // keeps the tokens alone
			continue
		}
		if err := step.hidden.Run(); err != nil {
			t.Fatal(name, err)
		}
		tried++
		held, estimate := float64(caches.Bytes()), 4*batch*m.Config.remembered()
		if !(held > 0 && held <= estimate) || !less[name] && estimate > 2*held {
			t.Errorf("%s: %v bytes are held, %v estimated", name, held, estimate)
		}
	}
	if tried < 10 {
		t.Errorf("%d attentions tried, want 10 or more", tried)
	}
}
