// Package text turns texts into the batches of token ids that a language model trains on. Start with Load. A Tokenizer
// turns text into ids: Characters, Bytes, Words, the byte pairs of gpt/text/bpe, or one of your own. A Corpus is ids to
// train and to validate on: those of a text (NewCorpus), which ReadCorpus reads from a file or a directory, prompts and
// the answers to be learnt (LoadAnswers), those of Shards on disk, or one of your own. From either part of it Sample
// draws blocks at random for training, and Blocks takes them in order for evaluation. Stream turns the ids that a model
// draws into text again, as they come.
//
// Lengths: B rows in a batch, T tokens in a row (the block size). A batch is a pair of slices of B·T ids, x the inputs
// and y the targets, where y is x moved on by one token: y[b·T+t] is what follows x[b·T+t] in the text.
package text
