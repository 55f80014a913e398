package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Caches holds what the layers of a decoder store of earlier tokens, by the name of the layer. Graphs for one new token
// and for several share it.
type Caches map[string]graph.Cache

// Reset removes all tokens.
func (c Caches) Reset() {
	for _, cache := range c {
		cache.Reset()
	}
}

// Fork copies sequence from to sequence to in every layer.
func (c Caches) Fork(from, to int) error {
	for name, cache := range c {
		if err := cache.Fork(from, to); err != nil {
			return errors.Wrap(err, name)
		}
	}
	return nil
}

// Numbers returns the number of values stored for a full context.
func (c Caches) Numbers() (sum float64) {
	for _, cache := range c {
		sum += cache.Numbers()
	}
	return sum
}

// Bytes returns the memory of the stored values.
func (c Caches) Bytes() (sum int) {
	for _, cache := range c {
		sum += cache.Bytes()
	}
	return sum
}

// cacheAt returns the cache of the layer at path, and makes it on the first call. It returns nil if c is nil.
func cacheAt[C graph.Cache](c Caches, path string, make func() C) (kept C) {
	if c == nil {
		return kept
	}
	kept, ok := c[path].(C)
	if !ok {
		kept = make()
		c[path] = kept
	}
	return kept
}
