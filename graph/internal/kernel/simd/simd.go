// Package simd implements the float32 kernels other than matrix products in vector instructions: for AVX-512, for AVX2
// with FMA and for NEON. Its callers implement the same in plain Go for other processors and for float64.
package simd

// Set holds the kernels in one instruction set. Each does the same operations on the same lanes for every instruction
// set, length and place in memory, so the bits do not depend on these; a sum over a row or vector has 16 partial sums
// that are added up in a fixed order. The accuracy is one entry's for finite operands, u = 2⁻²⁴ being half of the
// last place of 1. NaN gives NaN. The callers check the lengths.
//
// No kernel produces a number below the normal ones, 2⁻¹²⁶, from normal numbers, not even as an intermediate result of
// 0: an Intel processor takes some 150 times as long for it. Numbers below an absolute accuracy therefore count as 0.
type Set struct {
	// z = x + y, rounded once.
	Add func(z, x, y []float32)
	// z = x∘y, rounded once.
	Mul func(z, x, y []float32)
	// z ← z + x∘y, rounded once.
	MulAdd func(z, x, y []float32)
	// y = max(x, 0), exact.
	Relu func(y, x []float32)
	// dx = dy where x > 0, else 0, exact.
	ReluBackward func(dx, x, dy []float32)
	// y = max(x, 0)², rounded once; 0 for x below 2⁻⁶³.
	Relu2 func(y, x []float32)
	// dx = 2·dy∘max(x, 0), rounded once; 0 for x below 2⁻⁶³.
	Relu2Backward func(dx, x, dy []float32)
	// y = e^(x−shift)·scale: with shift 0 and scale 1 within 0.9 of a unit in the last place; ∞ if y is too large, 0 if
	// y would be below the normal numbers.
	Exp func(y, x []float32, shift, scale float32)
	// y = x·Φ(x) within 6 units in the last place of y, and 1.5e-7·max(1, |y|); 0 if y would be below the normal
	// numbers.
	Gelu func(y, x []float32)
	// dx = dy∘(Φ(x) + x·φ(x)) within 2e-7·|dy|, up to rounding the product.
	GeluBackward func(dx, x, dy []float32)
	// y = ½x(1 + tanh u) within 1.5e-7·max(1, |y|); −∞ gives 0.
	GeluTanh func(y, x []float32)
	// dx = dy∘dy/dx of GeluTanh within 2e-7·|dy|, up to rounding the product.
	GeluTanhBackward func(dx, x, dy []float32)
	// y = σ(x) = 1/(1 + e^(−x)) within 1.5e-7, and 5e-7·y if y is above 1e-37; 0 below the normal numbers.
	Sigmoid func(y, x []float32)
	// dx = dy∘σ(x)(1 − σ(x)) within 1e-7·|dy|, up to rounding the product.
	SigmoidBackward func(dx, x, dy []float32)
	// y = x/(1 + e^(−x)) within 1.5e-7·max(1, |y|); −∞ gives 0.
	Silu func(y, x []float32)
	// dx = dy∘dy/dx of Silu within 2e-7·|dy|, up to rounding the product.
	SiluBackward func(dx, x, dy []float32)
	// y = silu(x)·u with silu as in Silu, up to rounding the product.
	Swiglu func(y, x, u []float32)
	// dx = dy∘u∘dsilu/dx within 2e-7·|dy·u| and du = dy∘silu(x) within 1.5e-7·max(1, |silu(x)|)·|dy|, up to rounding
	// the products.
	SwigluBackward func(dx, du, x, u, dy []float32)
	// y = max(x, 0) + ln(1 + e^(−|x|)) within 3e-7·y, 0 if e^x would be below the normal numbers.
	Softplus func(y, x []float32)
	// x ← e^(x+mask−max)/Σ in every row, within (5 + D + cols/128)u of the weight if the rounded x+mask is D below the
	// largest. The weight is 0 if D is above 60, which is negligible next to the largest weight, and where the mask is
	// −∞, for any x.
	Softmax func(x, mask []float32, cols, rows int)
	// A step of the online softmax, like attention.softmaxTile. Apart from the rounding of x+mask, the weights and keep
	// are within (7 + D + cols/16)u if x+mask is D below the largest, and 0 if D is above 60.
	SoftmaxTile func(x, mask, top, total, keep []float32, cols, stride int)
	// The backward pass of SoftmaxTile: x ← e^(x+mask−top)/max(1, total), d ← x∘(d − dot) in every row.
	SoftmaxTileBackward func(d, x, mask, top, total, dot []float32, cols, stride int)
	// x ← σ(x+mask−shift) in every row, within 1.5e-7 of the weight of the rounded x+mask−shift, and 5e-7 of its value
	// if that is above 2⁻⁸⁰, below which it counts as 0. The weight is 0 where the mask is −∞, for any x.
	SigmoidTile func(x, mask, shift []float32, cols, stride int)
	// The backward pass of SigmoidTile: x as there, d ← d∘x(1−x) in every row.
	SigmoidTileBackward func(d, x, mask, shift []float32, cols, stride int)
	// x ← c·tanh(x/c) within 6u of the value, at most c, where c is the limit, from 2⁻³⁰ to 2³⁰; and slope ← 1 −
	// tanh²(x/c) within 7e-7, unless it is empty. An x below 2⁻⁹⁵ gives 0.
	Softcap func(x, slope []float32, limit float32)
	// dot = Σ x∘y of rows that are cols wide and stride apart, within (4 + cols/16)u·Σ |x∘y|.
	DotRows func(dot, x, y []float32, cols, stride int)
	// x ← x·factor in rows that are cols wide and stride apart, rounded once.
	ScaleRows func(x, factor []float32, cols, stride int)
	// x ← x·factor in rows that are stride apart, with a factor for each column, rounded once.
	ScaleCols func(x, factor []float32, rows, stride int)
	// z ← z + x·factor in rows that are cols wide and stride apart, rounded once.
	MulAddRows func(z, x, factor []float32, cols, stride int)
	// w ← w − n·u and u = factor∘w, row by row, in eight rows of cols numbers. The rows of n are stride apart, and only
	// its entries below the diagonal are used.
	Solve func(w, u, n, factor []float32, cols, stride int)
	// x ← (I + nᵀ)⁻¹·x in eight rows of cols numbers, for n as in Solve.
	SolveT func(x, n []float32, cols, stride int)
	// y = 1/x, rounded once.
	Inverse func(y, x []float32)
	// y = x rounded to bfloat16, like kernel.Bfloat16, exact.
	Bfloat16 func(y, x []float32)
	// top = max x and total = Σ e^(x−top), within 4u of total unless x−top is rounded.
	ExpSum func(x []float32) (top float32, total float64)
	// LayerNorm with share = 1/d; b is optional. The relative error of 1/σ is at most (4 + d/16)u.
	LayerNorm func(y, x, w, b, mean, inv []float32, share, eps float32)
	// LayerNormBackward with share = 1/d, adding to dw and db; dx is optional.
	LayerNormBackward func(dx, dw, db, x, w, dy, mean, inv []float32, share float32)
	// LayerNormSigma with share = 1/d; b is optional. inv is σ, with a relative error of at most (6 + d/16)u; it is 0
	// for equal numbers.
	LayerNormSigma func(y, x, w, b, mean, inv []float32, share, eps float32)
	// LayerNormSigmaBackward with share = 1/d, adding to dw and db; dx is optional.
	LayerNormSigmaBackward func(dx, dw, db, x, w, dy, mean, inv []float32, share, eps float32)
	// RMSNorm with share = 1/d. The relative error of 1/rms is at most (4 + d/16)u.
	RmsNorm func(y, x, w, inv []float32, share, eps float32)
	// RMSNormBackward with share = 1/d, adding to dw.
	RmsNormBackward func(dx, dw, x, w, dy, inv []float32, share float32)
	// carry ← carry + (c∘carry + b) in float64, and h = carry, every operation rounded once. Entries of carry up to the
	// next multiple of 16 are overwritten.
	Advance func(h, b, c []float32, carry *[128]float64)
	// carry ← carry + c∘(carry − b) in float64, and h = carry, as in Advance.
	Average func(h, b, c []float32, carry *[128]float64)
	// dc = r∘(before − b) and r ← −c∘r, every operation rounded once.
	AverageBackward func(dc, r, before, b, c []float32)
	// Update with the constants scale, β₁, 1−β₁, β₂, 1−β₂, keep, rate, root, ε, every operation rounded once. m below
	// 2⁻⁹⁵, v and g² below 2⁻¹¹¹, and g² of a g below 2⁻⁶³ count as 0.
	AdamW func(w, dw, m, v []float32, c *[9]float32)
	// Σ x² in float64.
	SumSquares func(x []float32) (sum float64)
	// y[i] = x[i]·factor, or ·0 if hash(key ^ (at + i·entryStep)) >> 11 is below the threshold, as in DropMask.Factor.
	Dropout func(y, x []float32, key, at, threshold uint64, factor float32)
}

// current is the set in use: the widest of this processor, or nil for plain Go.
var current = detect()

// Of returns the set in use for numbers of type T. It is nil for float64.
func Of[T any]() *Set {
	if _, ok := any(*new(T)).(float32); ok {
		return current
	}
	return nil
}

// String returns the name of the instruction set, or "Go" for nil.
func (s *Set) String() string {
	for name, known := range Sets() {
		if s == known {
			return name
		}
	}
	return "Go"
}

// Use replaces the set in use, for tests that compare sets; nil stands for plain Go. It returns a function that
// restores the previous set.
func Use(s *Set) (undo func()) {
	was := current
	current = s
	return func() { current = was }
}

// Float32s returns x as a []float32, or nil if it is none.
func Float32s[T any](x []T) []float32 {
	s, _ := any(x).([]float32)
	return s
}
