// Package fused has the operations that stand in for the equations of layers: one kernel computes what an equation
// spells in many operations of package graph, forward and backward. Start with LayerNorm or Attention. A layer tries
// the kernel first, and computes its equation if ok is false, as on a graph without kernels:
//
//	if y, ok := fused.LayerNorm(x, w, b, eps); ok {
//		return y
//	}
//
// The functions Cached… continue a Cache, which holds the tokens so far, or their sums. They have no equation and no
// derivative.
//
// A function of this package checks its operands and describes the operation to a Builder of graph/internal/ops. It
// reads the operands by the methods in graph/seam.go. Package graph has the names, scopes, errors and derivatives, and
// does not import this one.
//
// # What a back end provides
//
// The Builder is also the seam behind which another back end could stand, such as one for a GPU. Each of its methods
// adds the node of an operation to the graph, and computes nothing. This package calls most of them. Package graph
// calls the others, for operations that Gorgonia lacks or computes wrongly. Behind them a back end provides three
// things.
//
// Operations. A node has the shape and the passes that the comment of its method gives, for both types of numbers. The
// nodes of its gradients come from the same Builder. There are three kinds of operands besides numbers in memory.
// Integers (ops.IDs) are lists that callers overwrite between runs; declared ones are checked before each run. Masks
// and tables of positions may be rules (ops.Rule), of which an operation computes the rows that it reads. Weights may
// be stored in a format of another package (ops.Weights). A back end need not have every operation: where a function
// here returns false for ok, the layer computes its equation. The equation, Gorgonia's own operations and the
// optimizers (graph/optim) work in the processor's memory, so a back end with another memory copies at these borders.
//
// Memory. Building a node allocates no numbers. An operation states what it writes (plan.Op: the result Out, and in
// Fills state for the backward pass and scratch) and what it reads besides its operands (Uses). The planner lays all
// buffers out in one arena, in which two share a place if they are never needed at the same time, within the limit of
// graph.Graph.SetMemoryLimit. Before an operation runs, its buffers are bound to their places. It must expect any
// numbers in them, must write to nothing else, and may run twice, because the backward pass may compute it again
// (graph.Graph.Recompute). Between runs only the caches keep numbers (ops.Tokens and ops.State), and rules keep rows.
//
// Order of sums. Equal operands give equal bits, in every run and for any number of threads. Threads divide results
// that are independent of each other. A sum over tokens is divided into a fixed number of parts (kernel.Parts), whose
// sums are added in their order. To the bit, the result for a token depends neither on later tokens nor on other
// sequences. A Cache that holds only the tokens of a window gives the same bits as a Cache that holds every token.
// Dropout depends on the seed, the place, the step and the entry (ops.Drop), and not on the order of execution. In
// float32 every processor computes the same bits, so a back end that adds or rounds in another order needs a number of
// its own in train.Build.Arithmetic, which a checkpoint stores: a resumed run then reports that the bits differ. How
// far a kernel may be from its equation is in nn/kernels_test.go, and what it computes at infinities is in the comment
// of each function.
package fused
