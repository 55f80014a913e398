package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// run is one pass over a model: where its layers find their parameters and leave
// their gradients.
type run[T Number] struct {
	GPT
	p, g   Parameters[T]
	deltas []Delta[T]
}

// at notes the Δ of a place and passes it on.
func (r *run[T]) at(name string, delta Matrix[T]) Matrix[T] {
	r.deltas = append(r.deltas, Delta[T]{name, delta})
	return delta
}

// leave notes the gradient of a parameter, if there is such a parameter.
func (r *run[T]) leave(name string, gradient Matrix[T]) {
	if _, ok := r.p[name]; ok {
		r.g[name] = gradient
	}
}

// in puts the name of a layer before an error that arose there, given its input.
func (r *run[T]) in(name string, x, y Matrix[T]) Matrix[T] {
	if x.Err == nil && y.Err != nil {
		y.Err = fmt.Errorf("%s: %w", name, y.Err)
	}
	return y
}

func (r *run[T]) embedding(name string, indices []int) Matrix[T] {
	return r.in(name, Matrix[T]{}, EmbeddingForward(r.p.need(name+".weight"), indices))
}

func (r *run[T]) embeddingBackward(name string, indices []int, delta Matrix[T]) {
	r.leave(name+".weight", EmbeddingBackward(r.p.need(name+".weight"), indices, delta))
}

func (r *run[T]) norm(name string, x Matrix[T]) Matrix[T] {
	switch r.Norm {
	case NormPlain:
		return r.in(name, x, LayerNormPlainForward(x, r.Eps))
	case NormSigma:
		return r.in(name, x, LayerNormSigmaForward(x, r.p.need(name+".weight"), r.p[name+".bias"], r.Eps))
	}
	return r.in(name, x, LayerNormForward(x, r.p.need(name+".weight"), r.p[name+".bias"], r.Eps))
}

func (r *run[T]) normBackward(name string, x, delta Matrix[T]) Matrix[T] {
	if r.Norm == NormPlain {
		return LayerNormPlainBackward(x, delta, r.Eps)
	}
	backward := LayerNormBackward[T]
	if r.Norm == NormSigma {
		backward = LayerNormSigmaBackward[T]
	}
	dx, dw, db := backward(x, r.p.need(name+".weight"), delta, r.Eps)
	r.leave(name+".weight", dw)
	r.leave(name+".bias", db)
	return dx
}

// linear is a linear layer with the bias and the adapters that it has.
func (r *run[T]) linear(name string, x Matrix[T]) Matrix[T] {
	y := LinearForward(x, r.p.need(name+".weight"), r.p[name+".bias"])
	for _, a := range r.adapters(name, y.Cols) {
		share := LoRAForward(x, r.p[a.name+".lora_d"], r.p.need(a.name+".lora_u"), r.LoRAScale)
		y = y.addColumns(a.from, a.to, share)
	}
	return r.in(name, x, y)
}

func (r *run[T]) linearBackward(name string, x, delta Matrix[T]) Matrix[T] {
	dx, dw, db := LinearBackward(x, r.p.need(name+".weight"), delta)
	r.leave(name+".weight", dw)
	r.leave(name+".bias", db)
	for _, a := range r.adapters(name, delta.Cols) {
		down, up := a.name+".lora_d", a.name+".lora_u"
		through, dd, du := LoRABackward(x, r.p[down], r.p.need(up), r.LoRAScale, delta.Columns(a.from, a.to))
		dx = dx.Add(through)
		r.leave(down, dd)
		r.leave(up, du)
	}
	return dx
}

// adapter stands beside the columns [from, to) of a linear layer's weight.
type adapter struct {
	name     string
	from, to int
}

// adapters returns those that the parameters hold for a layer with cols outputs.
func (r *run[T]) adapters(name string, cols int) []adapter {
	all := []adapter{{name, 0, cols}}
	if strings.HasSuffix(name, "attn.c_attn") || strings.HasSuffix(name, "attn.c_attn_global") {
		q, k := r.Heads*r.QK, 2*r.Heads*r.QK
		all = []adapter{{name + ".q", 0, q}, {name + ".k", q, k}, {name + ".v", k, cols}}
	}
	return slices.DeleteFunc(all, func(a adapter) bool { return r.p[a.name+".lora_d"].None() })
}

func (r *run[T]) attention(i int, qkv Matrix[T]) Matrix[T] {
	return r.in(fmt.Sprintf("h.%d.attn", i), qkv, r.mix(i, qkv))
}

func (r *run[T]) attentionBackward(i int, qkv, delta Matrix[T]) Matrix[T] {
	return r.mixBackward(i, qkv, delta)
}

// heads describes the attention of block i.
func (r *run[T]) heads(i int) MultiHead {
	m := MultiHead{Batch: r.Batch, Heads: r.Heads, QK: r.width(i), Drop: r.drop(fmt.Sprintf("h.%d.attn.attn_dropout", i))}
	for b := range r.Batch {
		for h := range r.Heads {
			if r.Mask == nil {
				m.Masks = append(m.Masks, CausalMask(r.Context))
			} else {
				m.Masks = append(m.Masks, r.Mask(i, b, h))
			}
		}
	}
	return m
}

func (r *run[T]) drop(site string) Matrix[float64] {
	if r.Dropout == nil {
		return Matrix[float64]{}
	}
	return r.Dropout(site)
}

// err is the first error of the pass, from the loss downwards.
func (r *run[T]) err() error {
	for _, d := range r.deltas {
		if d.Value.Err != nil {
			return fmt.Errorf("%s: %w", d.Name, d.Value.Err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.g)) {
		if err := r.g[name].Err; err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
