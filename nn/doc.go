// Package nn implements the layers of a transformer: a struct of parameters, a constructor that declares them, and a
// Forward that is the layer's equation. Reading a Forward downwards gives the forward column of the paper. Start with
// NewLayerNorm, a complete layer in forty lines, and with Site, which describes where in a model a constructor builds.
// Kinds of attention are in files named attention_*.go, the rules of which token attends to which in mask_*.go, and
// encodings of positions in position*.go.
//
// The letters in the right margins: B sequences in a batch, T tokens in each (the context), n = B·T tokens, d features
// (the width), H heads, dρ features of a query or key, dh of a value, f features inside the MLP, V entries of the
// vocabulary; in latent attention dc features of the latent, dq of the queries' latent, dR rotated ones; m tokens of
// the other sequence in cross-attention. Activations are matrices with a token in each row. Only attention combines
// tokens, so only attention depends on B and T. Weights are (in, out): y = x·w + b. Numbers in parentheses, such as
// (36), are the equations of L. Boué, "Deep learning for pedestrians: backpropagation in Transformers", called the
// paper; other sources are cited by their authors: R. Xu, "Transformer with PyTorch"; E. Conti, "The Math behind
// transformers"; S. Diab, "The GPT Transformer: A Complete Mathematical and Architectural Analysis"; CS 224n, "Note 10:
// Self-Attention & Transformers". Their errors have a letter and a number, such as errata B1: verify/ERRATA.md.
//
// If graph has a kernel for an equation, the Forward begins with it. The lines below are the same computation: the same
// numbers to rounding, in the form that Gorgonia differentiates when kernels are off.
package nn
