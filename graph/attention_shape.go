package graph

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AttentionShape holds the sizes of attention on packed projections. The rows of qkv are the Batch·Context tokens. Its
// columns are the queries of all Heads, QK features each, then the keys, QK features, then the values, V features, of
// all Groups. Consecutive heads, Heads/Groups at a time, share the keys and values of a group. If Groups is 0, every
// head has its own.
type AttentionShape struct{ Batch, Context, Heads, QK, V, Groups int }

// Width returns the number of columns of the packed projections, Heads·QK + Groups·(QK + V).
func (h AttentionShape) Width() int { return h.kernel().Width() }

func (h AttentionShape) check(x *G.Node, rows int) error {
	if groups := h.kernel().Groups; groups < 1 || h.Heads%groups != 0 {
		return errors.Errorf("%d groups, want a divisor of %d heads", groups, h.Heads)
	}
	if s := x.Shape(); len(s) != 2 || s[0] != rows || s[1] != h.Width() || h.QK < 1 {
		return errors.Errorf("%v is not (%d, %d), the packed projections of %+v", s, rows, h.Width(), h)
	}
	return nil
}

func (h AttentionShape) kernel() attention.Shape {
	return attention.Shape{
		Batch: h.Batch, Queries: h.Context, Keys: h.Context,
		Heads: h.Heads, QK: h.QK, V: h.V, Groups: cmp.Or(h.Groups, h.Heads),
	}
}

// CrossShape holds the sizes of attention of one sequence to another: in each of Batch pairs, Queries tokens attend to
// Keys tokens, in Heads heads with QK features per query or key and V features per value.
type CrossShape struct{ Batch, Queries, Keys, Heads, QK, V int }

func (h CrossShape) kernel() attention.Shape {
	return attention.Shape{
		Batch: h.Batch, Queries: h.Queries, Keys: h.Keys, Heads: h.Heads, QK: h.QK, V: h.V, Groups: h.Heads,
	}
}

// matrices returns the number of matrices that a mask of the given shape holds: for the sequences, and for the heads.
func matrices(h attention.Shape, shape tensor.Shape) (batch, heads int, err error) {
	n := len(shape) - 2
	batch, heads = 1, 1
	if n > 0 {
		batch = shape[0]
	}
	if n > 1 {
		heads = shape[1]
	}
	if n < 0 || n > 2 || shape[n] != h.Queries || shape[n+1] != h.Keys ||
		batch != 1 && batch != h.Batch || heads != 1 && heads != h.Heads {
		return 0, 0, errors.Errorf(
			"got a mask %v, want (%d, %d), (%d, %[2]d, %[3]d) or (1 or %[4]d, 1 or %d, %[2]d, %[3]d)",
			shape, h.Queries, h.Keys, h.Batch, h.Heads)
	}
	return batch, heads, nil
}

// CrossAttention returns the kernel of concat over heads of softmax(q·kᵀ/√QK + mask)·v with queries q (B·n, H·QK), and
// the keys and values of m other tokens in one matrix [k | v], kv (B·m, H(QK+V)): → (B·n, H·V). The mask is (n, m) for
// all pairs of sequences, (B, n, m), or (1 or B, 1 or H, n, m) if heads differ. Dropout and the memory are as in
// Attention.
func CrossAttention(q, kv, mask Expr, h CrossShape, dropout float64) (y Expr, ok bool) {
	return q.kernel("cross attention", func() (*G.Node, error) {
		if s := q.node.Shape(); len(s) != 2 || s[0] != h.Batch*h.Queries || s[1] != h.Heads*h.QK {
			return nil, errors.Errorf("%v is not (%d, %d), the queries of %+v", s, h.Batch*h.Queries, h.Heads*h.QK, h)
		}
		if s := kv.node.Shape(); len(s) != 2 || s[0] != h.Batch*h.Keys || s[1] != h.Heads*(h.QK+h.V) {
			return nil, errors.Errorf("%v is not (%d, %d), the keys and values of %+v",
				s, h.Batch*h.Keys, h.Heads*(h.QK+h.V), h)
		}
		return q.attention(h.kernel(), mask, dropout, q.node, kv.node)
	}, kv, mask)
}
