package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestConstructorsDeclare: a layer's constructor declares all its parameters, and the mask whose numbers it adds to
// scores. Forward declares nothing more.
func TestConstructorsDeclare(t *testing.T) {
	d := Dims{Batch: 2, Context: 6, Embd: 8, Heads: 2, QK: 4, V: 5, Inner: 3, Blocks: 1}
	memory := func(at Site) *Memory {
		return NewMemory(at.Sub("memory"), at.Value("z", graph.Normal(1), 2*7, 8), 2, 6, 7, nil)
	}
	for name, c := range map[string]struct {
		layer func(at Site) Layer
		adds  bool // adds the mask to scores
	}{
		"SelfAttention":   {causal, true},
		"Unprojected":     {func(at Site) Layer { return NewUnprojected(at) }, true},
		"MLA":             {func(at Site) Layer { return NewMLA(at, 3) }, true},
		"MLARoPE":         {func(at Site) Layer { return NewMLARoPE(positioned(at, 6, 0), 3, 4, 6, 100) }, true},
		"LinearAttention": {func(at Site) Layer { return NewLinearAttention(at) }, false},
		"TaylorAttention": {func(at Site) Layer { return NewTaylorAttention(at) }, false},
		"Block":           {func(at Site) Layer { return NewBlock(at, causal) }, true},
		"PostNormBlock":   {func(at Site) Layer { return NewPostNormBlock(at, causal) }, true},
		"DecoderBlock":    {func(at Site) Layer { return NewDecoderBlock(at, causal, memory(at)) }, true},
		"Elman":           {func(at Site) Layer { return NewElman(at) }, false},
	} {
		g := graph.New(graph.Float32, 1)
		at := newSite(g, d)
		l := c.layer(at)
		params := len(g.Params())
		_, mask := g.Leaf("mask")
		if mask != c.adds {
			t.Errorf("%s: its constructor declares the mask: %t, want %t", name, mask, c.adds)
		}
		l.Forward(at.Value("x", graph.Normal(1), 12, 8))
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, mask = g.Leaf("mask"); mask != c.adds || len(g.Params()) != params {
			t.Errorf("%s: Forward declares the mask or %d parameters", name, len(g.Params())-params)
		}
	}
}

// TestMixing: the cost of combining tokens, for sizes whose products are unique.
func TestMixing(t *testing.T) {
	d := Dims{Batch: 2, Context: 11, Embd: 14, Heads: 7, QK: 2, V: 5, Inner: 3, Blocks: 1}
	memory := func(at Site) *Memory { return NewMemory(at.Sub("memory"), graph.Expr{}, 2, 11, 13, nil) }
	for name, c := range map[string]struct {
		layer func(at Site) Layer
		want  float64
	}{
		"SelfAttention":    {causal, 11 * 7 * (2 + 5)},
		"LinearAttention":  {func(at Site) Layer { return NewLinearAttention(at) }, 2 * 7 * 2 * 5},
		"TaylorAttention":  {func(at Site) Layer { return NewTaylorAttention(at) }, 2 * 7 * 2 * 5},
		"MLA":              {func(at Site) Layer { return NewMLA(at, 3) }, 11 * 7 * (2 + 5)},
		"MLARoPE":          {func(at Site) Layer { return NewMLARoPE(positioned(at, 11, 0), 3, 4, 6, 100) }, 11 * 7 * (2 + 6 + 5)},
		"MLALatentRoPE":    {func(at Site) Layer { return NewMLALatentRoPE(positioned(at, 11, 0), 3, 4, 6, 100) }, 11 * 7 * (2 + 6 + 5)},
		"CrossAttention":   {func(at Site) Layer { return NewCrossAttention(at, memory(at)) }, 13 * 7 * (2 + 5)},
		"Unprojected":      {func(at Site) Layer { return NewUnprojected(at) }, 2 * 11 * 14},
		"UnprojectedCross": {func(at Site) Layer { return NewUnprojectedCross(at, memory(at)) }, 2 * 13 * 14},
		"Linformer": {func(at Site) Layer {
			at.Mask = NewMask(at.Sub("other"), d, All{})
			return NewLinformer(at, 3)
		}, 2 * 3 * 7 * (2 + 5)},
		"Longformer": {func(at Site) Layer {
			rule := Dilated{Width: 3, Dilation: []int{1, 1, 1, 1, 1, 1, 1}}
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, rule))
		}, 2 * 11 * 7 * (2 + 5)},
	} {
		g := graph.New(graph.Float32, 1)
		l, ok := c.layer(newSite(g, d)).(Mixing)
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !ok {
			t.Errorf("%s does not report the cost of combining tokens", name)
		} else if got := l.Mixing(); got != c.want {
			t.Errorf("%s: got %g, want %g", name, got, c.want)
		}
	}
	if got := overKeys(math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt); !(got > 1e50) {
		t.Errorf("sizes that no machine has: got %g", got)
	}
}
