package verify

import (
	"fmt"
	"math"
)

// Position says what tells a token where it stands.
type Position int

// The positions. Biases of the scores are part of the mask.
const (
	LearnedPositions    Position = iota // a row of wpe.weight is added
	SinusoidalPositions                 // the embeddings times √d, and waves are added
	RotaryPositions                     // queries and keys turn
	NoPositions
)

// Norm is the kind of all layer normalisations.
type Norm int

// The norms.
const (
	NormRoot  Norm = iota // √(σ² + ε)
	NormSigma             // σ + ε
	NormPlain             // no gain and no shift
)

// Mixing is what attention does with queries and keys, and how it comes by them.
type Mixing int

// The mixings.
const (
	SoftmaxMixing       Mixing = iota
	LinearMixing               // features elu + 1 in place of the softmax
	TaylorMixing               // features [1, x̂]
	LongformerMixing           // windows, and global tokens with projections of their own
	LatentMixing               // keys and values of a latent
	LatentRotaryMixing         // and a part that turns, whose key is made of the token
	LatentRotaryMixing2        // and a part that turns, whose key is made of the latent
)

// latent says whether queries, keys and values come by way of latents.
func (m Mixing) latent() bool { return m >= LatentMixing }

// place is a₁: the embedded tokens with what positions add.
func (r *run[T]) place(tok Matrix[T]) Matrix[T] {
	switch r.Position {
	case LearnedPositions:
		return tok.Add(r.embedding("wpe", Positions(r.Batch, r.Context)))
	case SinusoidalPositions:
		waves := Lift[T](Sinusoids(r.Context, tok.Cols, 10000))
		return PositionsForward(tok, waves, Positions(r.Batch, r.Context), math.Sqrt(float64(tok.Cols)))
	}
	return tok
}

func (r *run[T]) placeBackward(d1 Matrix[T]) (dtok Matrix[T]) {
	switch r.Position {
	case LearnedPositions:
		r.embeddingBackward("wpe", Positions(r.Batch, r.Context), d1) // ohe(1:n)ᵗ Δ₁
	case SinusoidalPositions:
		return d1.Scale(math.Sqrt(float64(d1.Cols)))
	}
	return d1
}

// rotary turns the first groups of size features.
func (r *run[T]) rotary(groups, size int) Rotary {
	return Rotary{Positions: Positions(r.Batch, r.Context), Groups: groups, Size: size, Theta: r.Theta}
}

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
	if r.Mixing == LatentRotaryMixing2 {
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
	if r.Mixing == LatentRotaryMixing2 {
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
		return r.eachHead(i, qkv, func(q, k, v Matrix[T], see Matrix[float64], _ int) []Matrix[T] {
			return []Matrix[T]{LinearAttentionForward(r.features(q), r.features(k), v, see)}
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
		d = r.eachHead(i, qkv, func(q, k, v Matrix[T], see Matrix[float64], at int) []Matrix[T] {
			b, h := at/r.Heads, at%r.Heads
			own := delta.Tokens(b*q.Rows, (b+1)*q.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			dphiQ, dphiK, dv := LinearAttentionBackward(r.features(q), r.features(k), v, see, own)
			return []Matrix[T]{r.featuresBackward(q, dphiQ), r.featuresBackward(k, dphiK), dv}
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

// eachHead calls f for every head of every sequence and packs what it returns: the first of all heads, then the second,
// and so on. see has a 1 for every key that a query sees.
func (r *run[T]) eachHead(i int, qkv Matrix[T], f func(q, k, v Matrix[T], see Matrix[float64], at int) []Matrix[T]) Matrix[T] {
	m := r.heads(i)
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		var parts []Matrix[T]
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			out := f(q, k, v, m.maskOf(b, h).Exp(), b*m.Heads+h)
			if parts == nil {
				parts = make([]Matrix[T], len(out)*m.Heads)
			}
			for j, o := range out {
				parts[j*m.Heads+h] = o
			}
		}
		sequences[b] = JoinColumns(parts...)
	}
	return JoinTokens(sequences...)
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

// recurrent is block i of an Elman network; its input layer is a linear layer like others.
func (r *run[T]) recurrent(i int, x Matrix[T]) (b Block[T]) {
	h := fmt.Sprintf("h.%d.", i)
	b.A1 = x
	b.A2 = r.linear(h+"c_input", x) // x U + b   (B·n, d)
	b.A10 = ElmanForward(b.A2, identity[T](x.Cols), r.p.need(h+"weight"), Matrix[T]{}, r.Batch)
	return b
}

func (r *run[T]) recurrentBackward(i int, b Block[T], delta Matrix[T]) Matrix[T] {
	h := fmt.Sprintf("h.%d.", i)
	d2, _, dw, _ := ElmanBackward(b.A2, identity[T](b.A1.Cols), r.p.need(h+"weight"), Matrix[T]{}, r.Batch, delta)
	r.leave(h+"weight", dw)
	return r.linearBackward(h+"c_input", b.A1, d2)
}

func identity[T Number](n int) Matrix[T] {
	out := Zeros[T](n, n)
	for i := range n {
		out.Data[i*n+i] = 1
	}
	return out
}
