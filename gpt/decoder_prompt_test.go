package gpt

import (
	"fmt"
	"testing"
)

// A prompt shorter than half a context is fed a few tokens at a time, a longer one by halves, and the rest one by one.
// The results are the same as for single tokens, also if the context has been full.
func TestPromptsAFewAtATime(t *testing.T) {
	c := odd()
	c.BlockSize = 2*few + 12
	for name, change := range map[string]func(*Config){"causal": func(*Config) {}, "linear": func(c *Config) { c.Attention = "linear" }} {
		c := c
		change(&c)
		m := model64(t, c, true, 1)
		d, slow := newDecoderOf(t, m), newDecoderOf(t, m)
		if in := d.decoding; in.one.n != 1 || in.some.n != few || in.half.n != few+6 {
			t.Fatalf("%s: %d, %d and %d tokens at once, want 1, %d and %d", name, in.one.n, in.some.n, in.half.n, few, few+6)
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
	if in := newDecoderOf(t, model64(t, c, true, 1)).decoding; in.some != in.half {
		t.Errorf("of half a context of %d tokens a few are %d, want no program of their own", in.half.n, in.some.n)
	}
}
