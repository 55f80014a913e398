// Package reduce computes the gradient of a training step: the mean over the micro-batches of all machines, added in a
// fixed order and clipped. It also divides the parameters among machines, so that each one updates a part. An
// optim.Optimizer embeds Gradients, and is all that a training loop needs. Start with New to update parameters in
// another way.
package reduce
