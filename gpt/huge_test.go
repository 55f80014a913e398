package gpt

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// A context whose mask would need 4 TB is refused with the network alone, before anything of that size is allocated.
// Attention without weights for pairs of tokens has a mask only in the reference form, and a recurrence has none.
func TestHugeMasksAreRefused(t *testing.T) {
	base := tiny()
	base.VocabSize, base.QKSize = 65, 4
	for _, c := range everyPart(base) {
		for _, kernels := range []bool{true, false} {
			c.Kernels, c.BlockSize, c.MemoryLimit = kernels, 1<<20, 64
			sums := kernels && (c.Attention == "linear" || c.Attention == "taylor")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			err := c.ValidateModel()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 || took > time.Second {
				t.Errorf("%s %s %s, kernels %t: %d bytes allocated in %v", c.Attention, c.Position, c.Block, kernels, bytes, took)
			}
			if sums || c.Block == "elman" {
				if err != nil {
					t.Errorf("%s %s, kernels %t: %v", c.Attention, c.Block, kernels, err)
				}
				continue
			}
			for _, want := range []string{"memory: got about ", "GiB for parameters and masks of ", "block_size 1048576", "want at most 64 GiB"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s %s %s, kernels %t: got %v, want %q", c.Attention, c.Position, c.Block, kernels, err, want)
				}
			}
		}
	}
}

// New uses the Graph's Kernels, not the Config's.
func TestHugeMaskOfTheGraph(t *testing.T) {
	c := tiny()
	c.VocabSize, c.Attention, c.BlockSize = 65, "linear", 1<<14
	for _, kernels := range []bool{true, false} {
		g := limited(1 << 29)
		g.Kernels, c.Kernels = kernels, !kernels
		if _, err := New(g, c, 1); (err == nil) != kernels {
			t.Errorf("kernels %t of the graph: got error %v", kernels, err)
		} else if err != nil {
			mustContain(t, err, "got about 1.0", "GiB for parameters and masks", "block_size 16384", "want at most 0.5 GiB")
		}
	}
}
