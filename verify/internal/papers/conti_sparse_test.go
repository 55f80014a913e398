package papers

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// contiNeighbours returns the N(i) of a BigBird: a window, one global token and one drawn key per row.
func contiNeighbours(n int) [][]int {
	random := []int{4, 5, 5, 0, 1, 2}
	list := make([][]int, n)
	for i := range list {
		for j := range n {
			if i-j <= 1 && j-i <= 1 || i == 3 || j == 3 || j == random[i] {
				list[i] = append(list[i], j)
			}
		}
	}
	return list
}

// (13) A token attends to the tokens of a set N(i), which is equivalent to a mask with −∞ elsewhere. As printed the
// scores lack 1/√k, xᵢ is added and the values are as wide as the tokens, so with full sets it is not (7) (erratum C8).
func TestContiEq13(t *testing.T) {
	a, sets := newAttention(), contiNeighbours(6)
	mask := visible(6, func(i, j int) bool { return slices.Contains(sets[i], j) })
	drawn := [][]int{{4}, {5}, {5}, {0}, {1}, {2}}
	near(t, "N(i), by hand", hand.BigBirdMask(6, 3, []int{3}, drawn).Exp(), mask.Exp())
	out := attentionForward(a.q, a.k, a.v, mask, matrix{})
	for i, set := range sets {
		own := attentionForward(a.q.Tokens(i, i+1), embeddingForward(a.k, set), embeddingForward(a.v, set), matrix{}, matrix{})
		near(t, "σ(Q K_N(i)ᵗ/√k) V_N(i)", own, out.Tokens(i, i+1))
	}
	full := a.scaled.Softmax()
	wrongBy(t, "weights as printed, full sets", a.raw.Softmax(), full, 0.282)
	wide := full.MatMul(a.x) // values of the width d
	wrongBy(t, "with xᵢ, full sets", wide.Add(a.x), wide, 2.27)
}

// A window of w = 4 with gaps of δ = 2, L = 3 layers deep, spans Lδw + 1 tokens, not the printed L·d·w; within that
// span it reaches only tokens at a distance that is a multiple of δ (erratum C13).
func TestContiLongformerReach(t *testing.T) {
	const n, layers, w, gap = 41, 3, 4, 2
	look := hand.Zeros[float64](n, n)
	for i := range n {
		for j := range n {
			if d := i - j; d%gap == 0 && -gap*w/2 <= d && d <= gap*w/2 {
				look.Data[i*n+j] = 1
			}
		}
	}
	reach := look
	for range layers - 1 {
		reach = reach.MatMul(look)
	}
	first, last, count := n, 0, 0
	for j := range n {
		if reach.At(n/2, j) > 0 {
			first, last, count = min(first, j), max(last, j), count+1
		}
	}
	if span := last - first + 1; span != layers*gap*w+1 || count != layers*w+1 {
		t.Errorf("got %d tokens in a span of %d, want 13 in 25", count, span)
	}
}
