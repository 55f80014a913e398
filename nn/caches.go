package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Caches are what the layers of a decoder remember, by the name of the layer: graphs for one new token and for several
// share them.
type Caches map[string]graph.Cache

// Reset forgets all tokens.
func (c Caches) Reset() {
	for _, cache := range c {
		cache.Reset()
	}
}

// Fork makes sequence to a copy of sequence from in every layer.
func (c Caches) Fork(from, to int) error {
	for name, cache := range c {
		if err := cache.Fork(from, to); err != nil {
			return errors.Wrap(err, name)
		}
	}
	return nil
}

// Numbers is how many are remembered of a full context.
func (c Caches) Numbers() (sum float64) {
	for _, cache := range c {
		sum += cache.Numbers()
	}
	return sum
}

// Bytes returns the memory of what is remembered.
func (c Caches) Bytes() (sum int) {
	for _, cache := range c {
		sum += cache.Bytes()
	}
	return sum
}

// cacheAt is what the layer at path remembers, made when it is first asked for; nil where nothing is to be remembered.
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
