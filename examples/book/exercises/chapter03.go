package exercises

// chapter03 holds the exercises of the chapter "Softmax and cross entropy".
var chapter03 = answers{
	"softmax-gradient":     softmaxGradient,
	"cross-entropy-logits": crossEntropyLogits,
	"temperature":          temperature,
}

// softmaxGradient finds Δz. What is the gradient at z of a softmax alone?
//
// The matrices are m["…"] of z (n, v), Δ (n, v), and p = softmax(z). The layer is y = p.
func softmaxGradient(m Named) Matrix { return hole }

// crossEntropyLogits finds Δz. The rows of Y have the sum 1. What is the gradient of the loss L at the logits? (L
// is a single number, so there is no Δ.)
//
// The matrices are m["…"] of z (n, v), u (n, v), and Y = softmax(u), p = softmax(z). The layer is y = −Σ Y∘log(p).
func crossEntropyLogits(m Named) Matrix { return hole }

// temperature finds Δz. With a temperature t the prediction is the softmax of z/t. What is the gradient at z of
// the loss?
//
// The matrices are m["…"] of z (n, v), u (n, v), t (1, 1), and Y = softmax(u), p = softmax(z/t). The layer is y =
// −Σ Y∘log(p).
func temperature(m Named) Matrix { return hole }
