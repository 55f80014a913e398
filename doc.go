// Package pedestrian is the first page of a library for understanding and changing transformers. Every layer is written
// as its equation, trained by automatic differentiation, and checked against a gradient derived by hand. The package
// declares nothing; the packages below it do the work:
//
//	graph      expressions, automatic differentiation, memory plan
//	graph/fused, graph/optim, graph/stored   kernels in place of equations, optimizers, weights in fewer bits
//	nn         the layers, one per file, each as its equation
//	gpt        models built of these layers: configuration, training, checkpoints, decoding
//	gpt/published, gpt/peft   models and adapters of other programs: folders of Hugging Face, GGUF, PEFT
//	gpt/inspect, gpt/seq2seq, gpt/text, gpt/dist   activations by name, encoder and decoder, texts, several machines
//	gpt/decode, gpt/search   decoding with kept keys and values; samplers, greedy and beam search
//	gpt/service   one model for many clients at once
//	verify     checks a layer or a complete model against gradients by hand
//	verify/hand   the same layers by hand, forward and backward, on the standard library alone
//	verify/notation   formulas that are executed, for the book
//	examples   programs: the book, train, translate, inspect, tune, measure, verify
//
// To understand transformers, begin with the book, one path from a token to a trained model:
//
//	go run ./examples/book -serve :8080
//
// Start with gpt.NewTrainer to train a model and gpt.Open to use one, with nn.NewLayerNorm to read or write a layer,
// and with verify.Case to check it. From a clone of the repository, two commands show most of it:
//
//	go run ./examples/tinyshakespeare
//	go run ./examples/verify
package pedestrian
