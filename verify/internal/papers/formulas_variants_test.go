package papers

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func eluPlusOneForward[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] {
	return hand.EluPlusOne[T]{}.Forward(x)
}

func eluPlusOneBackward[T hand.Number](x, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := hand.EluPlusOne[T]{}.Backward(x, delta)
	return dx
}

func taylorFeaturesForward[T hand.Number](x hand.Matrix[T], eps float64) hand.Matrix[T] {
	return hand.TaylorFeatures[T]{Eps: eps}.Forward(x)
}

func taylorFeaturesBackward[T hand.Number](x hand.Matrix[T], eps float64, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := hand.TaylorFeatures[T]{Eps: eps}.Backward(x, delta)
	return dx
}

// linearAttentionForward returns a head of given features.
func linearAttentionForward[T hand.Number](phiQ, phiK, v hand.Matrix[T], see matrix) hand.Matrix[T] {
	return hand.LinearAttention[T]{Features: asTheyAre[T]{}, See: see}.Forward(phiQ, phiK, v)
}

func linearAttentionBackward[T hand.Number](
	phiQ, phiK, v hand.Matrix[T], see matrix, delta hand.Matrix[T],
) (dphiQ, dphiK, dv hand.Matrix[T]) {
	return hand.LinearAttention[T]{Features: asTheyAre[T]{}, See: see}.Backward(phiQ, phiK, v, delta)
}

func linearScanForward[T hand.Number](phiQ, phiK, v hand.Matrix[T]) hand.Matrix[T] {
	return hand.LinearScan[T]{Features: asTheyAre[T]{}}.Forward(phiQ, phiK, v)
}

func linearScanBackward[T hand.Number](phiQ, phiK, v, delta hand.Matrix[T]) (dphiQ, dphiK, dv hand.Matrix[T]) {
	return hand.LinearScan[T]{Features: asTheyAre[T]{}}.Backward(phiQ, phiK, v, delta)
}

func linformerForward[T hand.Number](q, k, v, e, f hand.Matrix[T], drop matrix) hand.Matrix[T] {
	return linformer(e, f, drop).Forward(hand.Values[T]{"q": q, "k": k, "v": v})["y"]
}

// linformer is one head.
func linformer[T hand.Number](e, f hand.Matrix[T], drop matrix) hand.Mixtures[T] {
	return hand.Mixtures[T]{E: e, F: f, Batch: 1, Heads: 1, Weights: hand.Dropout[T]{Mask: drop}}
}

func linformerBackward[T hand.Number](
	q, k, v, e, f hand.Matrix[T], drop matrix, delta hand.Matrix[T],
) (dq, dk, dv, de, df hand.Matrix[T]) {
	at := hand.Values[T]{"q": q, "k": k, "v": v}
	read, g := linformer(e, f, drop).Backward(at, hand.Values[T]{"y": delta})
	by := g.Parameters()
	return read["q"], read["k"], read["v"], by["e.weight"], by["f.weight"]
}

// tile is the size of the tiles of Flash.
type tile struct{ Queries, Keys int }

func flashForward[T hand.Number](q, k, v hand.Matrix[T], mask matrix, size tile) (o, lse hand.Matrix[T]) {
	return hand.Flash[T]{Mask: mask, Queries: size.Queries, Keys: size.Keys}.Attend(q, k, v)
}

func flashBackward[T hand.Number](
	q, k, v hand.Matrix[T], mask matrix, delta hand.Matrix[T], size tile,
) (dq, dk, dv hand.Matrix[T]) {
	return hand.Flash[T]{Mask: mask, Queries: size.Queries, Keys: size.Keys}.Backward(q, k, v, delta)
}

// flashHeads returns heads under one mask, computed tile by tile.
func flashHeads(m multiHead, mask matrix, size tile) hand.Heads[float64] {
	return hand.Heads[float64]{Batch: m.Batch, Count: m.Heads, Head: func(int, int) hand.Head[float64] {
		return hand.Flash[float64]{Mask: mask, Queries: size.Queries, Keys: size.Keys}
	}}
}

func flashHeadsForward(qkv matrix, m multiHead, mask matrix, size tile) matrix {
	return flashHeads(m, mask, size).Forward(unpacked(qkv, m))
}

func flashHeadsBackward(qkv matrix, m multiHead, mask matrix, size tile, delta matrix) matrix {
	q, k, v := unpacked(qkv, m)
	return packed(flashHeads(m, mask, size).Backward(q, k, v, delta))
}

// onlineSoftmax returns the softmax of each row by Xu (77) and (78): one pass for the maximum and the sum together, one
// column at a time, and one for the weights. A row that contains only −∞ has the weights 0.
func onlineSoftmax[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] {
	a := hand.NewPartial(x.Columns(0, 1), hand.Matrix[T]{})
	for i := 1; i < x.Cols; i++ {
		a = a.Merge(hand.NewPartial(x.Columns(i, i+1), hand.Matrix[T]{}))
	}
	out := hand.Zeros[T](x.Rows, x.Cols)
	for i := range x.Rows {
		row := x.Tokens(i, i+1)
		if a.Total.Data[i] != 0 {
			copy(out.Data[i*x.Cols:], row.Sub(a.Max.Tokens(i, i+1)).Exp().Div(a.Total.Tokens(i, i+1)).Data)
		}
	}
	return out
}

// rotary rotates the first Groups·Size features of a token, each group by itself; the features after them are
// unchanged.
type rotary struct {
	Positions    []int // of the tokens, in their order
	Groups, Size int
	Theta        float64
}

func ropeOf(r rotary) hand.RoPE[float64] {
	return hand.RoPE[float64]{Positions: r.Positions, Size: r.Size, Theta: r.Theta}
}

// rotating splits off the rotating features.
func (r rotary) rotating(x matrix) (rotating, passing matrix) {
	width := r.Groups * r.Size
	return x.Columns(0, width), x.Columns(width, x.Cols)
}

func ropeForward(x matrix, r rotary) matrix {
	rotating, passing := r.rotating(x)
	return hand.Join(ropeOf(r).Forward(rotating), passing)
}

func ropeBackward(r rotary, delta matrix) matrix {
	rotating, passing := r.rotating(delta)
	dx, _ := ropeOf(r).Backward(rotating, rotating)
	return hand.Join(dx, passing)
}

// mlaParameters holds the parameters of latent attention: Wq (d, H·dρ), Down (d, dc), UpK (dc, H·dρ), UpV (dc, H·dh),
// Wo (H·dh, d), Bo (1, d).
type mlaParameters struct{ Wq, Down, UpK, UpV, Wo, Bo matrix }

func linearOf(w matrix) hand.Linear[float64] { return hand.Linear[float64]{Weight: w} }

func mlaOf(p mlaParameters, m multiHead) hand.Layer[float64] {
	return hand.MLA[float64]{
		Query: linearOf(p.Wq), Down: linearOf(p.Down), UpK: linearOf(p.UpK), UpV: linearOf(p.UpV),
		Heads: handHeads[float64](m),
		Proj:  hand.Linear[float64]{Weight: p.Wo, Bias: p.Bo},
	}
}

func absorbedOf(p mlaParameters, m multiHead) hand.Layer[float64] {
	return hand.MLAAbsorbed[float64]{
		Wq: p.Wq, Down: p.Down, UpK: p.UpK, UpV: p.UpV, Wo: p.Wo, Bo: p.Bo, Batch: m.Batch, Heads: m.Heads,
		Mask: m.mask(0, 0),
	}
}

func mlaGradients(dx matrix, g hand.Gradients[float64]) (matrix, mlaParameters) {
	by := g.Parameters()
	return dx, mlaParameters{
		by["c_q.weight"], by["c_kv_down.weight"], by["c_k_up.weight"], by["c_v_up.weight"], by["c_proj.weight"],
		by["c_proj.bias"],
	}
}

func mlaForward(x matrix, p mlaParameters, m multiHead) matrix { return mlaOf(p, m).Forward(x) }

func mlaBackward(x matrix, p mlaParameters, m multiHead, delta matrix) (matrix, mlaParameters) {
	return mlaGradients(mlaOf(p, m).Backward(x, delta))
}

func mlaAbsorbedForward(x matrix, p mlaParameters, m multiHead) matrix {
	return absorbedOf(p, m).Forward(x)
}

func mlaAbsorbedBackward(x matrix, p mlaParameters, m multiHead, delta matrix) (matrix, mlaParameters) {
	return mlaGradients(absorbedOf(p, m).Backward(x, delta))
}

// mlaRoPEParameters holds the parameters of latent attention with rotary parts.
type mlaRoPEParameters struct {
	DownQ, UpQ, RoPEQ, Down, UpK, RoPEK, UpV, Wo, Bo matrix
}

func mlaRoPEOf(p mlaRoPEParameters, m multiHead, r rotary, fromLatent bool) hand.Layer[float64] {
	return hand.MLARoPE[float64]{
		DownQ: linearOf(p.DownQ), UpQ: linearOf(p.UpQ), RoPEQ: linearOf(p.RoPEQ),
		Down: linearOf(p.Down), UpK: linearOf(p.UpK), RoPEK: linearOf(p.RoPEK), UpV: linearOf(p.UpV),
		FromLatent: fromLatent,
		Rotary:     ropeOf(r), Heads: handHeads[float64](m),
		Proj: hand.Linear[float64]{Weight: p.Wo, Bias: p.Bo},
	}
}

func mlaRoPEForward(x matrix, p mlaRoPEParameters, m multiHead, r rotary) matrix {
	return mlaRoPEOf(p, m, r, false).Forward(x)
}

func mlaRoPELatentForward(x matrix, p mlaRoPEParameters, m multiHead, r rotary) matrix {
	return mlaRoPEOf(p, m, r, true).Forward(x)
}

func mlaRoPEGradients(dx matrix, g hand.Gradients[float64]) (matrix, mlaRoPEParameters) {
	by := g.Parameters()
	return dx, mlaRoPEParameters{
		by["c_q_down.weight"], by["c_q_up.weight"], by["c_q_rope.weight"], by["c_kv_down.weight"], by["c_k_up.weight"],
		by["c_k_rope.weight"],
		by["c_v_up.weight"], by["c_proj.weight"], by["c_proj.bias"],
	}
}

func mlaRoPEBackward(x matrix, p mlaRoPEParameters, m multiHead, r rotary, delta matrix) (matrix, mlaRoPEParameters) {
	return mlaRoPEGradients(mlaRoPEOf(p, m, r, false).Backward(x, delta))
}

func mlaRoPELatentBackward(
	x matrix, p mlaRoPEParameters, m multiHead, r rotary, delta matrix,
) (matrix, mlaRoPEParameters) {
	return mlaRoPEGradients(mlaRoPEOf(p, m, r, true).Backward(x, delta))
}
