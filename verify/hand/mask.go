package hand

import (
	"math"
	"slices"
)

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

// BigBirdMask returns the mask under which tokens meet if they are at most ⌊width/2⌋ apart or one of them is global.
// Query i also sees its own random keys. (Zaheer et al. 2020, Conti (13))
func BigBirdMask(n, width int, global []int, random [][]int) Matrix[float64] {
	if width < 1 || len(random) != n {
		return failed[float64]("a window of %d tokens and random keys of %d queries, want 1 or more and %d",
			width, len(random), n)
	}
	if err := checkTokens(n, global, slices.Concat(random...)); err != nil {
		return Matrix[float64]{Err: err}
	}
	return mask(n, func(i, j int) bool {
		return distance(i, j) <= width/2 || slices.Contains(global, i) || slices.Contains(global, j) ||
			slices.Contains(random[i], j)
	})
}

// DilatedMask returns the mask under which tokens meet if they are at most ⌊width/2⌋ steps of the dilation δ apart:
// (i − j) mod δ = 0 and |i − j| ≤ δ⌊width/2⌋. (Beltagy et al. 2020)
func DilatedMask(n, width, dilation int) Matrix[float64] {
	if width < 1 || dilation < 1 {
		return failed[float64]("a window of %d tokens and a dilation of %d, want 1 or more", width, dilation)
	}
	return mask(n, func(i, j int) bool {
		return distance(i, j)%dilation == 0 && distance(i, j)/dilation <= width/2
	})
}

// GlobalMask returns the mask under which tokens meet if one of them is global.
func GlobalMask(n int, global []int) Matrix[float64] {
	if err := checkTokens(n, global); err != nil {
		return Matrix[float64]{Err: err}
	}
	return mask(n, func(i, j int) bool { return slices.Contains(global, i) || slices.Contains(global, j) })
}

// checkTokens returns an error unless all tokens are in 0 … n−1.
func checkTokens(n int, lists ...[]int) error {
	for _, token := range slices.Concat(lists...) {
		if token < 0 || token >= n {
			return failed[float64]("token %d, want 0 … %d", token, n-1).Err
		}
	}
	return nil
}

// Either returns the mask that shows the keys that at least one of two masks shows.
func Either(a, b Matrix[float64]) Matrix[float64] {
	return a.combine("either", b, func(x, y float64) float64 { return max(x, y) }, nil)
}

// Except returns mask a without the keys that mask b shows.
func Except(a, b Matrix[float64]) Matrix[float64] {
	return a.combine("except", b, func(x, y float64) float64 {
		if y == 0 {
			return math.Inf(-1)
		}
		return x
	}, nil)
}

// ALiBiMask returns −m|i − j| with m = 2^(−8h/H) for head h of H, counted from 1. If H is not a power of two, the first
// heads have the slopes of the next lower power, and the rest every other slope of the next higher one. (Press et al.
// 2022; CS 224n (13) has neither m nor the right length, erratum S1)
func ALiBiMask(n, h, heads int) Matrix[float64] {
	if h < 1 || h > heads {
		return failed[float64]("head %d, want 1 … %d", h, heads)
	}
	power := 1
	for power <= heads/2 {
		power *= 2
	}
	exponent := -8 * float64(h) / float64(power)
	if h > power {
		exponent = -4 * float64(2*(h-power)-1) / float64(power)
	}
	out := Zeros[float64](n, n)
	for i := range out.Rows {
		for j := range n {
			out.Data[i*n+j] = -math.Pow(2, exponent) * float64(distance(i, j))
		}
	}
	return out
}

// distance returns |i − j|.
func distance(i, j int) int { return max(i-j, j-i) }
