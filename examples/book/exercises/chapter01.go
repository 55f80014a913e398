package exercises

// chapter01 holds the exercises of the chapter "A token and its embedding".
var chapter01 = answers{
	"embedding-table":  embeddingTable,
	"embedding-scaled": embeddingScaled,
	"embedding-tied":   embeddingTied,
}

// embeddingTable finds ΔW. X has one-hot rows. What is the gradient of the table W?
//
// The matrices are m["…"] of X (n, v), W (v, d), Δ (n, d). The layer is y = X·W.
func embeddingTable(m Named) Matrix { return hole }

// embeddingScaled finds ΔW. The original transformer multiplies the embedding by a number s, the root of d. What
// is the gradient of the table now?
//
// The matrices are m["…"] of X (n, v), W (v, d), Δ (n, d), s (1, 1). The layer is y = s∘(X·W).
func embeddingScaled(m Named) Matrix { return hole }

// embeddingTied finds ΔW. The same table W makes the logits, z = h·Wᵗ. What is the gradient of W from this product
// alone?
//
// The matrices are m["…"] of h (n, d), W (v, d), Δ (n, v). The layer is y = h·Wᵗ.
func embeddingTied(m Named) Matrix { return hole }
