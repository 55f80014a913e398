// Package text turns a text file into the batches of token ids that a language
// model trains on: read it ([ReadCorpus]), number its characters ([Tokenizer]),
// split it ([Corpus]), and draw blocks from a split ([Split.Sample] at random
// for training, [Split.Blocks] in order for evaluation).
//
// Lengths: B rows in a batch, T tokens in a row (the block size). A batch is a
// pair of slices of B·T ids, x the inputs and y the targets, where y is x moved
// on by one token: y[b·T+t] is what follows x[b·T+t] in the text.
package text
