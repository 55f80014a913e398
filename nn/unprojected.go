package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Unprojected is attention before anything is learned (Xu (4)–(6)), the point to start from: queries, keys and
// values are the activations as they come. Every head has columns x_h (n, d/H) of its own,
//
//	out = concat over h of softmax(x_h·x_hᵀ/√(d/H) + mask)·x_h
//
// Its gradient is the sum of three: x is query, key and value.
type Unprojected struct {
	heads      graph.Heads
	mask       *Mask
	weightDrop *Dropout
	scope      graph.Scope
}

// NewUnprojected declares nothing. It is an error if the heads do not divide the features, or if positions are rotary.
func NewUnprojected(at Site) *Unprojected {
	size := unprojectedSize(at)
	if at.Rotary != nil {
		at.Failf("rotary positions turn queries and keys, but here they are the values, too: there are no projections between")
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

// Forward lets the tokens of every sequence meet.
func (l *Unprojected) Forward(x graph.Expr) graph.Expr { // (B·T, d) → (B·T, d)
	x = x.In(l.scope)
	if l.scope.Graph().Kernels {
		y, _ := graph.Attention(x.Join(x, x), l.mask.Expr(), l.heads, l.weightDrop.P)
		return y
	}
	h := l.heads
	xh := x.Reshape(h.Batch, h.Context, h.Heads, h.QK).Transpose(0, 2, 1, 3)     // x_h            (B, H, T, d/H)
	scaled := xh.MatMulT(xh).Scale(1 / math.Sqrt(float64(h.QK)))                 // x_h·x_hᵀ/√(d/H)  (B, H, T, T)
	rho := l.weightDrop.Forward(scaled.Add(l.mask.overHeads(l.scope)).Softmax()) // ρ = softmax    (B, H, T, T)
	out := rho.In(l.scope).MatMul(xh)                                            // ρ·x_h          (B, H, T, d/H)
	return out.Transpose(0, 2, 1, 3).Reshape(h.Batch*h.Context, h.Heads*h.V)     // concat         (B·T, d)
}

// Mixing is 2T·d.
func (l *Unprojected) Mixing() float64 {
	return overKeys(l.heads.Context, l.heads.Heads, l.heads.QK, l.heads.V)
}

// UnprojectedCross is cross-attention as Conti prints it, without projections (errata C14; CrossAttention has them): x looks
// at the memory z, whose tokens are keys and values as they come. For every head h
//
//	out = concat over h of softmax(x_h·z_hᵀ/√(d/H) + mask)·z_h
//
// The mask is the memory's. The site's is not asked, nor is its Rotary: between two sequences there is no distance.
type UnprojectedCross struct {
	memory     *Memory
	heads      graph.CrossHeads
	weightDrop *Dropout
	scope      graph.Scope
}

// NewUnprojectedCross declares nothing. It is an error if the heads do not divide the features.
func NewUnprojectedCross(at Site, m *Memory) *UnprojectedCross {
	size := unprojectedSize(at)
	return &UnprojectedCross{
		memory: m, weightDrop: NewDropout(at.At("attn_dropout")), scope: at.Scope,
		heads: graph.CrossHeads{Batch: m.Batch, Queries: m.Queries, Keys: m.Keys, Heads: at.Heads, QK: size, V: size},
	}
}

// Forward lets the tokens of x look at the memory.
func (l *UnprojectedCross) Forward(x graph.Expr) graph.Expr { // (B·n, d) → (B·n, d)
	x = x.In(l.scope)
	z, h := l.memory.Z.In(l.scope), l.heads
	if l.scope.Graph().Kernels {
		y, _ := graph.CrossAttention(x, z.Join(z), l.memory.mask, h, l.weightDrop.P)
		return y
	}
	xh := x.Reshape(h.Batch, h.Queries, h.Heads, h.QK).Transpose(0, 2, 1, 3)   // x_h            (B, H, n, d/H)
	zh := z.Reshape(h.Batch, h.Keys, h.Heads, h.QK).Transpose(0, 2, 1, 3)      // z_h            (B, H, m, d/H)
	scaled := xh.MatMulT(zh).Scale(1 / math.Sqrt(float64(h.QK)))               // x_h·z_hᵀ/√(d/H)  (B, H, n, m)
	hidden := l.memory.mask.In(l.scope).Reshape(h.Batch, 1, h.Queries, h.Keys) // padding        (B, 1, n, m)
	rho := l.weightDrop.Forward(scaled.Add(hidden).Softmax())                  // ρ = softmax    (B, H, n, m)
	out := rho.In(l.scope).MatMul(zh)                                          // ρ·z_h          (B, H, n, d/H)
	return out.Transpose(0, 2, 1, 3).Reshape(h.Batch*h.Queries, h.Heads*h.V)   // concat         (B·n, d)
}

// Mixing is 2m·d.
func (l *UnprojectedCross) Mixing() float64 {
	return overKeys(l.heads.Keys, l.heads.Heads, l.heads.QK, l.heads.V)
}
