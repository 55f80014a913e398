package gpt

import (
	"fmt"
	"slices"
	"testing"
)

// A prompt shorter than half a context is fed a few tokens at a time, a longer one by halves, and the rest one by one.
// The results are the same as for single tokens, also if the context has been full.
func TestPromptsAFewAtATime(t *testing.T) {
	const few = 32 // of package decode
	c := odd()
	c.BlockSize = 2*few + 12
	for name, change := range map[string]func(*Config){"causal": func(*Config) {}, "linear": func(c *Config) { c.Attention = "linear" }} {
		c := c
		change(&c)
		m := model64(t, c, true, 1)
		d, slow := newDecoderOf(t, m), newDecoderOf(t, m)
		if sizes, _ := programs(t, m); !slices.Equal(sizes, []int{1, few + 6, few}) {
			t.Fatalf("%s: %v tokens at once, want 1, %d and %d", name, sizes, few+6, few)
		}
		for _, n := range []int{few, few + 1, few + 6, few + 7, 2*few + 1, 2*few + 11, few + 3} {
			ids := make([]int, n)
			for i := range ids {
				ids[i] = (i*i + n) % c.VocabSize
			}
			var want []float64
			for _, id := range ids {
				want = feed(t, slow, id)
			}
			sameLogits(t, fmt.Sprintf("%s, %d more tokens", name, n), feed(t, d, ids...), want)
		}
	}
	c.BlockSize = 2*few + 1
	if sizes, _ := programs(t, model64(t, c, true, 1)); !slices.Equal(sizes, []int{1, few}) {
		t.Errorf("a context of %d: %v tokens at once, want 1 and half of it", c.BlockSize, sizes)
	}
}
