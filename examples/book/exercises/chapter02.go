package exercises

// chapter02 holds the exercises of the chapter "A linear layer".
var chapter02 = answers{
	"linear-input":  linearInput,
	"linear-weight": linearWeight,
	"linear-two":    linearTwo,
}

// linearInput finds Δx. What is the gradient at the input of a linear layer?
//
// The matrices are m["…"] of x (n, k), w (k, m), b (1, m), Δ (n, m). The layer is y = x·w + b.
func linearInput(m Named) Matrix { return hole }

// linearWeight finds Δw. And the gradient of the weight?
//
// The matrices are m["…"] of x (n, k), w (k, m), b (1, m), Δ (n, m). The layer is y = x·w + b.
func linearWeight(m Named) Matrix { return hole }

// linearTwo finds Δw. Two layers without anything between them, y = x·w·u. What is the gradient of the first
// weight w?
//
// The matrices are m["…"] of x (n, k), w (k, m), u (m, p), Δ (n, p). The layer is y = x·w·u.
func linearTwo(m Named) Matrix { return hole }
