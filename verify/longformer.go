package verify

import "math"

// LongformerMask is two masks (n, n) of one head: a pair of tokens meets by the
// queries, keys and values of the one or by those of the other, never by both.
type LongformerMask struct {
	Local, Global Matrix[float64]
	Drop          Matrix[float64] // dropout of the weights, (n, 2n); none: no dropout
}

// LongformerForward lets tokens meet in windows, and global tokens meet everybody by
// projections of their own; both share one softmax.
//
//	[ρ | ρᵍ] = softmax([q kᵗ/√dρ + M | qᵍ kᵍᵗ/√dρ + Mᵍ])      (n, 2n)
//	y = ρ v + ρᵍ vᵍ                                            (n, dh)
//
// (Beltagy et al. 2020, section 3.1; Conti 2.1.1)
func LongformerForward[T Number](q, k, v, qg, kg, vg Matrix[T], m LongformerMask) Matrix[T] {
	rho := longformerWeights(q, k, qg, kg, m)
	return DropoutForward(rho, m.Drop).MatMul(JoinTokens(v, vg))
}

func longformerWeights[T Number](q, k, qg, kg Matrix[T], m LongformerMask) Matrix[T] {
	raw := JoinColumns(q.MatMul(k.Transpose()), qg.MatMul(kg.Transpose()))
	scaled := raw.Scale(1 / math.Sqrt(float64(q.Cols)))
	return scaled.Add(Lift[T](JoinColumns(m.Local, m.Global))).Softmax()
}

// LongformerBackward carries Δ to both kinds of queries, keys and values.
//
//	[Δ_raw | Δ_rawᵍ] = ρ ∘ (Δρ − rowsum(Δρ ∘ ρ))/√dρ,  Δρ = Δ [v | vᵍ]ᵗ
func LongformerBackward[T Number](q, k, v, qg, kg, vg Matrix[T], m LongformerMask, delta Matrix[T]) (dq, dk, dv, dqg, dkg, dvg Matrix[T]) {
	n := q.Rows
	rho := longformerWeights(q, k, qg, kg, m)
	values := DropoutForward(rho, m.Drop).Transpose().MatMul(delta)                              // [Δv; Δvᵍ]   (2n, dh)
	drho := DropoutBackward(m.Drop, delta.MatMul(JoinTokens(v, vg).Transpose()))                 //             (n, 2n)
	draw := drho.Sub(drho.Mul(rho).SumFeatures()).Mul(rho).Scale(1 / math.Sqrt(float64(q.Cols))) //         (n, 2n)
	local, global := draw.Columns(0, n), draw.Columns(n, 2*n)
	dq, dk, dv = local.MatMul(k), local.Transpose().MatMul(q), values.Tokens(0, n)
	dqg, dkg, dvg = global.MatMul(kg), global.Transpose().MatMul(qg), values.Tokens(n, 2*n)
	return dq, dk, dv, dqg, dkg, dvg
}

// LongformerHeadsForward lets every head of two packed projections attend on its own;
// there is a mask for every sequence and head.
func LongformerHeadsForward[T Number](near, global Matrix[T], m MultiHead, masks []LongformerMask) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		heads := make([]Matrix[T], m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, near, b, h)
			qg, kg, vg := split(m, global, b, h)
			heads[h] = LongformerForward(q, k, v, qg, kg, vg, masks[b*m.Heads+h])
		}
		sequences[b] = JoinColumns(heads...)
	}
	return JoinTokens(sequences...)
}

// LongformerHeadsBackward packs the heads' Δ as the forward was packed.
func LongformerHeadsBackward[T Number](near, global Matrix[T], m MultiHead, masks []LongformerMask, delta Matrix[T]) (dnear, dglobal Matrix[T]) {
	var nears, globals []Matrix[T]
	for b := range m.Batch {
		d, dg := make([]Matrix[T], 3*m.Heads), make([]Matrix[T], 3*m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, near, b, h)
			qg, kg, vg := split(m, global, b, h)
			own := delta.Tokens(b*q.Rows, (b+1)*q.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			d[h], d[m.Heads+h], d[2*m.Heads+h], dg[h], dg[m.Heads+h], dg[2*m.Heads+h] =
				LongformerBackward(q, k, v, qg, kg, vg, masks[b*m.Heads+h], own)
		}
		nears, globals = append(nears, JoinColumns(d...)), append(globals, JoinColumns(dg...))
	}
	return JoinTokens(nears...), JoinTokens(globals...)
}
