package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Fork makes sequence to a copy of sequence from, as far as its first tokens: what a beam search does when two hypotheses
// continue the same one. It is an error, and nothing is copied, if there is no such sequence or there are fewer tokens.
func (c *KVCache) Fork(from, to, tokens int) error {
	h := c.heads
	if from < 0 || from >= h.Batch || to < 0 || to >= h.Batch || tokens < 0 || tokens > h.Context {
		return errors.Errorf("fork: %d tokens of sequence %d to %d, the cache has %d of %d sequences", tokens, from, to, h.Context, h.Batch)
	}
	forkCache(c.f32, c.heads, from, to, tokens)
	forkCache(c.f64, c.heads, from, to, tokens)
	return nil
}

func forkCache[T kernel.Float](c *kernel.Cache[T], h Heads, from, to, tokens int) {
	if c == nil {
		return
	}
	for j := range h.Heads {
		a, b := (from*h.Heads+j)*h.Context, (to*h.Heads+j)*h.Context
		copy(c.K[b*h.QK:][:tokens*h.QK], c.K[a*h.QK:])
		copy(c.V[b*h.V:][:tokens*h.V], c.V[a*h.V:])
	}
}
