// Package graph makes Gorgonia read like the equations it computes, and run fast enough to train with. Start with
// Build, which hands out an empty Graph: parameters are declared in its Root, expressions are methods of Expr, and
// Compile makes a Program that runs and is differentiated.
//
// A Graph holds parameters and inputs under the names of the layers that declare them; an Expr is a symbolic value
// whose methods are the operations of the papers, so that a chain of calls reads from left to right; Compile turns a
// loss and the expressions to differentiate by into a Program that runs. Errors stick to the Graph, as in
// bufio.Scanner: a layer's Forward needs neither an error result nor a panic, and Compile returns the first error with
// the name of its layer and the shapes. So it is with a panic in an operation or a layer of the user's.
//
// Graphs are built, compiled and run beside one another in any number of goroutines, also siblings, which share
// parameters. One Graph is built in one goroutine, and runs one of its programs at a time.
//
// Every layer has a reference form in stock Gorgonia operations, which Gorgonia differentiates. Functions such as
// LayerNorm or Attention offer a kernel in its place; they decline (ok is false) when the Graph was made without
// kernels, and the layer then computes its equation. They are exported for layers of one's own, which may ask for them
// as those of nn do. Kernels and stock operations run side by side: the order, the memory and the second forward pass
// of Recompute are planned in internal/plan for both.
//
// Where a stock operation of Gorgonia v0.9.18 is wrong, the operation here is our own, and its comment says why. Where
// one is merely dangerous, the rule is kept here once: only this package imports Gorgonia. Optimizers are in
// graph/optim.
package graph
