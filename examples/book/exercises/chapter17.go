package exercises

// chapter17 holds the exercises of the chapter "Rewards".
var chapter17 = answers{
	"mean-reward":      meanReward,
	"ratio-gradient":   ratioGradient,
	"penalty-gradient": penaltyGradient,
	"dpo-chosen":       dpoChosen,
}

// meanReward finds Δz. The mean reward is J = Σ π∘r, with π = softmax(z). What is its gradient at the logits z?
//
// The matrices are m["…"] of z (n, a), r (n, a), and π = softmax(z). The layer is y = sum(softmax(z)∘r).
func meanReward(m Named) Matrix { return hole }

// ratioGradient finds Δl. l is ln π of an answer now, o the same before, and A its advantage. What is the gradient
// of exp(l − o)∘A at l, if Δ is the gradient at the result?
//
// The matrices are m["…"] of l (n, 1), o (n, 1), A (n, 1), Δ (n, 1), and ratio = exp(l − o). The layer is y =
// exp(l − o)∘A.
func ratioGradient(m Named) Matrix { return hole }

// penaltyGradient finds Δl. The penalty is exp(δ) − δ − 1 with δ = f − l, where f belongs to the model of the
// beginning. What is its gradient at l?
//
// The matrices are m["…"] of l (n, 1), f (n, 1), Δ (n, 1), and δ = f − l. The layer is y = exp(f − l) − (f − l) −
// 1.
func penaltyGradient(m Named) Matrix { return hole }

// dpoChosen finds Δs. The loss of a pair is ln(1 + exp(−m)) with the margin m = β(s − t). Use w = σ(−m). What is
// the gradient at s, the preferred answer?
//
// The matrices are m["…"] of s (n, 1), t (n, 1), Δ (n, 1), β (1, 1), and m = β∘(s − t), w = exp(−m) / (1 +
// exp(−m)). The layer is y = log(1 + exp(−(β∘(s − t)))).
func dpoChosen(m Named) Matrix { return hole }
