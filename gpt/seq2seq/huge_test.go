package seq2seq

import (
	"runtime"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A source or a target whose mask would take 4 TB is refused with the network alone where the mask is stored, before
// anything of that size is allocated. Kernels compute the rows of masks, except those of a window over padded sources.
// A Linformer's matrices are as large as a mask.
func TestHugeMasksAreRefused(t *testing.T) {
	for _, attention := range attentions(nil) {
		for size, change := range map[string]func(*Config){
			"source_size 1048576": func(c *Config) { c.SourceSize = 1 << 20 },
			"target_size 1048576": func(c *Config) { c.TargetSize = 1 << 20 },
		} {
			c := small()
			c.Attention, c.MemoryLimit = attention.String(), 64
			c.Options.Offer("window", 3)
			change(&c)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			err := c.ValidateModel()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 || took > time.Second {
				t.Errorf("%s, %s: %d bytes allocated in %v", attention, size, bytes, took)
			}
			if size[:6] == "target" || attention.String() != "window" && attention.String() != "linformer" {
				if err != nil {
					t.Errorf("%s, %s: %v", attention, size, err)
				}
				c.Kernels = false
				err = c.ValidateModel()
			}
			mustSay(t, err, "memory: got about ", "GiB for parameters and masks of ", size, "want at most 64 GiB")
		}
	}
}

// A batch that does not fit into memory is an error before anything of its size is allocated.
func TestHugeBatchOfMasked(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	g.SetMemoryLimit(1 << 30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := NewMasked(g, small(), field.MaxSize)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; err == nil || bytes > 16<<20 {
		t.Errorf("got error %v after %d bytes, want one after 16 MB at most", err, bytes)
	}
}
