package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Link is a part inside self-attention, before its heads or after them:
//
//	x → [q | k | v] → links → heads → links → projection
//
// A Link before the heads returns new queries, keys and values in place of QKV, one after them new results in place of
// Y, of the same shape. A Link that combines tokens also has the method
//
//	Step(in Inside, at graph.Expr) graph.Expr
//
// which takes only the newest tokens of every sequence, the first of them at position at.
type Link interface {
	Forward(in Inside) graph.Expr
}

// cachedLink is a Link that combines tokens.
type cachedLink interface {
	Link
	Step(in Inside, at graph.Expr) graph.Expr
}

// Inside holds the values inside an attention. Its n rows are all tokens, or the newest ones in a Step.
type Inside struct {
	fused.AttentionShape            // H, G, dρ and dh
	X                    graph.Expr // the input (n, d)
	QKV                  graph.Expr // [q | k | v], (n, H·dρ+G(dρ+dh))
	Y                    graph.Expr // the heads' results (n, H·dh); empty before the heads
}

// Value returns the values v of the groups of heads, the last columns of QKV.
func (in Inside) Value() graph.Expr { // (n, G·dh)
	from := (in.Heads + in.Groups) * in.QK
	return in.QKV.Columns(from, from+in.Groups*in.V)
}

// Links are the links of every self-attention of a model, in their order.
type Links struct {
	Before []NamedLink // on queries, keys and values, before the heads
	After  []NamedLink // on the results of the heads
}

// NamedLink builds a Link of an attention, whose heads have the given sizes. Errors call it by its name, such as
// qk_norm.
type NamedLink struct {
	Name string
	New  func(at Site, heads fused.AttentionShape) Link
}

// links are the links of one attention.
type links struct {
	list  []Link
	scope graph.Scope
}

// links builds links at s.
func (s Site) links(list []NamedLink, heads fused.AttentionShape) (built []Link) {
	for _, l := range list {
		var link Link
		switch {
		case l.New == nil:
			s.Failf("%s: the function that builds the link is nil", l.Name)
		case s.Try(func() { link = l.New(s, heads) }) && link == nil:
			s.Failf("%s: the function that builds the link returns nil", l.Name)
		case link != nil:
			built = append(built, link)
		}
	}
	return built
}

// noPosition returns the position of a pass over all tokens: the empty expression.
func noPosition() graph.Expr { return graph.Expr{} }

// pass replaces *value, which is in.QKV or in.Y, by the results of the links. If at is a position, it takes their Step.
func (l links) pass(in *Inside, value *graph.Expr, at graph.Expr) {
	for _, link := range l.list {
		*value = shaped(l.scope, value.Shape(), func() graph.Expr {
			if c, ok := link.(cachedLink); ok && at.Graph() != nil {
				return c.Step(*in, at)
			}
			return link.Forward(*in)
		}).In(l.scope)
	}
}

// LinkFunc is a function as a Link.
type LinkFunc func(in Inside) graph.Expr

// Forward returns f(in).
func (f LinkFunc) Forward(in Inside) graph.Expr { return f(in) }

// Packed returns a Link that applies a layer to [q | k | v].
func Packed(l Layer) Link { return packedLink{l} }

type packedLink struct{ Layer }

// Forward returns the result of the layer.
func (l packedLink) Forward(in Inside) graph.Expr { return l.Layer.Forward(in.QKV) }

// rotation rotates queries and keys.
type rotation struct{ Rotary }

// Forward rotates the columns of q and k.
func (l rotation) Forward(in Inside) graph.Expr { return l.Rotate(in.QKV, in.Heads+in.Groups, in.QK) }

// valueResidual is the name of the link that NewValueResidual returns.
const valueResidual = "value_residual"

// firstValues holds the values of the first block for the other blocks of a model.
type firstValues struct {
	first graph.Expr // v_0 of the pass
	width int        // of v_0
}

// NewValueResidual returns the link that passes the values of the first block to all others (Zhou et al. 2024, the
// learnable ResFormer): in block l > 0,
//
//	v_l ← λ₁·v_l + λ₂·v_0
//
// takes the place of the values v_l, where v_0 are the values of the same tokens in the first block. λ₁ and λ₂ are
// learned numbers of the block. The queries and keys do not change. The blocks of a model share the link.
func NewValueResidual() NamedLink { return NamedLink{valueResidual, new(firstValues).link} }

// link declares v_lambda, two numbers that start at ½, in every block except the first.
func (r *firstValues) link(at Site, heads fused.AttentionShape) Link {
	width := heads.Groups * heads.V
	l := &values{shared: r, from: (heads.Heads + heads.Groups) * heads.QK, scope: at.Scope}
	if at.Block == 0 {
		r.width = width
		return l
	}
	if r.width > 0 && r.width != width {
		at.Failf("%d features of values to mix with %d of the first block, want the same number", width, r.width)
	}
	l.Lambda = at.Param("v_lambda", graph.Const(0.5), 2)
	return l
}

// values mixes the values in packed projections, whose first columns are queries and keys.
type values struct {
	shared *firstValues
	Lambda graph.Expr // [λ₁, λ₂]; empty in the first block
	from   int        // the number of columns of queries and keys
	scope  graph.Scope
}

// Forward returns [q | k | λ₁·v + λ₂·v_0].
func (l *values) Forward(in Inside) graph.Expr { // (n, H·dρ+G(dρ+dh)) → the same
	qkv := in.QKV
	if len(qkv.Shape()) != 2 {
		return qkv
	}
	if l.Lambda.Graph() == nil {
		l.shared.first = qkv.Columns(l.from, qkv.Shape()[1])
		return qkv
	}
	if first := l.shared.first; first.Graph() != qkv.Graph() {
		l.scope.Failf("no values of the first block: block 0 must come before the others")
		return qkv
	}
	return mix(qkv, l.shared.first.In(l.scope), l.Lambda)
}
