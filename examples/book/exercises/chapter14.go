package exercises

// chapter14 holds the exercises of the chapter "Looking inside".
var chapter14 = answers{
	"head-share":    headShare,
	"knob-gradient": knobGradient,
	"without-part":  withoutPart,
	"note-gradient": noteGradient,
}

// headShare finds share. The stream before the logits is the sum of a token x, a head's result a and an MLP's
// result m. All means are subtracted, then comes w. Write the share of the head in the logits.
//
// The matrices are m["…"] of x (n, d), a (n, d), m (n, d), w (d, v).
func headShare(m Named) Matrix { return hole }

// knobGradient finds Δe. A knob e multiplies the result b of a head. What is its gradient?
//
// The matrices are m["…"] of a (n, d), b (n, d), Δ (n, d), e (1, 1). The layer is y = a + e∘b.
func knobGradient(m Named) Matrix { return hole }

// withoutPart finds growth. The loss is L = Σ (a + b − t)²/2. By how much does it grow if b is taken out? Use Δ,
// which is a + b − t.
//
// The matrices are m["…"] of a (n, d), b (n, d), t (n, d), and Δ = a + b − t.
func withoutPart(m Named) Matrix { return hole }

// noteGradient finds Δp. The scores y = x·pᵗ compare the tokens x with the notes p. What is the gradient at the
// notes?
//
// The matrices are m["…"] of x (n, d), p (m, d), Δ (n, m). The layer is y = x·pᵗ.
func noteGradient(m Named) Matrix { return hole }
