package exercises

// chapter07 holds the exercises of the chapter "Down Table 2 and up Table 3".
var chapter07 = answers{
	"model-skip":     modelSkip,
	"model-two-uses": modelTwoUses,
	"model-loss":     modelLoss,
}

// modelSkip finds Δx. y = x + tanh(x)·w. What is the gradient at x? Write t for tanh(x).
//
// The matrices are m["…"] of x (n, d), w (d, d), Δ (n, d), and t = tanh(x). The layer is y = x + t·w.
func modelSkip(m Named) Matrix { return hole }

// modelTwoUses finds Δw. A matrix is used twice: y = x·w·w. What is its gradient? Write h for x·w.
//
// The matrices are m["…"] of x (n, d), w (d, d), Δ (n, d), and h = x·w. The layer is y = h·w.
func modelTwoUses(m Named) Matrix { return hole }

// modelLoss finds Δx. The last layer and the loss together: L = −Σ Y∘log(p) with p = softmax(x·w). What is the
// gradient at x?
//
// The matrices are m["…"] of x (n, d), w (d, v), u (n, v), and Y = softmax(u), p = softmax(x·w). The layer is y =
// −Σ Y∘log(p).
func modelLoss(m Named) Matrix { return hole }
