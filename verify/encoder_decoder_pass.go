package verify

import (
	"fmt"
	"math"
)

// coder is a pass over the model.
type coder[T Number] struct {
	run[T]
	c  EncoderDecoder
	dz Matrix[T] // Δ at Z so far
}

func newPass[T Number](c EncoderDecoder, p Parameters[T]) *coder[T] {
	return &coder[T]{c: c, run: run[T]{GPT: GPT{Norm: c.Norm, Eps: c.Eps, Activation: c.Activation}, p: p, g: Parameters[T]{}}}
}

func (r *coder[T]) embed(side string, tokens []int, n int) Matrix[T] {
	tok, at := r.embedding(side+".wte", tokens), Positions(r.c.Batch, n)
	switch r.c.Position {
	case LearnedPositions:
		return tok.Add(r.embedding(side+".wpe", at))
	case SinusoidalPositions:
		return PositionsForward(tok, Lift[T](Sinusoids(n, tok.Cols, 10000)), at, math.Sqrt(float64(tok.Cols)))
	}
	return tok
}

func (r *coder[T]) embedBackward(side string, tokens []int, n int, delta Matrix[T]) {
	switch r.c.Position {
	case LearnedPositions:
		r.embeddingBackward(side+".wpe", Positions(r.c.Batch, n), delta)
	case SinusoidalPositions:
		delta = delta.Scale(math.Sqrt(float64(delta.Cols)))
	}
	r.embeddingBackward(side+".wte", tokens, delta)
}

func (r *coder[T]) stack(side string, x Matrix[T], parts []part[T]) (s stack[T]) {
	for _, p := range parts {
		s.inputs = append(s.inputs, x)
		x = r.around(p, x)
	}
	s.last, s.out = x, x
	if !r.c.PostNorm {
		s.out = r.norm(side+".ln_f", x)
	}
	return s
}

func (r *coder[T]) stackBackward(side string, s stack[T], parts []part[T], delta Matrix[T]) Matrix[T] {
	if !r.c.PostNorm {
		delta = r.normBackward(side+".ln_f", s.last, delta)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		delta = r.aroundBackward(parts[i], s.inputs[i], delta)
	}
	return delta
}

// part is what stands between two sums of a block: attention, cross-attention or the MLP.
type part[T Number] struct {
	name     string
	ln       string
	forward  func(x Matrix[T]) Matrix[T]
	backward func(x, delta Matrix[T]) Matrix[T] // Δ at x
}

// around is x + part(norm(x)), or norm(x + part(x)) in a post-norm block.
func (r *coder[T]) around(p part[T], x Matrix[T]) Matrix[T] {
	if r.c.PostNorm {
		return r.norm(p.ln, r.in(p.name, x, ResidualForward(x, p.forward(x))))
	}
	return r.in(p.name, x, ResidualForward(x, p.forward(r.norm(p.ln, x))))
}

func (r *coder[T]) aroundBackward(p part[T], x, delta Matrix[T]) Matrix[T] {
	if r.c.PostNorm {
		sum := r.at(p.ln, r.normBackward(p.ln, ResidualForward(x, p.forward(x)), delta)) // LNᵇ(Δ)
		return ResidualBackward(sum, p.backward(x, sum))
	}
	through := r.at(p.name, p.backward(r.norm(p.ln, x), delta))
	return ResidualBackward(delta, r.normBackward(p.ln, x, through)) // Δ + LNᵇ(…)
}

// encoder lists the parts of all blocks: every token of a source sees all of them but the padding.
func (r *coder[T]) encoder() (parts []part[T]) {
	heads := r.multiHead()
	for _, length := range r.c.Lengths {
		heads.Masks = append(heads.Masks, SourceMask(r.c.Source, r.c.Source, length))
	}
	for i := range r.c.Layers {
		h := fmt.Sprintf("encoder.h.%d.", i)
		parts = append(parts, r.attention(h+"ln_1", h+"attn", heads), r.mlp(h+"ln_2", h+"mlp"))
	}
	return parts
}

// decoder lists the parts of all blocks: a token of a target sees those before it, then the source.
func (r *coder[T]) decoder(z Matrix[T]) (parts []part[T]) {
	causal, cross := r.multiHead(), r.multiHead()
	for _, length := range r.c.Lengths {
		causal.Masks = append(causal.Masks, CausalMask(r.c.Target))
		cross.Masks = append(cross.Masks, SourceMask(r.c.Target, r.c.Source, length))
	}
	for i := range r.c.Layers {
		h := fmt.Sprintf("decoder.h.%d.", i)
		parts = append(parts, r.attention(h+"ln_1", h+"attn", causal), r.cross(h+"ln_cross", h+"cross", z, cross), r.mlp(h+"ln_2", h+"mlp"))
	}
	return parts
}

func (r *coder[T]) multiHead() MultiHead {
	return MultiHead{Batch: r.c.Batch, Heads: r.c.Heads, QK: r.c.QK}
}

// attention is multi-headed self-attention with its two linear layers.
func (r *coder[T]) attention(ln, name string, m MultiHead) part[T] {
	return part[T]{name, ln,
		func(x Matrix[T]) Matrix[T] {
			return r.linear(name+".c_proj", MultiHeadForward(r.linear(name+".c_attn", x), m))
		},
		func(x, delta Matrix[T]) Matrix[T] {
			qkv := r.linear(name+".c_attn", x)
			delta = r.linearBackward(name+".c_proj", MultiHeadForward(qkv, m), delta)
			return r.linearBackward(name+".c_attn", x, MultiHeadBackward(qkv, m, delta))
		},
	}
}

// cross is attention to z. Its backward pass adds what it sends back to Δ at z.
func (r *coder[T]) cross(ln, name string, z Matrix[T], m MultiHead) part[T] {
	weights := Cross[T]{
		r.p.need(name + ".c_q.weight"), r.p[name+".c_q.bias"], r.p.need(name + ".c_kv.weight"), r.p[name+".c_kv.bias"],
		r.p.need(name + ".c_proj.weight"), r.p[name+".c_proj.bias"],
	}
	return part[T]{name, ln,
		func(x Matrix[T]) Matrix[T] { return CrossAttentionForward(x, z, weights, m) },
		func(x, delta Matrix[T]) Matrix[T] {
			dx, dz, g := CrossAttentionBackward(x, z, weights, m, delta)
			r.dz = r.dz.Add(dz) // Σ over the blocks
			r.leave(name+".c_q.weight", g.Wq)
			r.leave(name+".c_q.bias", g.Bq)
			r.leave(name+".c_kv.weight", g.Wkv)
			r.leave(name+".c_kv.bias", g.Bkv)
			r.leave(name+".c_proj.weight", g.Wo)
			r.leave(name+".c_proj.bias", g.Bo)
			return dx
		},
	}
}

func (r *coder[T]) mlp(ln, name string) part[T] {
	return part[T]{name, ln,
		func(x Matrix[T]) Matrix[T] {
			return r.linear(name+".c_proj", ActivationForward(r.Activation, r.linear(name+".c_fc", x)))
		},
		func(x, delta Matrix[T]) Matrix[T] {
			hidden := r.linear(name+".c_fc", x)
			bent := r.linearBackward(name+".c_proj", ActivationForward(r.Activation, hidden), delta)
			return r.linearBackward(name+".c_fc", x, ActivationBackward(r.Activation, hidden, bent))
		},
	}
}
