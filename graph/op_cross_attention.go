package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// CrossAttention is the kernel of concat over heads of softmax(q·kᵀ/√QK + mask)·v with queries q (B·n, H·QK), and keys and
// values of m other tokens in one matrix [k | v], kv (B·m, H(QK+V)): → (B·n, H·V). The mask is (n, m) for all pairs of
// sequences, (B, n, m), or (1 or B, 1 or H, n, m) where heads differ; dropout is that of Attention, and so is the memory.
func CrossAttention(q, kv, mask Expr, h CrossShape, dropout float64) (y Expr, ok bool) {
	return q.kernel("cross attention", func() (*G.Node, error) {
		if s := q.node.Shape(); len(s) != 2 || s[0] != h.Batch*h.Queries || s[1] != h.Heads*h.QK {
			return nil, errors.Errorf("%v is not (%d, %d), the queries of %+v", s, h.Batch*h.Queries, h.Heads*h.QK, h)
		}
		if s := kv.node.Shape(); len(s) != 2 || s[0] != h.Batch*h.Keys || s[1] != h.Heads*(h.QK+h.V) {
			return nil, errors.Errorf("%v is not (%d, %d), the keys and values of %+v", s, h.Batch*h.Keys, h.Heads*(h.QK+h.V), h)
		}
		return q.attention(h, mask, dropout, q.node, kv.node)
	}, kv, mask)
}
