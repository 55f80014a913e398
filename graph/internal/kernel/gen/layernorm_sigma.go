package main

// layerNormSigma stores σ, and multiplies by 1/(σ + ε). It computes the distances a second time, from a mean that is
// right to its last place, so that equal numbers have distance 0 and σ = 0.
func layerNormSigma(f *fn) {
	f.centred(2, func(variance, t vec, sigma string) {
		low := f.low("X", variance)
		f.op("VSQRTSS", low, low, low)
		f.op("VMOVSS", low, sigma)
		f.shiftedInverse(variance, t)
	})
}

// shiftedInverse sets the lowest lane of v to 1/(v + ε). It overwrites t.
func (f *fn) shiftedInverse(v, t vec) {
	f.op("VADDSS", f.param("eps"), f.low("X", v), f.low("X", v))
	f.set(t, number(1))
	f.op("VDIVSS", f.low("X", v), f.low("X", t), f.low("X", v))
}

// layerNormSigmaBackward is like layerNormBackward, except for dx = (g − share·Σ g − (x − μ)∘share·Σ g∘x̂/σ)/(σ + ε),
// in which x − μ is x̂∘(σ + ε).
func layerNormSigmaBackward(f *fn) {
	f.centredBackward(func(sigma string, to, t vec) {
		f.op("VMOVSS", sigma, f.low("X", to))
		f.shiftedInverse(to, t)
		f.spread(to)
	}, func(mean, t vec, sigma string) {
		low, sum := f.low("X", t), f.low("X", mean)
		f.op("VMOVSS", sigma, low)
		f.op("VDIVSS", low, sum, sum)
		f.op("VADDSS", f.param("eps"), low, low)
		f.op("VMULSS", low, sum, sum)
	})
}
