// Package parts is what models are put together from, by name: positions, attentions, norms, blocks, MLPs, activations,
// heads and optimizers. A variant is a value in a list, and an attention brings its own options along: a configuration,
// its JSON and flags know both by their names. gpt and seq2seq build their models from the same lists, and a program
// adds its variants in a Registry. Start with Library, which has one of each kind to look at.
//
// What a variant makes it declares when it is constructed: parameters are counted by constructing a model on a
// graph.Outline, and memory by building its loss there. On an Outline tensors have no numbers, for Forward neither.
package parts
