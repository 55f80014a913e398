package exercises

// chapter05 holds the exercises of the chapter "Attention".
var chapter05 = answers{
	"attention-values":  attentionValues,
	"attention-scores":  attentionScores,
	"attention-queries": attentionQueries,
	"attention-keys":    attentionKeys,
}

// attentionValues finds Δv. What is the gradient at the values?
//
// The matrices are m["…"] of q (n, e), k (n, e), v (n, f), Δ (n, f), and p = softmax(causal(q·kᵗ / sqrt(e))). The
// layer is y = p·v.
func attentionValues(m Named) Matrix { return hole }

// attentionScores finds Δs. The scores s are given. What is the gradient at s?
//
// The matrices are m["…"] of s (n, n), v (n, f), Δ (n, f), and p = softmax(causal(s)). The layer is y = p·v.
func attentionScores(m Named) Matrix { return hole }

// attentionQueries finds Δq. What is the gradient at the queries? Use p.
//
// The matrices are m["…"] of q (n, e), k (n, e), v (n, f), Δ (n, f), and p = softmax(causal(q·kᵗ / sqrt(e))), g =
// p∘(Δ·vᵗ − Σ_cols p∘(Δ·vᵗ)). The layer is y = p·v.
func attentionQueries(m Named) Matrix { return hole }

// attentionKeys finds Δk. And at the keys?
//
// The matrices are m["…"] of q (n, e), k (n, e), v (n, f), Δ (n, f), and p = softmax(causal(q·kᵗ / sqrt(e))), g =
// p∘(Δ·vᵗ − Σ_cols p∘(Δ·vᵗ)). The layer is y = p·v.
func attentionKeys(m Named) Matrix { return hole }
