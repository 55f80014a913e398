package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pkg/errors"
)

// CrossAttention lets every token of a decoder's stream x attend to all tokens of an encoder's output z. Queries come
// from x, keys and values from z, by separate projections, for every head h
//
//	q = x·w_q + b_q,  k = z·w_k + b_k,  v = z·w_v + b_v
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + mask)·v_h, times w_proj, plus b_proj
//
// The weights of a sequence are (n, m): n tokens of the target, m of the source. Xu says that K and V are the same
// thing; they have the same source and different projections (errata X12). Conti prints softmax(X·Zᵗ/√k)·Z without any
// projection (errata C14); CS 224n gives the source length m, then n (errata S9). Dropout acts on the weights and on
// the result, as in SelfAttention. The mask is the memory's. The site's Mask and Rotary are ignored, because there is
// no distance between two sequences.
type CrossAttention struct {
	Q, KV, Proj Layer
	z           graph.Expr // (B·m, d), from the memory
	heads       crossHeads
	kept        graph.Expr
}

// NewCrossAttention declares c_q (d, H·dρ), c_kv (d, H(dρ+dh)), whose columns are [k | v], and c_proj (H·dh, d).
func NewCrossAttention(at Site, m *Memory) *CrossAttention {
	m = m.orNone(at)
	qk, v := at.Heads*at.QK, at.Heads*at.V
	if rows := at.Batch * at.Context; m.Batch < 1 || m.Queries < 1 || rows%m.Batch != 0 || rows/m.Batch%m.Queries != 0 {
		at.Failf("%d tokens of the decoder are not %d queries for each of %d sources", rows, m.Queries, m.Batch)
	}
	return &CrossAttention{
		Q:     at.affine("c_q", at.Embd, []int{qk}, at.Bias, graph.Normal(0.02)),
		KV:    at.affine("c_kv", at.Embd, []int{qk, v}, at.Bias, graph.Normal(0.02)),
		Proj:  newOutProjection(at),
		z:     m.Z,
		heads: m.heads(at, at.QK, at.V),
	}
}

// Forward computes the attention of the tokens of x to the memory.
func (l *CrossAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.Proj.Forward(l.heads.attend(l.Q.Forward(x), l.Projected()))
}

// Projected returns the keys and values of the memory, which do not depend on x: a decoder computes them once per
// sentence.
func (l *CrossAttention) Projected() (result graph.Expr) { // (B·m, H(dρ+dh))
	defer recoverUnbuilt(l, graph.Expr{}, &result)
	return l.KV.Forward(l.z)
}

// Step is like Forward, but uses the keys and values that Kept holds.
func (l *CrossAttention) Step(x, _ graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.Proj.Forward(l.heads.attend(l.Q.Forward(x), l.Kept()))
}

// Kept returns a value (B·m, H(dρ+dh)) that a decoder fills with the result of Projected.
func (l *CrossAttention) Kept() graph.Expr {
	if l == nil {
		return graph.Expr{}
	}
	if h := l.heads.sizes; l.kept.Graph() == nil {
		l.kept = l.heads.scope.Value("kv", graph.Const(0), h.Batch*h.Keys, h.Heads*(h.QK+h.V))
	}
	return l.kept
}

// Mixing returns m·H(dρ+dh).
func (l *CrossAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.heads.mixing()
}

// crossHeads is softmax attention of n queries to m keys for each of B sequences.
type crossHeads struct {
	sizes fused.CrossShape
	mask  graph.Expr // (B, n, m), or (n, m) for all sequences
	drop  Dropout    // of the weights
	scope graph.Scope
}

// attend computes the heads' results, from packed projections to packed results.
func (l *crossHeads) attend(q, kv graph.Expr) graph.Expr { // (B·n, H·dρ), (B·m, H(dρ+dh)) → (B·n, H·dh)
	q, kv = q.In(l.scope), kv.In(l.scope)
	if y, ok := fused.CrossAttention(q, kv, l.mask, l.sizes, l.drop.P); ok {
		return l.scope.Place("heads", y)
	}
	h, at, mask := l.sizes, l.scope, l.mask.In(l.scope)
	if len(mask.Shape()) == 3 {
		mask = mask.Reshape(h.Batch, 1, h.Queries, h.Keys)
	}
	qh := at.Place("q", l.split(q, h.Queries, 0, h.QK))                           // q            (B, H, n, dρ)
	k := at.Place("k", l.split(kv, h.Keys, 0, h.QK))                              // k            (B, H, m, dρ)
	v := at.Place("v", l.split(kv, h.Keys, h.Heads*h.QK, h.V))                    // v            (B, H, m, dh)
	scaled := at.Place("scores", qh.MatMulT(k).Scale(1/math.Sqrt(float64(h.QK)))) // q·kᵀ/√dρ     (B, H, n, m)
	p := at.Place("weights", scaled.Add(mask).Softmax())                          // P = softmax  (B, H, n, m)
	out := l.drop.Forward(p).In(at).MatMul(v)                                     // P·v          (B, H, n, dh)
	return at.Place("heads", concat(out, h.Batch*h.Queries, h.Heads*h.V))         // concat       (B·n, H·dh)
}

// split splits one block of columns into heads.
func (l *crossHeads) split(x graph.Expr, tokens, from, size int) graph.Expr {
	h := l.sizes
	return x.Columns(from, from+h.Heads*size).Reshape(h.Batch, tokens, h.Heads, size).Transpose(0, 2, 1, 3)
}

func (l *crossHeads) mixing() float64 {
	return overKeys(float64(l.sizes.Keys), l.sizes.Heads, l.sizes.QK, l.sizes.V)
}

// heads returns the attention to m, with queries and keys of qk features, and values of v.
func (m *Memory) heads(at Site, qk, v int) crossHeads {
	sizes := fused.CrossShape{Batch: m.Batch, Queries: m.Queries, Keys: m.Keys, Heads: at.Heads, QK: qk, V: v}
	return crossHeads{sizes, m.Expr(), *NewDropout(at.At("attn_dropout")), at.Scope}
}

// Memory is the input of cross-attention: the encoder's output, m tokens for each of B sequences, the first Lengths[b]
// of which are not padding. The keys after them are hidden from every query: mask −∞, so that their weight is exactly
// 0. All layers of a decoder share one Memory.
type Memory struct {
	table                           // (B, n, m); Update writes it again after Lengths have changed
	Z                    graph.Expr // (B·m, d); empty if only Step is used
	Batch, Queries, Keys int        // B, n queries of the decoder for each sequence, m
	Lengths              []int      // optional; without them there is no padding
	lengths              []int      // in the last Update
}

// NewMemory declares the value s.mask. Lengths may change from run to run: call Update after changing them.
func NewMemory(s graph.Scope, z graph.Expr, batch, queries, keys int, lengths []int) *Memory {
	m := &Memory{Z: z, Batch: batch, Queries: queries, Keys: keys, Lengths: lengths}
	m.table = table{
		scope: s, name: "mask", shape: []int{batch, queries, keys}, prepare: m.prepare, row: m.row, span: m.span,
	}
	m.fail(m.check())
	m.Expr()
	return m
}

// orNone returns m, or an empty Memory and an error at the site if m is nil.
func (m *Memory) orNone(at Site) *Memory {
	if m == nil {
		at.Failf("no memory: cross-attention needs one to attend to")
		return &Memory{}
	}
	return m
}

// prepare takes over the present lengths.
func (m *Memory) prepare() error {
	if err := m.check(); err != nil {
		return err
	}
	m.lengths = slices.Clone(m.Lengths)
	return nil
}

// row writes row i from column from on.
func (m *Memory) row(i, from int, into graph.Tensor) {
	_, end, _ := m.span(i)
	shown := max(0, min(end-from, into.Len()))
	fillEntries(into, 0, shown, 0)
	hide(into, shown, into.Len())
}

// span returns the tokens of the source of row i.
func (m *Memory) span(i int) (from, to int, ok bool) {
	if m.lengths == nil {
		return 0, m.Keys, true
	}
	return 0, m.lengths[i/m.Queries], true
}

func (m *Memory) check() error {
	if m.Batch < 1 || m.Queries < 1 || m.Keys < 1 {
		return errors.Errorf("a batch of %d, %d queries and %d keys: at least 1 of each is needed",
			m.Batch, m.Queries, m.Keys)
	}
	if m.Lengths != nil && len(m.Lengths) != m.Batch {
		return errors.Errorf("%d lengths for a batch of %d", len(m.Lengths), m.Batch)
	}
	for b, n := range m.Lengths {
		if n < 1 || n > m.Keys {
			return errors.Errorf("source %d has length %d, not in 1 … %d", b, n, m.Keys)
		}
	}
	return nil
}

// Expr returns the numbers as a value of the graph, which the first call declares. For nil it returns the empty Expr.
func (m *Memory) Expr() graph.Expr {
	if m == nil {
		return graph.Expr{}
	}
	return m.table.Expr()
}

// Update writes the numbers again after lengths have changed. An error leaves them unchanged.
func (m *Memory) Update() error {
	if m == nil {
		return errUnbuilt
	}
	return m.table.Update()
}
