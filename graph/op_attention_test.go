package graph

import (
	"math/rand/v2"
	"testing"
)

// TestAttentionMemoryIsLinearInTheContext compiles training programs for one number of tokens in sequences of two
// lengths.
func TestAttentionMemoryIsLinearInTheContext(t *testing.T) {
	bytes := func(context int) int {
		h := AttentionShape{Batch: 4096 / context, Context: context, Heads: 2, QK: 8, V: 16}
		g := New(Float32, 1)
		zero := func(int, *rand.Rand) float64 { return 0 }
		qkv := g.Root().Value("qkv", zero, h.Batch*h.Context, h.Width())
		mask := g.Root().Value("mask", zero, h.Context, h.Context)
		y, ok := Attention(qkv, mask, h, 0.1)
		if !ok {
			t.Fatal("no kernel")
		}
		if _, err := Compile(y.SumAll(), qkv); err != nil {
			t.Fatal(err)
		}
		return g.Bytes()
	}
	short, long := bytes(256), bytes(2048)
	if !(float64(long) <= 1.1*float64(short)) {
		t.Errorf("%d bytes for a context of 256, %d for 2048", short, long)
	}
	t.Logf("%d bytes for a context of 256, %d for 2048", short, long)
}
