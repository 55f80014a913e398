package exercises

// chapter08 holds the exercises of the chapter "Training".
var chapter08 = answers{
	"training-two-steps": trainingTwoSteps,
	"training-decay":     trainingDecay,
	"training-clip":      trainingClip,
}

// trainingTwoSteps finds w. Gradient descent takes two steps with the gradients g and h: w − η∘g, and then η∘h
// less. With a momentum of μ the second step also repeats μ times the first. Where is w after both?
//
// The matrices are m["…"] of w (a, b), g (a, b), h (a, b), η (1, 1), μ (1, 1), and step1 = η∘g, step2 = η∘h +
// μ∘step1.
func trainingTwoSteps(m Named) Matrix { return hole }

// trainingDecay finds w. AdamW moves w by −η∘u, where u is the corrected quotient, and pulls it towards 0 by the
// fraction η∘λ of its old value. What is w after the step?
//
// The matrices are m["…"] of w (a, b), u (a, b), η (1, 1), λ (1, 1).
func trainingDecay(m Named) Matrix { return hole }

// trainingClip finds Δw. If the norm r of all gradients together exceeds c, every gradient is multiplied by c/r. A
// layer y = x·w has Δ at its output. What does its weight's gradient become?
//
// The matrices are m["…"] of x (n, k), w (k, m), Δ (n, m), r (1, 1), c (1, 1).
func trainingClip(m Named) Matrix { return hole }
