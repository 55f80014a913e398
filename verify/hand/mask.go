package hand

import "math"

// A mask is added to the scores before the softmax: 0 where a query (row) may look at a key (column), −∞ elsewhere.
// Masks combine by addition. The paper multiplies the scores by 0 instead, which leaves e⁰ of attention on every
// forbidden key (erratum B1).

// CausalMask returns the mask under which a token looks at itself and at the tokens before it.
func CausalMask(n int) Matrix[float64] {
	return mask(n, func(i, j int) bool { return j <= i })
}

// WindowMask returns the mask under which a token looks at itself and at the width−1 tokens before it.
func WindowMask(n, width int) Matrix[float64] {
	if width < 1 {
		return failed[float64]("a window of %d tokens, want 1 or more", width)
	}
	return mask(n, func(i, j int) bool { return j <= i && i-j < width })
}

// PaddingMask returns the mask that hides the keys that are padding. It hides columns; hiding the rows of the padding
// would leave it visible (S. Diab, erratum D3b).
func PaddingMask(padding []bool) Matrix[float64] {
	return mask(len(padding), func(i, j int) bool { return !padding[j] })
}

func mask(n int, visible func(i, j int) bool) Matrix[float64] {
	out := Zeros[float64](n, n)
	for i := range out.Rows {
		for j := range n {
			if !visible(i, j) {
				out.Data[i*n+j] = math.Inf(-1)
			}
		}
	}
	return out
}

// SourceMask returns the mask (n, m) that hides the keys that are padding: the columns from length on.
func SourceMask(n, m, length int) Matrix[float64] {
	out := Zeros[float64](n, m)
	if length < 0 || length > m {
		return failed[float64]("%d of %d keys are not padding", length, m)
	}
	for i := range out.Data {
		if i%m >= length {
			out.Data[i] = math.Inf(-1)
		}
	}
	return out
}
