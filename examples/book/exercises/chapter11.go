package exercises

// chapter11 holds the exercises of the chapter "Fewer parameters".
var chapter11 = answers{
	"lora-up":     loraUp,
	"lora-down":   loraDown,
	"grouped-key": groupedKey,
	"latent-key":  latentKey,
}

// loraUp finds Δb. What is the gradient of the second thin matrix, b?
//
// The matrices are m["…"] of x (n, p), w (p, q), a (p, r), b (r, q), Δ (n, q), k (1, 1). The layer is y = x·w +
// k∘(x·a·b).
func loraUp(m Named) Matrix { return hole }

// loraDown finds Δa. What is the gradient of the first thin matrix, a?
//
// The matrices are m["…"] of x (n, p), w (p, q), a (p, r), b (r, q), Δ (n, q), k (1, 1). The layer is y = x·w +
// k∘(x·a·b).
func loraDown(m Named) Matrix { return hole }

// groupedKey finds Δk. Two heads share the keys k. Their queries are q and u, and y is the sum of their scores.
// What is the gradient at k?
//
// The matrices are m["…"] of q (n, h), u (n, h), k (m, h), Δ (n, m). The layer is y = q·kᵗ + u·kᵗ.
func groupedKey(m Named) Matrix { return hole }

// latentKey finds Δf. The scores are y = q·(c·f)ᵗ, with the latents c. What is the gradient of f, which makes keys
// of them?
//
// The matrices are m["…"] of q (n, h), c (m, l), f (l, h), Δ (n, m). The layer is y = q·(c·f)ᵗ.
func latentKey(m Named) Matrix { return hole }
