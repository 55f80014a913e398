// Package graph makes Gorgonia read like the equations it computes, and run fast enough to train with. Start with
// Build, which passes an empty Graph to your function. Declare parameters in its Root, build expressions with the
// methods of Expr, and call Compile for a Program that runs and is differentiated.
//
// A Graph holds parameters and inputs under the names of the layers that declare them. An Expr is a symbolic value
// whose methods are the operations of the papers, so that a chain of calls reads from left to right. Compile turns a
// loss and the expressions to differentiate by into a Program. Errors stick to the Graph, as in bufio.Scanner: a
// layer's Forward needs neither an error result nor a panic, and Compile returns the first error with the name of its
// layer and the shapes. A panic in an operation or in a user-defined layer becomes such an error as well.
//
// Any number of goroutines may build, compile and run different Graphs at the same time, including siblings, which
// share parameters. One Graph is built in one goroutine, and runs one of its programs at a time.
//
// Every layer has a reference form in stock Gorgonia operations, which Gorgonia differentiates. Package graph/fused
// stands above this one and offers kernels instead, such as LayerNorm and Attention. They decline (ok is false) if the
// Graph was created without kernels, and the layer then computes its equation. User-defined layers can call them as the
// layers of nn do. The page of graph/fused says what stands behind them, and seam.go has the methods of Expr by which
// they add operations. The package internal/ops connects the kernels to the graph. Kernels and stock operations run in
// the same program: internal/plan plans the order, the memory and the second forward pass of Recompute for both.
//
// Where a stock operation of Gorgonia v0.9.18 is wrong, this package has its own operation, and its comment gives the
// reason. Where one is merely dangerous, the rule for it is kept here once: only this package and internal/ops import
// Gorgonia. The optimizers are in graph/optim, and the formats of weights that are not trained in graph/stored.
package graph
