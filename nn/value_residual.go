package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// ValueResidual passes the values of the first block to all others (Zhou et al. 2024, the learnable ResFormer): in
// block l > 0,
//
//	v_l ← λ₁·v_l + λ₂·v_0
//
// takes the place of the values v_l, where v_0 are those of the same tokens in the first block. λ₁ and λ₂ are learned
// numbers of the block. The queries and keys do not change. The blocks of a model share a ValueResidual.
type ValueResidual struct {
	first graph.Expr // v_0 of the pass
	width int        // of v_0
	mixed int        // blocks
}

// NewValueResidual returns the ValueResidual of a model.
func NewValueResidual() *ValueResidual { return &ValueResidual{} }

// Blocks returns the number of blocks so far whose attention keeps or mixes values.
func (r *ValueResidual) Blocks() int {
	if r == nil {
		return 0
	}
	return r.mixed
}

// values mixes the values in packed projections, whose first columns are queries and keys.
type values struct {
	shared *ValueResidual // nil does not mix
	Lambda graph.Expr     // [λ₁, λ₂]; empty in the first block
	from   int            // the number of columns of queries and keys
	scope  graph.Scope
}

// newValues declares v_lambda, two numbers that start at ½, in every block except the first. There are width columns of
// values.
func newValues(at Site, from, width int) values {
	l := values{at.Values, graph.Expr{}, from, at.Scope}
	if l.shared == nil {
		return l
	}
	l.shared.mixed++
	if at.Block == 0 {
		l.shared.width = width
	} else {
		if of := l.shared.width; of > 0 && of != width {
			at.Failf("%d features of values to mix with %d of the first block, want the same number", width, of)
		}
		l.Lambda = at.Param("v_lambda", graph.Const(0.5), 2)
	}
	return l
}

// forward returns [q | k | λ₁·v + λ₂·v_0].
func (l values) forward(qkv graph.Expr) graph.Expr { // (n, H·dρ+G(dρ+dh)) → the same
	if l.shared == nil || len(qkv.Shape()) != 2 {
		return qkv
	}
	if l.Lambda.Graph() == nil {
		l.shared.first = qkv.Cols(l.from, qkv.Shape()[1])
		return qkv
	}
	if first := l.shared.first; first.Graph() != qkv.Graph() {
		l.scope.Failf("no values of the first block: block 0 must come before the others")
		return qkv
	}
	return mix(qkv, l.shared.first.In(l.scope), l.Lambda)
}
