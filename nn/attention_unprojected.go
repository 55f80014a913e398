package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Unprojected is attention without parameters (Xu (4)–(6)), the starting point: queries, keys and values are the
// unchanged activations. Every head has its columns x_h (n, d/H),
//
//	out = concat over h of softmax(x_h·x_hᵀ/√(d/H) + mask)·x_h
//
// Its gradient is the sum of three terms: x is query, key and value.
type Unprojected struct {
	heads      fused.AttentionShape
	mask       *Mask
	weightDrop *Dropout
	scope      graph.Scope
}

// NewUnprojected declares nothing. It is an error if the heads do not divide the features, or if positions are rotary.
func NewUnprojected(at Site) *Unprojected {
	at.refuse("unprojected attention")
	size := unprojectedSize(at)
	if at.Rotary != nil {
		at.Failf("rotary positions rotate queries and keys, but here they are the values, too: " +
			"there are no projections between")
	}
	mask := at.mask()
	mask.Expr()
	return &Unprojected{at.heads(size, size), mask, NewDropout(at.At("attn_dropout")), at.Scope}
}

func unprojectedSize(at Site) int {
	if at.Heads < 1 || at.Embd%at.Heads != 0 {
		at.Failf("%d heads do not divide %d features", at.Heads, at.Embd)
		return 1
	}
	return at.Embd / at.Heads
}

// Forward computes attention within every sequence.
func (l *Unprojected) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.Attention(x.Join(x, x), l.mask.Expr(), l.heads, l.weightDrop.P); ok {
		return l.scope.Place("heads", y)
	}
	h, at := l.heads, l.scope
	xh := x.Reshape(h.Batch, h.Context, h.Heads, h.QK).Transpose(0, 2, 1, 3)       // x_h            (B, H, T, d/H)
	scaled := at.Place("scores", xh.MatMulT(xh).Scale(1/math.Sqrt(float64(h.QK)))) // x_h·x_hᵀ/√(d/H)  (B, H, T, T)
	rho := at.Place("weights", scaled.Add(l.mask.overHeads(at)).Softmax())         // ρ = softmax    (B, H, T, T)
	out := l.weightDrop.Forward(rho).In(at).MatMul(xh)                             // ρ·x_h          (B, H, T, d/H)
	return at.Place("heads", concat(out, h.Batch*h.Context, h.Heads*h.V))          // concat         (B·T, d)
}

// Mixing returns 2n·d for the mean number n of keys, as SelfAttention does.
func (l *Unprojected) Mixing() float64 {
	if l == nil {
		return 0
	}
	return overKeys(l.mask.meanKeys(), l.heads.Heads, l.heads.QK, l.heads.V)
}

// UnprojectedCross is cross-attention as Conti prints it, without projections (errata C14; CrossAttention has them): x
// attends to the memory z, whose unchanged tokens are keys and values. For every head h
//
//	out = concat over h of softmax(x_h·z_hᵀ/√(d/H) + mask)·z_h
//
// The mask is the memory's. The site's Mask and Rotary are ignored, because there is no distance between two sequences.
type UnprojectedCross struct {
	z     graph.Expr // (B·m, d)
	heads crossHeads
}

// NewUnprojectedCross declares nothing. It is an error if the heads do not divide the features.
func NewUnprojectedCross(at Site, m *Memory) *UnprojectedCross {
	size := unprojectedSize(at)
	m = m.orNone(at)
	return &UnprojectedCross{m.Z, m.heads(at, size, size)}
}

// Forward computes the attention of the tokens of x to the memory.
func (l *UnprojectedCross) Forward(x graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	z := l.z.In(l.heads.scope)
	return l.heads.attend(x, z.Join(z)) // softmax(x_h·z_hᵀ/√(d/H) + mask)·z_h
}

// Mixing returns 2m·d.
func (l *UnprojectedCross) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.heads.mixing()
}
