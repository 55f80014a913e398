package gpt

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// byPosition multiplies an activation by a factor that depends on the token's position, in Forward and in Step.
func byPosition(c Config) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		width := x.Shape()[1]
		numbers := make([]float64, c.BlockSize*width)
		for i := range numbers {
			numbers[i] = 1 + math.Sin(float64(i))/2
		}
		if at, ok := x.Graph().Rows(); ok {
			return x.MulAddAt(at, numbers, make([]float64, len(numbers)))
		}
		return x.MulAdd(slices.Repeat(numbers, x.Shape()[0]/c.BlockSize), []float64{0})
	}
}

// A decoder of a model with edits processes only the newest tokens if all edits use the graph's rows and are at places
// that exist in a step; otherwise it processes full contexts. It returns the results of Forward.
func TestDecoderOfEdits(t *testing.T) {
	for _, a := range parts.Attentions() {
		c := tiny()
		c.VocabSize, c.Attention = 11, string(a.Name)
		c.Options.Offer("window", 3)
		if strings.Contains(c.Attention, "rope") {
			c.Position = "none"
		}
		if c.ValidateModel() != nil {
			continue // linformer is not causal
		}
		at := byPosition(c)
		decodesEdited(t, c, map[string]func(graph.Expr) graph.Expr{"h.0": at, "h.1.attn.heads": at, "h.1.mlp.act": at, "wte": at}, true)
	}
	c := tiny()
	c.VocabSize = 11
	at, twice := byPosition(c), func(x graph.Expr) graph.Expr { return x.Scale(2) }
	tables := func(x graph.Expr) graph.Expr {
		return x.Add(x.Graph().Root().Value("all", graph.Normal(1), x.Shape()...))
	}
	decodesEdited(t, c, map[string]func(graph.Expr) graph.Expr{"h.0": at, "h.0.attn": twice}, false)
	decodesEdited(t, c, map[string]func(graph.Expr) graph.Expr{"h.0": tables}, false)
}

// decodesEdited compares a decoder with full forward passes.
func decodesEdited(t *testing.T, c Config, edits map[string]func(graph.Expr) graph.Expr, steps bool) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	for place, edit := range edits {
		g.Edit(place, edit)
	}
	m, err := New(g, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, newest := programs(t, m)
	if want := steps && cachedAttention(t, c); newest != want {
		t.Errorf("%s: processes only the newest tokens: %v, want %v", c.Attention, newest, want)
	}
	n := m.network()
	build := n.Build
	n.Build = func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) decode.Layers {
		return uncached{build(s, batch, positions, caches)}
	}
	again, err := decode.New(n, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.BlockSize + 1 {
		got, err := d.Feed([]int{i})
		if err != nil {
			t.Fatal(err)
		}
		want, err := again.Feed([]int{i})
		if err != nil {
			t.Fatal(err)
		}
		for j := range got.Len() {
			if !(math.Abs(got.At(j)-want.At(j)) <= 1e-12) {
				t.Fatalf("%s, token %d: got %v, want %v", c.Attention, i, got.F64, want.F64)
			}
		}
	}
}

// cachedAttention reports whether a model without edits processes only the newest tokens.
func cachedAttention(t *testing.T, c Config) bool {
	m, err := New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, newest := programs(t, m)
	return newest
}

// uncached layers process all tokens for each new one.
type uncached struct{ decode.Layers }

func (uncached) Cached() bool { return false }
