// Package parts contains the parts of models by name: positions, attentions, norms, blocks, MLPs, activations, heads
// and optimizers. A variant is a value in a list, and an attention has its own options; configurations, their JSON and
// flags use the names of both. gpt and seq2seq build their models from the same lists, and a program adds its own
// variants in a Registry. Start with Library, which lists all variants of the library. The blocks of a model may have
// different attentions, by a list such as gated_deltanet*3,causal, which repeats.
//
// A variant must declare its parameters when it is constructed: they are counted by constructing a model on a
// graph.Outline, and memory is planned by building its loss there. On an Outline tensors have no numbers, also not in
// Forward.
package parts
