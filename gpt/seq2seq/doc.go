// Package seq2seq turns one sequence into another with an encoder–decoder transformer, as it was first published for
// translation: the model, its training on pairs, and greedy and beam search. The encoder alone, with a head that
// predicts words that were hidden from it, is here too. It is built of the layers of package nn, as package gpt is.
// Start with NewTrainer; NewTranslator and Beam use what it has trained.
//
// A pair's source is read by the encoder, S tokens at most; its target is written by the decoder, T tokens at most with
// the one that ends it. What is shorter is padded, and padding is neither seen nor counted.
package seq2seq
