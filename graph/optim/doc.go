// Package optim provides the optimizers. AdamW, SGD, Lion, ScheduleFree, Muon and SOAP are Rules: the equation of one
// update and the tensors that it needs. Groups is a Rule that applies other Rules to parameters by their names. An
// Optimizer applies a Rule to parameters. Start with New, and call Update after every run of the program. Parameters,
// Moments and Steps are the complete state of a training run. Package reduce computes the gradient.
package optim
