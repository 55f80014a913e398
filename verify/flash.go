package verify

import "math"

// Partial is the attention of queries over some of the keys (R. Xu, "Transformer with PyTorch", 5.2 and 5.3). A row of it
// says all that the keys seen so far have to say, whatever order they came in; Merge puts two of them together.
//
//	m = max x                (n, 1)
//	d = Σ e^(x−m)            (n, 1)      Xu (74)
//	o = Σ e^(x−m)/d · v      (n, dh)     Xu (82)
//
// A query that has not seen a key has m = −∞, d = 0 and o = 0; read literally, the paper has NaN (erratum X1b).
type Partial[T Number] struct {
	Max, Total Matrix[T]
	Out        Matrix[T] // none where only the softmax is wanted
}

// NewPartial is that of a tile of scores (n, m) with its values (m, dh), if any.
func NewPartial[T Number](scores, values Matrix[T]) Partial[T] {
	top := scores.RowMax()
	p := exponentials(scores, top)
	a := Partial[T]{Max: top, Total: p.SumFeatures()}
	if !values.None() {
		a.Out = share(p, a.Total).MatMul(values)
	}
	return a
}

// Merge is the attention over the keys of both, which have none in common. With one key in b it is the step of Xu (84),
// whose factor e^(m_i)/e^(m_(i−1)) is upside down (erratum X1); the two exponentials of the quotient would overflow.
//
//	m = max(m_a, m_b)
//	d = d_a e^(m_a−m) + d_b e^(m_b−m)
//	o = o_a (d_a/d) e^(m_a−m) + o_b (d_b/d) e^(m_b−m)
func (a Partial[T]) Merge(b Partial[T]) Partial[T] {
	top := a.Max.combine("max", b.Max, func(x, y T) T { return number[T](max(realPart(x), realPart(y))) })
	fromA := a.Total.Mul(exponentials(a.Max, top))
	fromB := b.Total.Mul(exponentials(b.Max, top))
	c := Partial[T]{Max: top, Total: fromA.Add(fromB)}
	if !a.Out.None() {
		c.Out = a.Out.Mul(share(fromA, c.Total)).Add(b.Out.Mul(share(fromB, c.Total)))
	}
	return c
}

// LogSumExp is ln Σ eˣ = m + ln d, (n, 1); −∞ for a query that has not seen a key.
func (a Partial[T]) LogSumExp() Matrix[T] { return a.Max.Add(a.Total.Log()) }

// OnlineSoftmax is the softmax of each row by Xu (77) and (78): one pass for the maximum and the sum together, one column
// at a time, and one for the weights. A row of −∞ alone has the weights 0.
func OnlineSoftmax[T Number](x Matrix[T]) Matrix[T] {
	a := NewPartial(x.Columns(0, 1), Matrix[T]{})
	for i := 1; i < x.Cols; i++ {
		a = a.Merge(NewPartial(x.Columns(i, i+1), Matrix[T]{}))
	}
	return share(exponentials(x, a.Max), a.Total)
}

// exponentials returns e^(x−m), and 0 where x is −∞ even if m is.
func exponentials[T Number](x, m Matrix[T]) Matrix[T] {
	return x.Sub(m).Exp().combine("guard", x, func(e, x T) T {
		if math.IsInf(realPart(x), -1) {
			return 0
		}
		return e
	})
}

// share returns x/total, and 0 where there is nothing to share.
func share[T Number](x, total Matrix[T]) Matrix[T] {
	return x.combine("share", total, func(x, total T) T {
		if total == 0 {
			return 0
		}
		return x / total
	})
}

// Tile is how many queries and keys are looked at at a time.
type Tile struct{ Queries, Keys int }

// FlashForward is AttentionForward tile by tile, so that no more than a tile of the weights exists at a time. With the
// output (n, dh) it returns the log-sum-exp of every query's scores, (n, 1), from which FlashBackward has the weights
// back. A query that may not look at any key gets 0.
func FlashForward[T Number](q, k, v Matrix[T], mask Matrix[float64], tile Tile) (o, lse Matrix[T]) {
	if tile.Queries < 1 || tile.Keys < 1 {
		err := failed[T]("tiles of %d queries and %d keys", tile.Queries, tile.Keys)
		return err, err
	}
	var outs, sums []Matrix[T]
	for i := range tiles(q.Rows, tile.Queries) {
		var a Partial[T]
		for j := range tiles(k.Rows, tile.Keys) {
			b := NewPartial(tileScores(q, k, mask, i, j), v.rows(j))
			if j.from > 0 {
				b = a.Merge(b)
			}
			a = b
		}
		outs, sums = append(outs, a.Out), append(sums, a.LogSumExp())
	}
	return JoinTokens(outs...), JoinTokens(sums...)
}

// FlashBackward is AttentionBackward tile by tile, from the output and the log-sum-exp of FlashForward. The paper has no
// backward pass (erratum X14). What has to be known of a whole row of the weights is D, the row sums of ρ∘Δvᵗ, and they
// are those of Δ∘o.
//
//	ρ = e^(x − lse),   D = Σ_features Δ∘o,   Δ_raw = ρ∘(Δvᵗ − D)/√dρ
func FlashBackward[T Number](q, k, v Matrix[T], mask Matrix[float64], o, lse, delta Matrix[T], tile Tile) (dq, dk, dv Matrix[T]) {
	if tile.Queries < 1 || tile.Keys < 1 {
		err := failed[T]("tiles of %d queries and %d keys", tile.Queries, tile.Keys)
		return err, err, err
	}
	d := delta.Mul(o).SumFeatures() //                                       D       (n, 1)
	scale := 1 / math.Sqrt(float64(q.Cols))
	dq = Zeros[T](q.Rows, q.Cols)
	var dks, dvs []Matrix[T]
	for j := range tiles(k.Rows, tile.Keys) {
		dkj, dvj := Zeros[T](j.to-j.from, k.Cols), Zeros[T](j.to-j.from, v.Cols)
		var dqs []Matrix[T]
		for i := range tiles(q.Rows, tile.Queries) {
			rho := exponentials(tileScores(q, k, mask, i, j), lse.rows(i)) //  ρ of the tile
			drho := delta.rows(i).MatMul(v.rows(j).Transpose())            //  Δ vᵗ
			draw := rho.Mul(drho.Sub(d.rows(i))).Scale(scale)              //  Δ_raw
			dqs = append(dqs, draw.MatMul(k.rows(j)))                      //  Δ_raw k
			dkj = dkj.Add(draw.Transpose().MatMul(q.rows(i)))              //  Δ_rawᵗ q
			dvj = dvj.Add(rho.Transpose().MatMul(delta.rows(i)))           //  ρᵗ Δ
		}
		dq = dq.Add(JoinTokens(dqs...))
		dks, dvs = append(dks, dkj), append(dvs, dvj)
	}
	return dq, JoinTokens(dks...), JoinTokens(dvs...)
}

// tileScores are q kᵗ/√dρ + M for some queries and keys.
func tileScores[T Number](q, k Matrix[T], mask Matrix[float64], i, j span) Matrix[T] {
	x := q.rows(i).MatMul(k.rows(j).Transpose()).Scale(1 / math.Sqrt(float64(q.Cols)))
	if mask.None() {
		return x
	}
	return x.Add(Lift[T](mask.rows(i).Columns(j.from, j.to)))
}

// span are the rows from … to−1.
type span struct{ from, to int }

func (x Matrix[T]) rows(s span) Matrix[T] { return x.Tokens(s.from, s.to) }

// tiles divides n rows into spans of the given size, the last of which may be shorter.
func tiles(n, size int) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for from := 0; from < n; from += size {
			if !yield(span{from, min(n, from+size)}) {
				return
			}
		}
	}
}

// FlashHeadsForward is MultiHeadForward in tiles.
func FlashHeadsForward[T Number](qkv Matrix[T], m MultiHead, mask Matrix[float64], tile Tile) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		heads := make([]Matrix[T], m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			heads[h], _ = FlashForward(q, k, v, mask, tile)
		}
		sequences[b] = JoinColumns(heads...)
	}
	return JoinTokens(sequences...)
}

// FlashHeadsBackward is MultiHeadBackward in tiles.
func FlashHeadsBackward[T Number](qkv Matrix[T], m MultiHead, mask Matrix[float64], tile Tile, delta Matrix[T]) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		parts := make([]Matrix[T], 3*m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			own := delta.Tokens(b*q.Rows, (b+1)*q.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			o, lse := FlashForward(q, k, v, mask, tile)
			parts[h], parts[m.Heads+h], parts[2*m.Heads+h] = FlashBackward(q, k, v, mask, o, lse, own, tile)
		}
		sequences[b] = JoinColumns(parts...)
	}
	return JoinTokens(sequences...)
}
