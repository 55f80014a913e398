package exercises

// chapter16 holds the exercises of the chapter "Encoder and decoder".
var chapter16 = answers{
	"source-gradient": sourceGradient,
	"value-matrix":    valueMatrix,
	"cross-query":     crossQuery,
	"shared-source":   sharedSource,
}

// sourceGradient finds Δz. Keys and values stand side by side, y = join(z·u, z·e). What is the gradient at the
// source z?
//
// The matrices are m["…"] of z (m, d), u (d, h), e (d, h), Δ (m, 2·h). The layer is y = join(z·u, z·e).
func sourceGradient(m Named) Matrix { return hole }

// valueMatrix finds Δe. The weights ρ are given, and y = ρ·(z·e). What is the gradient of the matrix e, which
// makes the values?
//
// The matrices are m["…"] of ρ (n, m), z (m, d), e (d, h), Δ (n, h). The layer is y = ρ·(z·e).
func valueMatrix(m Named) Matrix { return hole }

// crossQuery finds Δq. What is the gradient at the queries? r is Δ at the weights.
//
// The matrices are m["…"] of q (n, h), k (m, h), v (m, p), Δ (n, p), and ρ = softmax(q·kᵗ), r = Δ·vᵗ. The layer is
// y = softmax(q·kᵗ)·v.
func crossQuery(m Named) Matrix { return hole }

// sharedSource finds Δz. Two blocks of the decoder read the same source z, by the matrices a and b. Their results
// are added. What is the gradient at z?
//
// The matrices are m["…"] of z (m, d), a (d, h), b (d, h), Δ (m, h). The layer is y = z·a + z·b.
func sharedSource(m Named) Matrix { return hole }
