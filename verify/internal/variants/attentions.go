package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func attentions[T hand.Number]() []Variant[T] {
	const multiHead, self = "Boué (34), (35)", "SelfAttention"
	return []Variant[T]{
		{
			Name: "causal", Type: self, Hand: selfAttention[T](causal),
			ID: "I14", What: "multi-headed attention", Source: multiHead,
			Settings: []Setting{{Name: "causal attention"}, {Name: "attention without a mask", Sight: All}},
		},
		sigmoid[T](), forgetting[T](), diff[T](),
		{Name: "full", Hand: selfAttention[T](causal)}, // of an encoder
		{
			Name: "window", Type: self, Hand: selfAttention[T](windowed), ID: "I12",
			Settings: []Setting{
				{
					Name: "attention in a window", Source: "Boué (13), Diab section 2.2, erratum D3b",
					Options: map[string]int{"window": 3},
				},
				{
					Name: "attention in a window beside the first tokens", Source: "Xiao et al. 2023, section 3",
					Options: map[string]int{"window": 1, "sink_tokens": 2},
				},
			},
		},
		{
			Name: "alternating", Type: self, Hand: selfAttention[T](alternating),
			ID: "I12", By: []string{"I12", "I14"},
		},
		{
			Name: "alternating_proj_bias", Type: "GroupedAttention", Hand: selfAttention[T](alternating),
			ID: "I12", By: []string{"I12", "I14"},
		},
		{Name: "bigbird", Type: self, Hand: selfAttention[T](bigBird), ID: "I13"},
		{Name: "dilated", Type: self, Hand: selfAttention[T](dilatedOrGlobal), ID: "I13"},
		{Name: "longformer", Type: "Longformer", Hand: longformer[T], ID: "I13"},
		gqa[T](), gqaBias[T](), gqaWindow[T](), linear[T](), taylor[T](),
		gla[T](), gatedDeltaNet[T](), gatedDeltaNetNegEigval[T](), retNet[T](), deltaNet[T](),
		deltaNetNegEigval[T](), kda[T](), mamba2[T](), minGRU[T](), rgLRU[T](),
		{Name: "linformer", Type: "Linformer", ID: "I47", Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.Linformer(p.plan.Batch, p.plan.Heads, p.plan.Heads*p.plan.QK)
		}},
		mla[T](), mlaRoPE[T](), mlaLatentRoPE[T](),
	}
}

// selfAttention returns attention to the keys that a mask shows.
func selfAttention[T hand.Number](see mask) func(p Place[T]) hand.Layer[T] {
	return func(p Place[T]) hand.Layer[T] { return p.project(softmax(p, see)) }
}

// project returns the heads between their projections.
func (p Place[T]) project(heads hand.Heads[T]) hand.Layer[T] {
	return p.Site.SelfAttention(heads, heads.Count*p.plan.QK, p.rotary())
}

// softmax returns heads under a mask.
func softmax[T hand.Number](p Place[T], see mask) hand.Heads[T] {
	c, drop, sinks := p.plan, p.Site.Drop("attn_dropout"), p.Site.Optional("sinks")
	return hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
		a := hand.Attention[T]{Mask: p.mask(see, b, h), Drop: drop.Head(b, h, c.Heads, p.side.context), Cap: c.Cap}
		if !sinks.None() {
			a.Sink = sinks.Columns(h, h+1)
		}
		return a
	}}
}

// rotary returns the rotation of queries and keys, or nil if the positions are not rotary or the block has none.
func (p Place[T]) rotary() hand.Layer[T] {
	if p.plan.Position != "rope" {
		return nil
	}
	if k := p.plan.NoRope; k > 0 && (p.block+1)%k == 0 {
		return nil
	}
	theta, scaling := p.plan.Theta, p.plan.Scaling
	if scaling.Kind == "longrope" && float64(p.side.context) > scaling.Original {
		scaling.Divisors = p.plan.Divisors
	}
	if near := p.plan.ThetaNear; near > 0 && !p.plan.full(p.block) {
		theta, scaling = near, hand.RotaryScaling{}
	}
	return hand.RoPE[T]{
		Positions: p.positions(), Size: p.plan.QK, RotaryDim: p.plan.RotaryDim, Theta: theta, Scaling: scaling,
	}
}

// rotation returns the rotation of features in groups of the given size.
func (p Place[T]) rotation(size int) hand.Layer[T] {
	return hand.RoPE[T]{Positions: p.positions(), Size: size, Theta: p.plan.Theta}
}
