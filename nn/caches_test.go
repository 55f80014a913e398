package nn

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// remembered is a user-defined cache: the tokens of two sequences.
type remembered [2][]int

func (c *remembered) Reset()                  { *c = remembered{} }
func (c *remembered) Fork(from, to int) error { c[to] = append([]int{}, c[from]...); return nil }
func (c *remembered) Numbers() float64        { return 9 }
func (c *remembered) Bytes() int              { return 8 * (len(c[0]) + len(c[1])) }

// TestCachesActOnEveryLayer: the methods act on every layer, and an error names the layer.
func TestCachesActOnEveryLayer(t *testing.T) {
	a, b := &remembered{{1, 2}, {3}}, &remembered{{4}, {5}}
	c := Caches{"h.0.attn": a, "h.1.attn": b}
	if got := c.Bytes(); got != 8*5 || c.Numbers() != 18 {
		t.Errorf("got %d bytes and %v numbers, want %d and 18", got, c.Numbers(), 8*5)
	}
	if err := c.Fork(0, 1); err != nil || len(a[1]) != 2 || b[1][0] != 4 {
		t.Errorf("after a fork %v and %v (%v)", a, b, err)
	}
	if c.Reset(); c.Bytes() != 0 {
		t.Errorf("%d bytes after a reset", c.Bytes())
	}
	kv := cacheAt(c, "h.2.attn", func() *graph.KVCache { return graph.NewKVCache(graph.AttentionShape{Batch: 2, Context: 3}) })
	if again := cacheAt(c, "h.2.attn", func() *graph.KVCache { return nil }); again != kv {
		t.Error("a layer's cache is created twice")
	}
	delete(c, "h.0.attn")
	delete(c, "h.1.attn")
	if err := c.Fork(0, 2); err == nil || !strings.Contains(err.Error(), "h.2.attn: fork: sequence 0 to 2, the cache has 2") {
		t.Errorf("got error %v", err)
	}
	if none := cacheAt(nil, "h.0.attn", func() *graph.KVCache { return kv }); none != nil {
		t.Error("got a cache, want none if nothing is stored")
	}
}
