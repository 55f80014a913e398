// Package nn holds the layers of a transformer, one in a file: a struct of parameters, a constructor that declares
// them, and a Forward that is the layer's equation. Read a Forward downwards and you read the forward column of the
// paper. Start with NewLayerNorm, a whole layer in forty lines, and with Site, which tells a constructor where it
// builds.
//
// The letters in the right margins: B sequences in a batch, T tokens in each (the context), n = B·T tokens, d features
// (the width), H heads, dρ features of a query or key, dh of a value, f features inside the MLP, V entries of the
// vocabulary; in latent attention dc features of the latent, dq of the queries' latent, dR rotated ones; m tokens of
// the other sequence in cross-attention. Activations are matrices with a token in each row; attention is the only layer
// in which tokens meet, so the only one that knows B and T. Weights are (in, out): y = x·w + b. Numbers in parentheses,
// such as (36), are the equations of L. Boué, "Deep learning for pedestrians: backpropagation in Transformers", called
// the paper; other sources go by their authors: R. Xu, "Transformer with PyTorch"; E. Conti, "The Math behind
// transformers"; S. Diab, "The GPT Transformer: A Complete Mathematical and Architectural Analysis"; CS 224n, "Note 10:
// Self-Attention & Transformers". What they print wrong has a letter and a number, such as errata B1: verify/ERRATA.md.
//
// Where graph offers a kernel for an equation, the Forward begins with it, and the lines below are what it computes:
// the same numbers to rounding, and the form that Gorgonia differentiates when kernels are off.
package nn
