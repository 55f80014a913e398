package exercises

// chapter04 holds the exercises of the chapter "Layer norm".
var chapter04 = answers{
	"layer-norm-bias":   layerNormBias,
	"layer-norm-gain":   layerNormGain,
	"layer-norm-centre": layerNormCentre,
	"layer-norm-input":  layerNormInput,
	"rms-norm-input":    rmsNormInput,
}

// layerNormBias finds Δb. Every token adds the same bias b. What is its gradient?
//
// The matrices are m["…"] of x (n, d), Δ (n, d), w (1, d), b (1, d), and c = x − mean(x), a = c / sqrt(mean(c²)).
// The layer is y = a∘w + b.
func layerNormBias(m Named) Matrix { return hole }

// layerNormGain finds Δw. What is the gradient of the gain w?
//
// The matrices are m["…"] of x (n, d), Δ (n, d), w (1, d), b (1, d), and c = x − mean(x), a = c / sqrt(mean(c²)).
// The layer is y = a∘w + b.
func layerNormGain(m Named) Matrix { return hole }

// layerNormCentre finds Δx. Take only the first half of layer norm, y = x − mean(x). What is the gradient at x?
//
// The matrices are m["…"] of x (n, d), Δ (n, d). The layer is y = x − mean(x).
func layerNormCentre(m Named) Matrix { return hole }

// layerNormInput finds Δx. Now the whole gradient at x. Use a, σ and g.
//
// The matrices are m["…"] of x (n, d), Δ (n, d), w (1, d), b (1, d), ε (1, 1), and c = x − mean(x), σ =
// sqrt(mean(c²) + ε), a = c / σ, g = Δ∘w. The layer is y = a∘w + b.
func layerNormInput(m Named) Matrix { return hole }

// rmsNormInput finds Δx. RMSNorm leaves the mean where it is: a = x/σ with σ = √(mean(x²) + ε), and y = a∘w. What
// is the gradient at x?
//
// The matrices are m["…"] of x (n, d), Δ (n, d), w (1, d), ε (1, 1), and σ = sqrt(mean(x²) + ε), a = x / σ, g =
// Δ∘w. The layer is y = a∘w.
func rmsNormInput(m Named) Matrix { return hole }
