// Package tasks contains synthetic tasks with a known answer, on which architectures can be compared. Start with New:
// it draws the rows of a Kind, such as recall, copying, brackets, parity or a Markov chain. The Task that it returns is
// a text.Corpus to train on. It states the accuracy of a guess, and the best accuracy and loss that a model can reach.
// Task.Score measures a model on the test rows.
//
// Only answers have targets. All rows are drawn before the training, so the batches of a run depend only on the
// trainer's own generator. No test row is a training row: a hash of a row's tokens decides to which part it belongs.
// ModularAddition divides the list of all sums. The parts share the rule, and in Memorization and Markov also a table.
package tasks
