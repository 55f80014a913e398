// Package bpe implements byte-pair encoding, the tokenizer of most published models: a text is cut into pieces (words,
// numbers, white space), each piece into bytes, and then neighbours are joined by a table of merges that was learnt
// from a text, the earliest learnt first (Sennrich et al. 2016; over bytes, Radford et al. 2019). Start with Read,
// which reads the tokenizer.json of a model, or with Train, which learns an encoding; ReadGPT2 reads vocab.json and
// merges.txt.
//
// Characters are classified by Go's Unicode tables, which are of version 15.0: a program with newer tables may cut
// characters that were assigned since differently. Decode returns every text unchanged, whatever its pieces, but in a
// normal form of Unicode if an encoding (Qwen 2's) requires that, and with a space for ▁ over characters (LLaMA's).
//
// A regular expression of a tokenizer.json may be a stranger's: one that repeats repetitions is refused, and a text for
// which one takes too long is an error.
package bpe
