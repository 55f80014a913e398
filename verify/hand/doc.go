// Package hand is the transformer by hand. Every layer is a type with Forward, its formula, and Backward, the gradients
// as derived on paper (L. Boué, "Deep learning for pedestrians: backpropagation in Transformers"; numbers in
// parentheses in the right margin are that paper's equations). A model is composed of such values, like a model of nn.
// The package uses only the standard library and the exact numbers of verify/internal/exact, which use nothing else, so
// that a mistake in the library cannot hide behind the same mistake here. Start with LayerNorm.
//
// # Legend
//
//	n   tokens of a sequence            B   sequences of a batch
//	d   features of a token             V   words of the vocabulary
//	H   heads of attention              L   transformer blocks
//	dρ  features of a query or a key    dh  features of a value, per head
//	f   hidden features of the MLP      r   rank of a LoRA adapter
//
// A token is a row, a feature a column; a batch is B·n rows, sequence after sequence. Weights are (in, out): y = xw +
// b. Biases and gains are (1, d). Δ at a place of the model is ∂L/∂a for the activation a at that place and has the
// shape of a. A zero Matrix stands for an absent operand: no bias, no mask, no dropout.
//
// layernorm.go is a good first file. model.go, with block.go between its lines, is Table 2 of the paper read downwards
// and Table 3 read upwards. An erratum with a number (B1 and so on) is a place where the printed paper is wrong or
// incomplete; the test of that equation, TestBoueEq13 for (13), shows by how much.
package hand
