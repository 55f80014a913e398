package verify

import "fmt"

// mix lets the tokens of block i meet, from packed queries, keys and values to the heads' results side by side.
func (r *run[T]) mix(i int, qkv Matrix[T]) Matrix[T] {
	if r.Mixing == LongformerMixing {
		near, global := r.twoKinds(qkv)
		return LongformerHeadsForward(near, global, r.heads(i), r.windows(i))
	}
	if r.Position == RotaryPositions && !r.Mixing.latent() {
		qkv = RoPEForward(qkv, r.rotary(2*r.Heads, r.QK))
	}
	if r.Mixing == LinearMixing || r.Mixing == TaylorMixing {
		m := r.heads(i)
		return eachHead(qkv, m, func(b, h int, q, k, v Matrix[T]) Matrix[T] {
			return LinearAttentionForward(r.features(q), r.features(k), v, m.maskOf(b, h).Exp())
		})
	}
	return MultiHeadForward(qkv, r.heads(i))
}

func (r *run[T]) mixBackward(i int, qkv, delta Matrix[T]) (d Matrix[T]) {
	turns := r.Position == RotaryPositions && !r.Mixing.latent()
	if r.Mixing == LongformerMixing {
		near, global := r.twoKinds(qkv)
		dnear, dglobal := LongformerHeadsBackward(near, global, r.heads(i), r.windows(i), delta)
		if turns {
			dnear, dglobal = RoPEBackward(r.rotary(2*r.Heads, r.QK), dnear), RoPEBackward(r.rotary(2*r.Heads, r.QK), dglobal)
		}
		return JoinColumns(dnear, dglobal)
	}
	if turns {
		qkv = RoPEForward(qkv, r.rotary(2*r.Heads, r.QK))
	}
	if r.Mixing == LinearMixing || r.Mixing == TaylorMixing {
		m := r.heads(i)
		d = eachHeadBackward(qkv, m, delta, func(b, h int, q, k, v, own Matrix[T]) (dq, dk, dv Matrix[T]) {
			dphiQ, dphiK, dv := LinearAttentionBackward(r.features(q), r.features(k), v, m.maskOf(b, h).Exp(), own)
			return r.featuresBackward(q, dphiQ), r.featuresBackward(k, dphiK), dv
		})
	} else {
		d = MultiHeadBackward(qkv, r.heads(i), delta)
	}
	if turns {
		d = RoPEBackward(r.rotary(2*r.Heads, r.QK), d)
	}
	return d
}

// twoKinds are the projections for windows and those for global tokens.
func (r *run[T]) twoKinds(both Matrix[T]) (near, global Matrix[T]) {
	half := both.Cols / 2
	near, global = both.Columns(0, half), both.Columns(half, 2*half)
	if r.Position == RotaryPositions {
		near, global = RoPEForward(near, r.rotary(2*r.Heads, r.QK)), RoPEForward(global, r.rotary(2*r.Heads, r.QK))
	}
	return near, global
}

// windows are the masks of all heads of all sequences. The library's weights of a query, (B·H·n, 2n), go key by key: that
// of the window, then the global one.
func (r *run[T]) windows(i int) (list []LongformerMask) {
	drop := r.drop(fmt.Sprintf("h.%d.attn.attn_dropout", i))
	for at := range r.Batch * r.Heads {
		m := r.Windows(at % r.Heads)
		if n := r.Context; !drop.None() {
			m.Drop = Zeros[float64](n, 2*n)
			for j, v := range drop.Tokens(at*n, (at+1)*n).Data {
				row, key := j/(2*n), j%(2*n)
				m.Drop.Data[row*2*n+key%2*n+key/2] = v
			}
		}
		list = append(list, m)
	}
	return list
}

func (r *run[T]) features(x Matrix[T]) Matrix[T] {
	if r.Mixing == TaylorMixing {
		return TaylorFeaturesForward(x, r.Eps)
	}
	return EluPlusOneForward(x)
}

func (r *run[T]) featuresBackward(x, delta Matrix[T]) Matrix[T] {
	if r.Mixing == TaylorMixing {
		return TaylorFeaturesBackward(x, r.Eps, delta)
	}
	return EluPlusOneBackward(x, delta)
}
