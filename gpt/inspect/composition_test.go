package inspect_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// composing returns a model of two blocks.
func composing(t *testing.T, attention string) *gpt.Model {
	t.Helper()
	c := gpt.Shakespeare()
	c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.Attention = 11, 2, 2, 16, 6, attention
	if attention == "gqa" {
		c.Options.Set("n_kv_head", 1)
	}
	m, err := gpt.New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A head that writes only what the keys of a later head read composes with its keys alone, and random heads compose
// weakly.
func TestCompositions(t *testing.T) {
	m := composing(t, "causal")
	const d, dh = 16, 8
	for _, p := range m.Params() {
		w := p.Tensor()
		set := func(i, j, cols int, v float64) {
			if err := w.Set(i*cols+j, v); err != nil {
				t.Fatal(err)
			}
		}
		switch p.Name() {
		case "h.0.attn.c_proj.weight": // head 0 writes features 0 to 7
			for i := range dh {
				for j := range d {
					set(i, j, d, map[bool]float64{true: 1}[i == j])
				}
			}
		case "h.1.attn.c_attn.weight": // head 1 has keys of features 0 to 7, and queries and values of 8 to 15
			for i := range d {
				for j := range dh {
					set(i, dh+j, 3*d, map[bool]float64{true: 1}[i == j+8])
					set(i, d+dh+j, 3*d, map[bool]float64{true: 1}[i == j])
					set(i, 2*d+dh+j, 3*d, map[bool]float64{true: 1}[i == j+8])
				}
			}
		}
	}
	list, err := inspect.Compositions(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 {
		t.Fatalf("got %d pairs, want 4", len(list))
	}
	for _, c := range list {
		if c.FromBlock != 0 || c.ToBlock != 1 {
			t.Errorf("got %+v, want a pair of blocks 0 and 1", c)
		}
		if c.FromHead == 0 && c.ToHead == 1 {
			want := 1 / math.Sqrt(8) // of 8 equal directions: ‖W·W'‖/(‖W‖·‖W'‖) for a projection
			if math.Abs(c.Key-want) > 0.1 || c.Query > 1e-12 || c.Value > 1e-12 {
				t.Errorf("got %+v, want a key of about %.2f, and 0 otherwise", c, want)
			}
		} else if c.Key > 0.5 {
			t.Errorf("random heads: got %+v", c)
		}
	}
}

// Attention without a projection for every head is refused by name.
func TestCompositionsRefused(t *testing.T) {
	_, err := inspect.Compositions(composing(t, "gqa"))
	if err == nil || !strings.Contains(err.Error(), "gqa") {
		t.Errorf("got %v, want an error that names gqa", err)
	}
	if _, err := inspect.Compositions(nil); err == nil {
		t.Error("got no error without a model")
	}
}
