package verify

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// I43: the softmax in one pass is the softmax, in whatever order the scores come, and e⁸⁰⁰ is no matter.
func TestI43OnlineSoftmax(t *testing.T) {
	x := Random("x", 4, 7).Scale(6).Add(NewMatrix(1, 7, 0, 1, 2, 3, 4, 5, 6.0)) // increasing on the whole
	near(t, "softmax", OnlineSoftmax(x), x.Softmax())
	near(t, "softmax further up", OnlineSoftmax(x.Shift(800)), x.Softmax())
	p := permutation(3, 0, 6, 1, 5, 2, 4)
	near(t, "shuffled", OnlineSoftmax(x.MatMul(p)), x.Softmax().MatMul(p))
	near(t, "log-sum-exp", NewPartial(x, Matrix[float64]{}).LogSumExp(), x.LogSumExp())
	delta := Random("delta", 4, 7)
	truth := witness(t, func(z Parameters[complex128]) complexMatrix { return OnlineSoftmax(z["x"]) }, Parameters[float64]{"x": x}, delta)
	rho := x.Softmax()
	near(t, "Δ", delta.Sub(delta.Mul(rho).SumFeatures()).Mul(rho), truth["x"])
}

// I43: partial results may be merged in any order and grouping, and those that have seen nothing change nothing.
func TestI43MergeIsAssociative(t *testing.T) {
	x, v := Random("x", 4, 7).Scale(6).Add(NewMatrix(1, 7, 0, 1, 2, 3, 4, 5, 6.0)), Random("v", 7, 3)
	part := func(from, to int) Partial[float64] { return NewPartial(x.Columns(from, to), v.Tokens(from, to)) }
	same := func(what string, a, b Partial[float64]) {
		near(t, what+": m", a.Max, b.Max)
		near(t, what+": d", a.Total, b.Total)
		near(t, what+": o", a.Out, b.Out)
	}
	a, b, c, whole := part(0, 2), part(2, 3), part(3, 7), part(0, 7)
	same("(ab)c", a.Merge(b).Merge(c), whole)
	same("a(bc)", a.Merge(b.Merge(c)), whole)
	same("c(ba)", c.Merge(b.Merge(a)), whole)
	near(t, "o", whole.Out, x.Softmax().MatMul(v))

	nothing := NewPartial(Zeros[float64](4, 2).Shift(math.Inf(-1)), v.Tokens(0, 2))
	same("nothing first", nothing.Merge(whole), whole)
	same("nothing last", whole.Merge(nothing), whole)
	if both := nothing.Merge(nothing); both.Total.Data[0] != 0 || both.Out.Data[0] != 0 || !math.IsInf(both.LogSumExp().Data[0], -1) {
		t.Errorf("nothing twice: got d = %v, o = %v, lse = %v, want 0, 0, −∞", both.Total.Data[0], both.Out.Data[0], both.LogSumExp().Data[0])
	}
	hidden := JoinColumns(Zeros[float64](4, 2).Shift(math.Inf(-1)), x)
	near(t, "hidden keys first", OnlineSoftmax(hidden), JoinColumns(Zeros[float64](4, 2), x.Softmax()))
}

// climbing are queries, keys and values of n tokens whose scores increase from key to key, so that every tile has a new maximum.
func climbing(n int) (q, k, v Matrix[float64]) {
	q, k, v = Random("q", n, 3).Shift(1), Random("k", n, 3), Random("v", n, 5)
	for j := range n {
		for f := range 3 {
			k.Data[3*j+f] += 0.8 * float64(j)
		}
	}
	return q, k, v
}

// I44: attention in tiles is attention, forth and back, for every tiling, with and without a mask, and D is the row sums of
// ρ∘Δρ.
func TestI44TilesEqualDense(t *testing.T) {
	const n = 7
	q, k, v := climbing(n)
	delta, none := Random("delta", n, 5), Matrix[float64]{}
	scores := q.MatMul(k.Transpose())
	for i := range n {
		if row := rowOf(scores, i).Data; !slices.IsSorted(row) {
			t.Fatalf("scores of query %d: got %v, want increasing ones", i, row)
		}
	}
	for name, mask := range map[string]Matrix[float64]{"no mask": none, "causal": CausalMask(n), "window": WindowMask(n, 3), "the future": CausalMask(n).Transpose()} {
		want := AttentionForward(q, k, v, mask, none)
		wantQ, wantK, wantV := AttentionBackward(q, k, v, mask, none, delta)
		rho := AttentionWeights(q, k, mask)
		for _, queries := range []int{1, 2, 3, 5, n} {
			for _, keys := range []int{1, 2, 3, 5, n} {
				what, tile := fmt.Sprintf("%s, tiles of %d and %d", name, queries, keys), Tile{queries, keys}
				o, lse := FlashForward(q, k, v, mask, tile)
				near(t, what+": o", o, want)
				near(t, what+": lse", lse, scores.Scale(1/math.Sqrt(3)).plus(mask).LogSumExp())
				dq, dk, dv := FlashBackward(q, k, v, mask, o, lse, delta, tile)
				near(t, what+": Δq", dq, wantQ)
				near(t, what+": Δk", dk, wantK)
				near(t, what+": Δv", dv, wantV)
				near(t, what+": D", delta.Mul(o).SumFeatures(), rho.Mul(delta.MatMul(v.Transpose())).SumFeatures())
			}
		}
	}
}

// I44: the complex step of the tiled forward is the tiled backward, with more keys than queries, too.
func TestI44FlashBackward(t *testing.T) {
	q, k, v := climbing(7)
	q = q.Tokens(0, 4)
	delta, tile, none := Random("delta", 4, 5), Tile{Queries: 3, Keys: 2}, Matrix[float64]{}
	o, lse := FlashForward(q, k, v, none, tile)
	dq, dk, dv := FlashBackward(q, k, v, none, o, lse, delta, tile)
	truth := witness(t, func(z Parameters[complex128]) complexMatrix {
		o, _ := FlashForward(z["q"], z["k"], z["v"], none, tile)
		return o
	}, Parameters[float64]{"q": q, "k": k, "v": v}, delta)
	near(t, "Δq", dq, truth["q"])
	near(t, "Δk", dk, truth["k"])
	near(t, "Δv", dv, truth["v"])
	d := lse.Sub(lse) // left out
	for i := range d.Data {
		d.Data[i] = dot(rowOf(delta, i), rowOf(o, i))
	}
	rho := AttentionWeights(q, k, none)
	without := rho.Mul(delta.MatMul(v.Transpose())).Scale(1 / math.Sqrt(3)).MatMul(k)
	near(t, "Δq", without.Sub(rho.Mul(d).Scale(1/math.Sqrt(3)).MatMul(k)), dq)
	wrongBy(t, "Δq without D", without, dq, 13.3)
}

// I44: a query that may not look at any key gets 0 and gives nothing back, whichever tile it is in.
func TestI44BlindQuery(t *testing.T) {
	const n = 5
	q, k, v := climbing(n)
	padding, delta := []bool{true, true, false, false, false}, Random("delta", n, 5)
	mask := CausalMask(n).Add(PaddingMask(padding)) // queries 0 and 1 see nothing
	for _, size := range []int{1, 2, n} {
		tile := Tile{size, size}
		o, lse := FlashForward(q, k, v, mask, tile)
		dq, dk, dv := FlashBackward(q, k, v, mask, o, lse, delta, tile)
		vanishes(t, "o of the blind", o.Tokens(0, 2))
		vanishes(t, "Δq of the blind", dq.Tokens(0, 2))
		want := AttentionForward(q, k, v, mask, Matrix[float64]{})
		near(t, "o of the others", o.Tokens(2, n), want.Tokens(2, n))
		wantQ, wantK, wantV := AttentionBackward(q.Tokens(2, n), k.Tokens(2, n), v.Tokens(2, n), CausalMask(3), Matrix[float64]{}, delta.Tokens(2, n))
		near(t, "Δq of the others", dq.Tokens(2, n), wantQ)
		near(t, "Δk", dk, JoinTokens(Zeros[float64](2, 3), wantK))
		near(t, "Δv", dv, JoinTokens(Zeros[float64](2, 5), wantV))
	}
	for _, tile := range []Tile{{0, 1}, {1, 0}, {-1, 2}} {
		if o, _ := FlashForward(q, k, v, mask, tile); o.Err == nil {
			t.Errorf("forward in tiles %v: got no error", tile)
		}
		if dq, _, _ := FlashBackward(q, k, v, mask, v, q, delta, tile); dq.Err == nil {
			t.Errorf("backward in tiles %v: got no error", tile)
		}
	}
}
