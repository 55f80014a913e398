package graph

import (
	"math"
	"strings"
	"testing"
)

// TestForkRefuses sequences and tokens that a cache has no room for, and copies nothing then.
func TestForkRefuses(t *testing.T) {
	h := Heads{Batch: 2, Context: 3, Heads: 1, QK: 1, V: 1}
	c := NewKVCache(h)
	k := lazily(&c.f64, h).K
	k[0], k[3] = 1, math.Pi
	for _, bad := range [][3]int{{-1, 0, 1}, {2, 0, 1}, {0, -1, 1}, {0, 2, 1}, {0, 1, -1}, {0, 1, 4}} {
		if err := c.Fork(bad[0], bad[1], bad[2]); err == nil || !strings.Contains(err.Error(), "the cache has 3 of 2 sequences") {
			t.Errorf("%v: got error %v", bad, err)
		}
	}
	if k[0] != 1 || k[3] != math.Pi {
		t.Errorf("keys are %v and %v after errors", k[0], k[3])
	}
	if err := c.Fork(0, 1, 3); err != nil || k[3] != 1 {
		t.Errorf("key %v, want 1 (%v)", k[3], err)
	}
}
