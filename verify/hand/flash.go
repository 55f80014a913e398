package hand

import "math"

// Flash is Attention tile by tile, so that no more than a tile of the weights exists at a time. A query that may not
// look at any key gets 0.
//
// Backward needs e^(x−lse) = e^(x−m)/d, where lse = m + ln d; on the exact road, e^(x−m) is eˣ/eᵐ for a maximum or a
// logarithm m, and e^(ln d) is d.
type Flash[T Number] struct {
	Mask          Matrix[float64]
	Queries, Keys int // of a tile
}

// Forward returns the output (n, dh).
func (l Flash[T]) Forward(q, k, v Matrix[T]) Matrix[T] {
	o, _ := l.Attend(q, k, v)
	return o
}

// Attend returns the output and the log-sum-exp of every query's scores, (n, 1), from which Backward recomputes the
// weights.
func (l Flash[T]) Attend(q, k, v Matrix[T]) (o, lse Matrix[T]) {
	if l.Queries < 1 || l.Keys < 1 {
		err := failed[T]("tiles of %d queries and %d keys", l.Queries, l.Keys)
		return err, err
	}
	err := firstErr(q, k, v)
	if err == nil {
		err = l.meet(q, k, v)
	}
	if err != nil {
		return Matrix[T]{Err: err}, Matrix[T]{Err: err}
	}
	var outs, sums []Matrix[T]
	for i := range tiles(q.Rows, l.Queries) {
		var a Partial[T]
		for j := range tiles(k.Rows, l.Keys) {
			b := NewPartial(l.scores(q, k, i, j), v.rows(j))
			if j.from > 0 {
				b = a.Merge(b)
			}
			a = b
		}
		outs, sums = append(outs, a.Out), append(sums, a.LogSumExp())
	}
	return JoinTokens(outs...), JoinTokens(sums...)
}

// meet returns an error if queries, keys, values and mask do not fit. A single tile of them might fit nevertheless.
func (l Flash[T]) meet(q, k, v Matrix[T]) error {
	mask := l.Mask.sound()
	switch {
	case mask.Err != nil:
		return mask.Err
	case q.Cols != k.Cols || k.Rows != v.Rows || !mask.None() && (mask.Rows != q.Rows || mask.Cols != k.Rows):
		return failed[T]("queries (%d, %d), keys (%d, %d), values (%d, %d), mask (%d, %d)",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, mask.Rows, mask.Cols).Err
	}
	return nil
}

// ShiftInvariant reports true, as for Attention.
func (Flash[T]) ShiftInvariant() bool { return true }

// Backward is Attention's Backward tile by tile. The paper has no backward pass (erratum X14). The only quantity that
// needs a complete row of the weights is D, the row sums of ρ∘Δvᵗ, which equal the row sums of Δ∘o.
//
//	ρ = e^(x − lse),   D = Σ_features Δ∘o,   Δ_raw = ρ∘(Δvᵗ − D)/√dρ
func (l Flash[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	o, lse := l.Attend(q, k, v)
	if o.Err != nil {
		return o, o, o
	}
	d := delta.Mul(o).Sum() //                                       D       (n, 1)
	scale := 1 / math.Sqrt(float64(q.Cols))
	dq = q.zeros()
	var dks, dvs []Matrix[T]
	for j := range tiles(k.Rows, l.Keys) {
		dkj, dvj := Zeros[T](j.to-j.from, k.Cols), Zeros[T](j.to-j.from, v.Cols)
		var dqs []Matrix[T]
		for i := range tiles(q.Rows, l.Queries) {
			rho := exponentials(l.scores(q, k, i, j), lse.rows(i)) //  ρ of the tile
			drho := delta.rows(i).MatMul(v.rows(j).Transpose())    //  Δ vᵗ
			draw := rho.Mul(drho.Sub(d.rows(i))).Scale(scale)      //  Δ_raw
			dqs = append(dqs, draw.MatMul(k.rows(j)))              //  Δ_raw k
			dkj = dkj.Add(draw.Transpose().MatMul(q.rows(i)))      //  Δ_rawᵗ q
			dvj = dvj.Add(rho.Transpose().MatMul(delta.rows(i)))   //  ρᵗ Δ
		}
		dq = dq.Add(JoinTokens(dqs...))
		dks, dvs = append(dks, dkj), append(dvs, dvj)
	}
	return dq, JoinTokens(dks...), JoinTokens(dvs...)
}

// scores returns q kᵗ/√dρ + M for some queries and keys.
func (l Flash[T]) scores(q, k Matrix[T], i, j span) Matrix[T] {
	x := q.rows(i).MatMul(k.rows(j).Transpose()).Scale(1 / math.Sqrt(float64(q.Cols)))
	if l.Mask.None() {
		return x
	}
	return x.Add(Lift[T](l.Mask.rows(i).Columns(j.from, j.to)))
}

// span is the range of rows from … to−1.
type span struct{ from, to int }

func (x Matrix[T]) rows(s span) Matrix[T] { return x.Tokens(s.from, s.to) }

// tiles yields spans of the given size that cover n rows; the last one may be shorter.
func tiles(n, size int) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for from := 0; from < n; from += size {
			if !yield(span{from, min(n, from+size)}) {
				return
			}
		}
	}
}
