// Package bpe is byte-pair encoding, the tokenizer of most published models: a text is cut into pieces (words, numbers,
// white space), each piece into bytes, and then neighbours are joined by a table of merges that was learnt from a text,
// the earliest learnt first (Sennrich et al. 2016; over bytes, Radford et al. 2019). Start with Read, which takes the
// tokenizer.json of a model, or with Train, which learns an encoding; ReadGPT2 takes vocab.json and merges.txt.
//
// Characters are told apart by Go's tables of Unicode, which are of version 15.0: a character that was assigned since
// may be cut differently than by a program with newer ones. Every text comes back from Decode whatever its pieces, in
// normal form C where an encoding (Qwen 2's) asks for that.
package bpe
