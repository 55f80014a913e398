package verify

import (
	"fmt"
	"maps"
)

// Parameters are matrices by GPT-2's names: wte.weight (V, d), wpe.weight
// (n_context, d), and for block i
//
//	h.i.ln_1.weight, .bias         (1, d)
//	h.i.attn.c_attn.weight, .bias  (d, H(2dρ+dh)), (1, H(2dρ+dh))
//	h.i.attn.c_proj.weight, .bias  (H·dh, d), (1, d)
//	h.i.ln_2.weight, .bias         (1, d)
//	h.i.mlp.c_fc.weight, .bias     (d, f), (1, f)
//	h.i.mlp.c_proj.weight, .bias   (f, d), (1, d)
//
// then ln_f.weight, ln_f.bias (1, d), lm_head.weight (d, V), lm_head.bias (1, V).
// Every bias is optional. A linear layer may have an adapter beside it, named
// after it: h.i.mlp.c_fc.lora_d (d, r) and .lora_u (r, f); c_attn may have one for
// each of its three blocks of columns: h.i.attn.c_attn.q.lora_d, .k., .v.
type Parameters[T Number] map[string]Matrix[T]

// need returns a parameter that has to be there.
func (p Parameters[T]) need(name string) Matrix[T] {
	if m, ok := p[name]; ok {
		return m
	}
	return Matrix[T]{Err: fmt.Errorf("verify: no parameter %s", name)}
}

// check looks at what the formulas take for granted.
func (p Parameters[T]) check(c GPT, tokens []int) error {
	for name, m := range p {
		if m.Err != nil {
			return fmt.Errorf("%s: %w", name, m.Err)
		}
		if len(m.Data) != m.Rows*m.Cols {
			return fmt.Errorf("%s: %w: (%d, %d) from %d values", name, ErrShape, m.Rows, m.Cols, len(m.Data))
		}
	}
	if len(tokens) != c.Batch*c.Context {
		return fmt.Errorf("%w: got %d tokens, want %d sequences of %d", ErrShape, len(tokens), c.Batch, c.Context)
	}
	return nil
}

// withHead returns p with the head's weight that tying implies.
func (p Parameters[T]) withHead(tied bool) Parameters[T] {
	if !tied {
		return p
	}
	p = maps.Clone(p)
	if wte, ok := p["wte.weight"]; ok && len(wte.Data) == wte.Rows*wte.Cols {
		p["lm_head.weight"] = wte.Transpose()
	}
	return p
}
