package exercises

// chapter13 holds the exercises of the chapter "Experts".
var chapter13 = answers{
	"expert-gate":    expertGate,
	"router-logits":  routerLogits,
	"divided-gates":  dividedGates,
	"balance-logits": balanceLogits,
}

// expertGate finds Δg. An expert's output a (n, d) is multiplied by a gate g, one number for each token. What is
// the gradient at the gate?
//
// The matrices are m["…"] of g (n, 1), a (n, d), Δ (n, d). The layer is y = g∘a.
func expertGate(m Named) Matrix { return hole }

// routerLogits finds Δz. p are the probabilities and c is 1 for the chosen experts, a constant. The gates are p∘c.
// The gradient at the gates is Δ. What is the gradient at the logits z?
//
// The matrices are m["…"] of z (n, e), Δ (n, e), and p = softmax(z), c = 1 − step(max(p) − p). The layer is y =
// p∘c.
func routerLogits(m Named) Matrix { return hole }

// dividedGates finds Δp. The gates are g = p/s, where s is the sum of a token's p. What is the gradient at p?
//
// The matrices are m["…"] of p (n, e), Δ (n, e), and s = sum_cols(p), g = p / s. The layer is y = p / sum_cols(p).
func dividedGates(m Named) Matrix { return hole }

// balanceLogits finds Δz. The balancing loss of the chapter, with the shares f as constants, is L = e·Σ f∘P. What
// is its gradient at the logits?
//
// The matrices are m["…"] of z (n, e), f (1, e), and p = softmax(z). The layer is y = e∘sum(f∘sum_rows(p)) / n.
func balanceLogits(m Named) Matrix { return hole }
