package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestMixing: what the meeting of tokens costs, in numbers that only one product of the sizes gives.
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
			see := Dilated{Width: 3, Dilation: []int{1, 1, 1, 1, 1, 1, 1}}
			return NewLongformer(at, NewLongformerMask(at.Scope, at.Mask, see))
		}, 2 * 11 * 7 * (2 + 5)},
	} {
		g := graph.New(graph.Float32, 1)
		l, ok := c.layer(newSite(g, d)).(Mixing)
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !ok {
			t.Errorf("%s does not say what the meeting of tokens costs", name)
		} else if got := l.Mixing(); got != c.want {
			t.Errorf("%s: got %g, want %g", name, got, c.want)
		}
	}
	if got := overKeys(math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt); !(got > 1e50) {
		t.Errorf("sizes that no machine has: got %g", got)
	}
}
