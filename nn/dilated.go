package nn

import (
	"slices"

	"github.com/pkg/errors"
)

// Dilated is the window of Longformer (Beltagy et al. 2020, Conti 2.1.1): in head h, with δ = Dilation[h], query i
// attends to key j if
//
//	(i − j) mod δ = 0 and |i − j| ≤ δ⌊Width/2⌋,  or i ∈ Global,  or j ∈ Global
//
// so that with the same number of keys a head reaches δ times as far. The highest and the lowest token that can reach
// another one through L layers are Lδw apart for an even w, a span of Lδw + 1, in which only multiples of δ are reached
// (errata C13). Combined with Causal it stays within j ≤ i. Longformer is the layer whose global tokens have separate
// projections.
//
// In a long context the kernels process tokens at distances of δ together, so that a window costs the same as an
// undilated one with the same number of keys, and they gather distant global keys. Heads that share keys with heads of
// another δ cost as much as windows of the same reach.
type Dilated struct {
	Width    int
	Dilation []int // for each head
	Global   []int // tokens
}

// Visible reports whether query i attends to key j in head 0.
func (v Dilated) Visible(b, i, j int) bool { return v.VisibleTo(0, b, i, j) }

// VisibleTo reports whether query i attends to key j in the given head.
func (v Dilated) VisibleTo(head, _, i, j int) bool {
	return v.local(head, i, j) || v.global(i, j)
}

func (v Dilated) local(head, i, j int) bool {
	if head < 0 || head >= len(v.Dilation) || v.Dilation[head] < 1 {
		return false
	}
	dilation := v.Dilation[head]
	return near(i, j, dilation*(v.Width/2)) && (i-j)%dilation == 0
}

func (v Dilated) global(i, j int) bool {
	return slices.Contains(v.Global, i) || slices.Contains(v.Global, j)
}

// Check returns an error for a width below 1, dilations for another number of heads or outside 1 … T, and global tokens
// that do not exist.
func (v Dilated) Check(d Dims) error {
	if err := checkWidth(v.Width); err != nil {
		return err
	}
	if len(v.Dilation) != d.Heads {
		return errors.Errorf("%d dilations for %d heads", len(v.Dilation), d.Heads)
	}
	for h, dilation := range v.Dilation {
		if dilation < 1 || dilation > d.Context {
			return errors.Errorf("head %d has dilation %d, not in 1 … %d", h, dilation, d.Context)
		}
	}
	return checkGlobal(v.Global, d)
}
