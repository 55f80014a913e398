// Package text turns texts into the batches of token ids that a language model trains on. Start with Load. A Tokenizer
// turns text into ids: Characters, Bytes, Words, the byte pairs of gpt/text/bpe, or your own. A Corpus holds the ids
// to train and to validate on: a text (NewCorpus), which ReadCorpus reads from a file or a directory, prompts with the
// answers to be learnt (LoadAnswers), Shards on disk, or your own. Sample draws random blocks of either part for
// training, and Blocks takes them in order for evaluation. Stream turns the ids that a model draws into text again, as
// they come.
//
// Lengths: B rows in a batch, T tokens in a row (the block size). A batch is a pair of slices of B·T ids, x the inputs
// and y the targets, where y is x shifted by one token: y[b·T+t] follows x[b·T+t] in the text.
package text
