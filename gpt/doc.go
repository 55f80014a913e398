// Package gpt stacks the layers of nn into a GPT, trains it on a text and lets it write. A Config describes network and
// training in nanoGPT's names; New builds the network in the order of the paper's Table 2; a Trainer steps, evaluates
// and saves; a Decoder generates with a KV cache. Nothing here prints: programs own their flags and their output.
package gpt
