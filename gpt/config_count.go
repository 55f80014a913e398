package gpt

import (
	"math"
	"strings"
)

// linear is one matrix a·w of the network: in features to the sum of outs. Its
// columns are adapted piece by piece: c_attn's are queries, keys and values.
type linear struct {
	name string
	in   float64
	outs []float64
}

// linears returns the layers of one block, then the head. The counts are
// float64, exact below 2^53 and never overflowing on a hostile Config.
func (c Config) linears() (block []linear, head linear) {
	c = c.Resolved()
	d, heads := float64(c.NEmbd), float64(c.NHead)
	qk, v := heads*float64(c.QKSize), heads*float64(c.VSize)
	inner := float64(c.NInner)
	return []linear{
		{"attn.c_attn", d, []float64{qk, qk, v}},
		{"attn.c_proj", v, []float64{d}},
		{"mlp.c_fc", d, []float64{inner}},
		{"mlp.c_proj", inner, []float64{d}},
	}, linear{"lm_head", d, []float64{float64(c.VocabSize)}}
}

// out is the number of columns.
func (l linear) out() float64 {
	var sum float64
	for _, out := range l.outs {
		sum += out
	}
	return sum
}

// weight counts the matrix and its bias.
func (l linear) weight(bias bool) float64 {
	n := l.in * l.out()
	if bias {
		n += l.out()
	}
	return n
}

// adapters counts d (in, r) and u (r, out) of every adapter: r·(in + out) each.
func (l linear) adapters(r float64) float64 {
	return r * (l.in*float64(len(l.outs)) + l.out())
}

// Adapts says whether the layer of this name has LoRA adapters: lora_r > 0 and
// the name ends, at a dot, in one of lora_targets. It takes "h.3.mlp.c_fc" as
// well as "mlp.c_fc".
func (c Config) Adapts(layer string) bool {
	if c.LoraR <= 0 {
		return false
	}
	for _, target := range c.Resolved().LoraTargets {
		if layer == target || strings.HasSuffix(layer, "."+target) {
			return true
		}
	}
	return false
}

// Count returns the number of parameters, and of those that are trained: all,
// or with lora_r > 0 the adapters alone.
//
//	V·d + T·d + n_layer·block + norm + head     norm = d, or 2d with biases
//	block = 2·norm + d·H(2dρ+dh) + H·dh·d + 2·d·f     + H(2dρ+dh) + d + f + d with biases
//	head  = 0 tied, d·V + V untied with biases, d·V untied without
//	adapter = r·(in + out), three on c_attn
//
// A post-norm network ends on the last block's own normalisation and has no
// other. Counts beyond int64, which [Config.Validate] refuses, are returned as
// math.MaxInt64.
func (c Config) Count() (total, trainable int64) {
	base, adapters := c.count()
	if c.LoraR > 0 {
		return whole(base + adapters), whole(adapters)
	}
	return whole(base), whole(base)
}

// count returns the parameters without adapters, and the adapters'.
func (c Config) count() (base, adapters float64) {
	block, head := c.linears()
	d, layers, r := float64(c.NEmbd), float64(c.NLayer), float64(c.LoraR)
	norm := d
	if c.Bias {
		norm = 2 * d
	}
	base = (float64(c.VocabSize) + float64(c.BlockSize)) * d
	for _, l := range block {
		base += layers * l.weight(c.Bias)
		if c.Adapts(l.name) {
			adapters += layers * l.adapters(r)
		}
	}
	base += layers * 2 * norm
	if c.Block != "post" {
		base += norm
	}
	if !c.Tie {
		base += head.weight(c.Bias)
	}
	if c.Adapts(head.name) {
		adapters += head.adapters(r)
	}
	return base, adapters
}

func whole(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}
