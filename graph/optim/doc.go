// Package optim provides the optimizers. AdamW, SGD and Lion are Rules: the equation of one update and the moments that
// it needs. An Optimizer applies a Rule to parameters. Start with New, and call Update after every run of the program.
// Parameters, Moments and Steps are the complete state of a training run. Package reduce computes the gradient.
package optim
