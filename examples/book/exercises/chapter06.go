package exercises

// chapter06 holds the exercises of the chapter "The MLP and the block".
var chapter06 = answers{
	"mlp-relu":       mlpRelu,
	"mlp-tanh":       mlpTanh,
	"swiglu-gate":    swigluGate,
	"residual-twice": residualTwice,
}

// mlpRelu finds Δh. y = relu(h)·w. What is the gradient at h?
//
// The matrices are m["…"] of h (n, f), w (f, d), Δ (n, d). The layer is y = relu(h)·w.
func mlpRelu(m Named) Matrix { return hole }

// mlpTanh finds Δh. And with tanh as the bend? Write t for tanh(h).
//
// The matrices are m["…"] of h (n, f), w (f, d), Δ (n, d), and t = tanh(h). The layer is y = t·w.
func mlpTanh(m Named) Matrix { return hole }

// swigluGate finds Δg. In SwiGLU, y = (m∘u)·w with m = g∘sigmoid(g). What is the gradient at g?
//
// The matrices are m["…"] of g (n, f), u (n, f), w (f, d), Δ (n, d), and p = sigmoid(g), m = g∘p. The layer is y =
// (m∘u)·w.
func swigluGate(m Named) Matrix { return hole }

// residualTwice finds Δx. A residual layer with a linear layer in it, y = x + x·w. What is the gradient at x?
//
// The matrices are m["…"] of x (n, d), w (d, d), Δ (n, d). The layer is y = x + x·w.
func residualTwice(m Named) Matrix { return hole }
