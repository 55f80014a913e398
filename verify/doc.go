// Package verify works the gradients of a transformer out by hand and holds
// them against what a program computed.
//
// The files named after layers hold formulas only: XForward is the layer,
// XBackward its gradients as derived on paper (L. Boué, "Deep learning for
// pedestrians: backpropagation in Transformers"; numbers in parentheses in the
// right margin are that paper's equations). They use the standard library and
// nothing else of this module, not even a mask builder or a softmax, so that a
// mistake in the library cannot hide behind the same mistake here.
//
// # Legend
//
//	n   tokens of a sequence            B   sequences of a batch
//	d   features of a token             V   words of the vocabulary
//	H   heads of attention              L   transformer blocks
//	dρ  features of a query or a key    dh  features of a value, per head
//	f   hidden features of the MLP      r   rank of a LoRA adapter
//
// A token is a row, a feature a column; a batch is B·n rows, sequence after
// sequence. Weights are (in, out): y = xw + b. Biases and gains are (1, d).
//
// Δ at a place of the model is ∂L/∂a for the activation a at that place and has
// the shape of a. A Backward takes the Δ of its output, named delta, and
// returns the Δ of its input first, then the gradients of its parameters in the
// order of the forward's arguments.
//
// A zero Matrix stands for what is absent: no bias, no mask, no dropout.
//
// # How to check
//
// Check holds every gradient of a whole model against four witnesses, Case.Run those of
// one layer; both answer with a Report. Cases lists the layers of nn, and ExampleCase
// checks a new one. INDEX.md leads from the number of an equation to the code.
//
// # How to read
//
// layernorm.go is a good first file. gpt.go, with block.go between its lines, is
// Table 2 of the paper read downwards and Table 3 read upwards. complexstep.go
// differentiates any forward without knowing a derivative, and metric.go says what
// "equal" means. An erratum with a number (B1 and so on) is a place where the
// paper's print is wrong or open; the test of that equation, TestBoueEq13 for (13),
// shows by how much.
package verify
