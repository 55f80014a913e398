package gpt

// FLOPsPerToken is what a token costs in the matrix products of the forward and the backward pass: 6 for every weight
// that multiplies it, 4 for a frozen one, and 6·T·H·(dρ+dh) a block for softmax attention, counted without regard to
// the mask; other attentions bring a count of their own.
func FLOPsPerToken(c Config) float64 {
	c = c.Resolved()
	base, adapters := c.count()
	weights := base - tally(c.position().Count, c) // positions are added, not multiplied
	if c.head().Linear != nil {
		weights -= float64(c.VocabSize) * float64(c.NEmbd) // and so is a table of tokens that is not the head
	}
	each := 6.0
	if c.LoraR > 0 {
		each = 4
	}
	return each*weights + 6*adapters + 6*float64(c.NLayer)*c.mixing()
}

// mixing is the products of numbers in which a token meets others, in one block; c is resolved.
func (c Config) mixing() float64 {
	switch a := c.attention(); {
	case c.block().Plain:
		return 0
	case a.Mixing != nil:
		return a.Mixing(c)
	}
	return float64(c.BlockSize) * float64(c.NHead) * float64(c.QKSize+c.VSize)
}
