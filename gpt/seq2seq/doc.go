// Package seq2seq turns one sequence into another with an encoder–decoder transformer, as it was first published for
// translation: the model, its training on pairs, and translation by greedy and beam search. It also contains the
// encoder alone with a head that predicts hidden words. Like package gpt, it is built of the layers of package nn.
// Start with NewTrainer; NewTranslator uses the trained model.
//
// The encoder reads the source of a pair, at most S tokens; the decoder writes its target, at most T tokens including
// the one that ends it. Shorter sequences are padded, and padding is neither seen nor counted.
package seq2seq
