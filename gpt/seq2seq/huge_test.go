package seq2seq

import (
	"runtime"
	"testing"
	"time"
)

// A source or a target whose mask would take 4 TB is refused with the network alone, before anything of that size is
// allocated.
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
			mustSay(t, err, "memory: got about ", "GiB for parameters and masks of ", size, "want at most 64 GiB")
		}
	}
}
