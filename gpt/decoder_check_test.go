package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The estimated memory of a decoder is that of its caches, for every attention that is decoded token by token,
// including sums of heads that are longer than the context, and a latent larger than all heads.
func TestRemembered(t *testing.T) {
	const batch = 3
	tried := 0
	for _, attention := range parts.Attentions() {
		name := attention.String()
		if name == "linformer" { // is not causal
			continue
		}
		c := tiny()
		c.VocabSize, c.Attention, c.QKSize, c.VSize = 41, name, 30, 22
		for _, option := range attention.Options {
			switch option.Name {
			case "window":
				c.Options.Set("window", 3)
			case "n_kv_head":
				c.Options.Set("n_kv_head", 1)
			case "latent_size":
				c.Options.Set("latent_size", 500)
			}
		}
		m, err := New(graph.New(graph.Float32, 1), c, batch)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, newest := programs(t, m); !newest { // keeps only the tokens
			continue
		}
		var caches nn.Caches
		n := m.network()
		build := n.Build
		n.Build = func(s graph.Scope, batch int, positions graph.Expr, shared nn.Caches) decode.Layers {
			caches = shared
			return build(s, batch, positions, shared)
		}
		d, err := decode.New(n, batch)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := d.Feed([]int{1}, []int{2}, []int{3}); err != nil {
			t.Fatal(name, err)
		}
		tried++
		o, err := m.plan.outline()
		if held := float64(caches.Bytes()); err != nil || held == 0 || held != 4*batch*o.remembered {
			t.Errorf("%s: %v bytes are held, %v estimated (%v)", name, held, 4*batch*o.remembered, err)
		}
	}
	if tried < 10 {
		t.Errorf("%d attentions tried, want 10 or more", tried)
	}
}
