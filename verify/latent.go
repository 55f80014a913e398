package verify

import "fmt"

// queries makes the packed queries, keys and values of block i.
func (r *run[T]) queries(i int, x Matrix[T]) Matrix[T] {
	h := fmt.Sprintf("h.%d.attn.", i)
	if r.Mixing == LongformerMixing {
		return JoinColumns(r.linear(h+"c_attn", x), r.linear(h+"c_attn_global", x))
	}
	if !r.Mixing.latent() {
		return r.linear(h+"c_attn", x)
	}
	latent := r.linear(h+"c_kv_down", x)
	k, v := r.linear(h+"c_k_up", latent), r.linear(h+"c_v_up", latent)
	if r.Mixing == LatentMixing {
		return JoinColumns(r.linear(h+"c_q", x), k, v)
	}
	source := x
	if r.Mixing == LatentKeyRotaryMixing {
		source = latent
	}
	qlatent, kR := r.linear(h+"c_q_down", x), r.linear(h+"c_k_rope", source)
	turned := RoPEForward(r.linear(h+"c_q_rope", qlatent), r.rotary(r.Heads, kR.Cols))
	kR = RoPEForward(kR, r.rotary(1, kR.Cols))
	content := r.linear(h+"c_q_up", qlatent)
	return JoinColumns(r.interleave(content, turned), r.interleave(k, repeated(kR, r.Heads)), v)
}

func (r *run[T]) queriesBackward(i int, x, delta Matrix[T]) (dx Matrix[T]) {
	h := fmt.Sprintf("h.%d.attn.", i)
	if r.Mixing == LongformerMixing {
		half := delta.Cols / 2
		return r.linearBackward(h+"c_attn", x, delta.Columns(0, half)).Add(r.linearBackward(h+"c_attn_global", x, delta.Columns(half, 2*half)))
	}
	if !r.Mixing.latent() {
		return r.linearBackward(h+"c_attn", x, delta)
	}
	latent, qk := r.linear(h+"c_kv_down", x), r.Heads*r.width(i)
	dq, dk, dv := delta.Columns(0, qk), delta.Columns(qk, 2*qk), delta.Columns(2*qk, delta.Cols)
	dlatent := r.linearBackward(h+"c_v_up", latent, dv)
	if r.Mixing == LatentMixing {
		dlatent = dlatent.Add(r.linearBackward(h+"c_k_up", latent, dk))
		return r.linearBackward(h+"c_q", x, dq).Add(r.linearBackward(h+"c_kv_down", x, dlatent))
	}
	turn := r.width(i) - r.QK
	qlatent := r.linear(h+"c_q_down", x)
	dcontent, dturned := r.apart(dq)
	dqlatent := r.linearBackward(h+"c_q_up", qlatent, dcontent)
	dqlatent = dqlatent.Add(r.linearBackward(h+"c_q_rope", qlatent, RoPEBackward(r.rotary(r.Heads, turn), dturned)))
	dx = r.linearBackward(h+"c_q_down", x, dqlatent)
	dcontent, dturned = r.apart(dk)
	dlatent = dlatent.Add(r.linearBackward(h+"c_k_up", latent, dcontent))
	dshared := RoPEBackward(r.rotary(1, turn), overHeads(dturned, r.Heads)) // one key for all heads: their sum
	if r.Mixing == LatentKeyRotaryMixing {
		dlatent = dlatent.Add(r.linearBackward(h+"c_k_rope", latent, dshared))
	} else {
		dx = dx.Add(r.linearBackward(h+"c_k_rope", x, dshared))
	}
	return dx.Add(r.linearBackward(h+"c_kv_down", x, dlatent))
}

// width is the features of a query or key, those that turn by themselves included.
func (r *run[T]) width(i int) int {
	return r.QK + r.p[fmt.Sprintf("h.%d.attn.c_k_rope.weight", i)].Cols
}

// interleave puts the two parts of every head side by side, and apart takes them apart.
func (r *run[T]) interleave(a, b Matrix[T]) Matrix[T] {
	var parts []Matrix[T]
	wide, thin := a.Cols/r.Heads, b.Cols/r.Heads
	for h := range r.Heads {
		parts = append(parts, a.Columns(h*wide, (h+1)*wide), b.Columns(h*thin, (h+1)*thin))
	}
	return JoinColumns(parts...)
}

func (r *run[T]) apart(x Matrix[T]) (a, b Matrix[T]) {
	var content, turned []Matrix[T]
	width := x.Cols / r.Heads
	for h := range r.Heads {
		content = append(content, x.Columns(h*width, h*width+r.QK))
		turned = append(turned, x.Columns(h*width+r.QK, (h+1)*width))
	}
	return JoinColumns(content...), JoinColumns(turned...)
}

func repeated[T Number](x Matrix[T], times int) Matrix[T] {
	parts := make([]Matrix[T], times)
	for i := range parts {
		parts[i] = x
	}
	return JoinColumns(parts...)
}

func overHeads[T Number](x Matrix[T], heads int) Matrix[T] {
	w := x.Cols / heads
	sum := x.Columns(0, w)
	for h := 1; h < heads; h++ {
		sum = sum.Add(x.Columns(h*w, (h+1)*w))
	}
	return sum
}
