package exercises

// chapter12 holds the exercises of the chapter "Longer texts".
var chapter12 = answers{
	"linear-attention-keys": linearAttentionKeys,
	"delta-rule-value":      deltaRuleValue,
	"delta-rule-state":      deltaRuleState,
	"delta-rule-force":      deltaRuleForce,
}

// linearAttentionKeys finds ΔK. Linear attention without the divisor and without a mask is y = Q·(Kᵗ·v). What is
// the gradient at the keys?
//
// The matrices are m["…"] of Q (n, f), K (n, f), v (n, d), Δ (n, d). The layer is y = Q·(Kᵗ·v).
func linearAttentionKeys(m Named) Matrix { return hole }

// deltaRuleValue finds Δv. A token writes T = S + kᵗ·(b∘(v − k·S)). The gradient at T is Δ. What is the gradient
// at v?
//
// The matrices are m["…"] of S (f, d), Δ (f, d), k (1, f), v (1, d), b (1, 1). The layer is y = S + kᵗ·(b∘(v −
// k·S)).
func deltaRuleValue(m Named) Matrix { return hole }

// deltaRuleState finds ΔS. And at the sheet S before the token?
//
// The matrices are m["…"] of S (f, d), Δ (f, d), k (1, f), v (1, d), b (1, 1). The layer is y = S + kᵗ·(b∘(v −
// k·S)).
func deltaRuleState(m Named) Matrix { return hole }

// deltaRuleForce finds Δb. What is the gradient of the force b?
//
// The matrices are m["…"] of S (f, d), Δ (f, d), k (1, f), v (1, d), b (1, 1), and e = v − k·S. The layer is y = S
// + kᵗ·(b∘(v − k·S)).
func deltaRuleForce(m Named) Matrix { return hole }
