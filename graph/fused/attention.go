package fused

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// AttentionShape holds the sizes of attention on packed projections. The rows of qkv are the Batch·Context tokens. Its
// columns are the queries of all Heads, QK features each, then the keys, QK features, then the values, V features, of
// all Groups. Consecutive heads, Heads/Groups at a time, share the keys and values of a group. If Groups is 0, every
// head has its own. If Cap is not 0, a score s becomes Cap·tanh(s/Cap) before the mask is added (Gemma 2).
type AttentionShape struct {
	Batch, Context, Heads, QK, V, Groups int
	Cap                                  float64
}

// Width returns the number of columns of the packed projections, Heads·QK + Groups·(QK + V).
func (h AttentionShape) Width() int { return h.kernel().Width() }

// Rows returns the number of queries in a tile of the kernel: it multiplies them with all keys that any of them sees.
func (h AttentionShape) Rows() int { return h.kernel().Rows() }

func (h AttentionShape) check(x *ops.Node, rows int) error {
	if groups := h.kernel().Groups; groups < 1 || h.Heads%groups != 0 {
		return errors.Errorf("%d groups, want a divisor of %d heads", groups, h.Heads)
	}
	if s := x.Shape(); len(s) != 2 || s[0] != rows || s[1] != h.Width() || h.QK < 1 {
		return errors.Errorf("%v is not (%d, %d), the packed projections of %+v", s, rows, h.Width(), h)
	}
	return checkCap(h.Cap)
}

// checkCap returns an error for a cap that float32 cannot divide by.
func checkCap(limit float64) error {
	const least, most = 1. / (1 << 30), 1 << 30
	if limit != 0 && !(limit >= least && limit <= most) {
		return errors.Errorf("a cap of %v, want 0 or %.2g to %.2g", limit, least, float64(most))
	}
	return nil
}

func (h AttentionShape) kernel() attention.Shape {
	return attention.Shape{
		Batch: h.Batch, Queries: h.Context, Keys: h.Context,
		Heads: h.Heads, QK: h.QK, V: h.V, Groups: cmp.Or(h.Groups, h.Heads), Cap: h.Cap,
	}
}

// Attention returns the kernel of concat over heads of softmax(q·kᵀ/√QK + mask)·v, with the k and v of the head's
// group and with capped scores: (B·T, H·QK+G(QK+V)) → (B·T, H·V). The mask is added to the scores. It is (T, T) for all
// sequences, (B, T, T), or (1 or B, 1 or H, T, T) if heads differ. Dropout acts on the weights, at attn_dropout in
// qkv's scope. The weights are never stored: a query keeps two numbers for the backward pass, so the memory is linear
// in T. A query that sees no key has the result 0, where the equation has NaN. A key that is not finite may make
// queries NaN that do not see it.
func Attention(qkv, mask graph.Expr, h AttentionShape, dropout float64) (y graph.Expr, ok bool) {
	return SinkAttention(qkv, mask, graph.Expr{}, h, dropout)
}

// SinkAttention is Attention with a sink in every head: sinks (H) holds a logit b of each, and the weight of key j is
// e^sⱼ/(e^b + Σ e^s), s the scores after the mask. Empty sinks are Attention.
func SinkAttention(qkv, mask, sinks graph.Expr, h AttentionShape, dropout float64) (y graph.Expr, ok bool) {
	return qkv.Kernel("attention", func(g *ops.Builder) (*ops.Node, error) {
		if err := cmp.Or(h.check(qkv.Operand(), h.Batch*h.Context), checkSinks(sinks, h.Heads)); err != nil {
			return nil, err
		}
		return attend(g, qkv, h.kernel(), mask, ops.Extra{Sinks: sinks.Operand()}, dropout, qkv.Operand())
	}, append(present(sinks), mask.ByRule())...)
}

// SigmoidAttention is Attention with the weights σ(score + mask − ln n) in place of a softmax, where n is the number of
// keys that the mask shows to the query. In float32 a weight below 2⁻⁸⁰ is 0.
func SigmoidAttention(qkv, mask graph.Expr, h AttentionShape, dropout float64) (y graph.Expr, ok bool) {
	return qkv.Kernel("sigmoid attention", func(g *ops.Builder) (*ops.Node, error) {
		if err := h.check(qkv.Operand(), h.Batch*h.Context); err != nil {
			return nil, err
		}
		sizes := h.kernel()
		sizes.Weights = attention.Sigmoids
		return attend(g, qkv, sizes, mask, ops.Extra{}, dropout, qkv.Operand())
	}, mask.ByRule())
}

// ForgettingAttention is Attention that adds Σ_{j<l≤i} ln f_l to the score of query i and key j, given the logarithms
// of the gates f of every head, logF (B·T, H). The mask must hide later keys. In float32 the sums up to a token are
// rounded once.
func ForgettingAttention(qkv, logF, mask graph.Expr, h AttentionShape, dropout float64) (y graph.Expr, ok bool) {
	return qkv.Kernel("forgetting attention", func(g *ops.Builder) (*ops.Node, error) {
		rows := h.Batch * h.Context
		if err := cmp.Or(h.check(qkv.Operand(), rows), checkGates(logF, rows, h.Heads)); err != nil {
			return nil, err
		}
		return attend(g, qkv, h.kernel(), mask, ops.Extra{Gates: logF.Operand()}, dropout, qkv.Operand())
	}, logF, mask.ByRule())
}

// checkGates returns an error unless x has a number for each row in each head.
func checkGates(x graph.Expr, rows, heads int) error {
	if s := x.Operand().Shape(); len(s) != 2 || s[0] != rows || s[1] != heads {
		return errors.Errorf("got gates %v, want (%d, %d), one of each head", s, rows, heads)
	}
	return nil
}

// checkSinks returns an error unless x is empty or has an entry for each head.
func checkSinks(x graph.Expr, heads int) error {
	if x.Operand() == nil || x.Entries() == float64(heads) {
		return nil
	}
	return errors.Errorf("%v sinks, want %d, one of each head", x.Entries(), heads)
}

// CrossShape holds the sizes of attention of one sequence to another: in each of Batch pairs, Queries tokens attend to
// Keys tokens, in Heads heads with QK features per query or key and V features per value. Cap is as in
// AttentionShape.
type CrossShape struct {
	Batch, Queries, Keys, Heads, QK, V int
	Cap                                float64
}

func (h CrossShape) kernel() attention.Shape {
	return attention.Shape{
		Batch: h.Batch, Queries: h.Queries, Keys: h.Keys, Heads: h.Heads, QK: h.QK, V: h.V, Groups: h.Heads,
		Cap: h.Cap,
	}
}

// CrossAttention returns the kernel of concat over heads of softmax(q·kᵀ/√QK + mask)·v with queries q (B·n, H·QK), and
// the keys and values of m other tokens in one matrix [k | v], kv (B·m, H(QK+V)): → (B·n, H·V). The mask is (n, m) for
// all pairs of sequences, (B, n, m), or (1 or B, 1 or H, n, m) if heads differ. Dropout and the memory are as in
// Attention.
func CrossAttention(q, kv, mask graph.Expr, h CrossShape, dropout float64) (y graph.Expr, ok bool) {
	return q.Kernel("cross attention", func(g *ops.Builder) (*ops.Node, error) {
		if s := q.Operand().Shape(); len(s) != 2 || s[0] != h.Batch*h.Queries || s[1] != h.Heads*h.QK {
			return nil, errors.Errorf("%v is not (%d, %d), the queries of %+v", s, h.Batch*h.Queries, h.Heads*h.QK, h)
		}
		if s := kv.Operand().Shape(); len(s) != 2 || s[0] != h.Batch*h.Keys || s[1] != h.Heads*(h.QK+h.V) {
			return nil, errors.Errorf("%v is not (%d, %d), the keys and values of %+v",
				s, h.Batch*h.Keys, h.Heads*(h.QK+h.V), h)
		}
		if err := checkCap(h.Cap); err != nil {
			return nil, err
		}
		return attend(g, q, h.kernel(), mask, ops.Extra{}, dropout, q.Operand(), kv.Operand())
	}, kv, mask.ByRule())
}

// attend returns the node of attention in x's scope for one source, the packed projections, or two: the queries, and
// the keys and values.
func attend(
	g *ops.Builder, x graph.Expr, h attention.Shape, mask graph.Expr, extra ops.Extra, dropout float64,
	sources ...*ops.Node,
) (*ops.Node, error) {
	drop, err := x.Drop("attn_dropout", dropout)
	if err != nil {
		return nil, err
	}
	batch, heads, err := matrices(h, mask.Operand().Shape())
	if err != nil {
		return nil, err
	}
	return g.Attention(h, drop, [2]int{batch, heads}, mask.Operand(), extra, sources...)
}

// matrices returns the number of matrices that a mask of the given shape holds: for the sequences, and for the heads.
func matrices(h attention.Shape, shape ops.Shape) (batch, heads int, err error) {
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

// FeatureMap is a feature map φ of queries and keys: in linear attention the weight of a key for a query is φ(q)·φ(k).
type FeatureMap struct{ phi ops.FeatureMap }

// EluPlusOne returns φ(x) = elu(x) + 1, entry by entry: x + 1 for x > 0, else eˣ.
func EluPlusOne() FeatureMap { return FeatureMap{ops.EluPlusOne()} }

// Taylor returns φ(x) = [1, x/√(‖x‖² + eps)], so that the weights are 1 + q̂·k̂. If eps is below 0, it returns an empty
// map, which layers refuse.
func Taylor(eps float64) FeatureMap {
	if !(eps >= 0 && eps <= math.MaxFloat64) {
		return FeatureMap{}
	}
	return FeatureMap{ops.Taylor(eps)}
}

// LinearShape describes linear attention on packed projections. If Causal is set, a query attends only to the keys up
// to its own position. Map is the φ of the weights. Every head has its own keys and values.
type LinearShape struct {
	AttentionShape
	Causal bool
	Map    FeatureMap
}

func (h LinearShape) linear() ops.Linear {
	return ops.Linear{Shape: h.kernel(), Causal: h.Causal, Map: h.Map.phi}
}

func (h LinearShape) checkGroups() error {
	if h.Cap != 0 {
		return errors.Errorf("a cap of %v, want 0: linear attention has no scores", h.Cap)
	}
	if groups := h.kernel().Groups; groups != h.Heads {
		return errors.Errorf("%d groups, want %d: in linear attention no head shares its keys and values",
			groups, h.Heads)
	}
	return nil
}

// LinearAttention returns the kernel of concat over heads of Σ_j φ(q_i)·φ(k_j)·v_j / Σ_j φ(q_i)·φ(k_j): (B·T,
// H(2·QK+V)) → (B·T, H·V). The mask is (T, T) for all sequences, or (B, T, T). A key that it hides from the last query
// counts for no query; an empty mask hides none. The sums over the keys so far are carried from one chunk of tokens to
// the next, so time and memory are linear in T.
func LinearAttention(qkv, mask graph.Expr, h LinearShape) (y graph.Expr, ok bool) {
	masks := present(mask.ByRule())
	return qkv.Kernel("linear attention", func(g *ops.Builder) (*ops.Node, error) {
		if err := h.checkGroups(); err != nil {
			return nil, err
		}
		if err := h.check(qkv.Operand(), h.Batch*h.Context); err != nil {
			return nil, err
		}
		if mask.Operand() != nil {
			if n, one := mask.Operand().Shape().TotalSize(), h.Context*h.Context; n != one && n != h.Batch*one {
				return nil, errors.Errorf("got a mask of %d entries, want %d or %d", n, one, h.Batch*one)
			}
		}
		return g.LinearAttention(h.linear(), append([]*ops.Node{qkv.Operand()}, operands(masks...)...))
	}, masks...)
}
