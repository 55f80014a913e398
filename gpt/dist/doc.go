// Package dist lets several machines, or goroutines that stand for them, train one model. Each is a rank of a Group,
// computes some of a step's micro-batches, and gets all sums, which are the same to the bit for any number of ranks.
// Start with Open, which joins the processes that MPI has started, or Run, which starts goroutines. Over builds a Group
// from any other Link between ranks.
package dist

// Group is the group of ranks that work on one job, as seen by one of them. All ranks must call the same methods in the
// same order; each call returns after all ranks have made it. After an error the group cannot be used any more.
type Group interface {
	// Rank returns the number of this rank, from 0 to Size() − 1. Rank 0 writes files and logs.
	Rank() int

	// Size returns the number of ranks, a power of two.
	Size() int

	// Sum replaces x with its sum over all ranks, whose slices must have the same length. Numbers are added in a binary
	// tree over the ranks, neighbours first, so every rank gets the same bits.
	Sum(x []float32) error

	// Part returns the index of the part, of Size() parts, that Scatter computes on this rank.
	Part() int

	// Scatter computes a part of that sum on this rank, x[borders[Part()]:borders[Part()+1]]; the rest of x is
	// undefined. The Size()+1 borders ascend from 0 to len(x).
	Scatter(x []float32, borders []int) error

	// Gather completes x, of which every rank has the part that Scatter would compute on it.
	Gather(x []float32, borders []int) error

	// Share replaces x with the x of rank root. All slices must have the same length.
	Share(x []float32, root int) error

	// Barrier returns when all ranks have called it.
	Barrier() error

	// Close leaves the group when its work is done. Do not call it after an error: end the program with a status other
	// than 0 instead, so that MPI ends the other ranks.
	Close() error
}

// Link carries numbers between ranks. An engine such as MPI only has to implement this interface.
type Link interface {
	// Rank returns the number of this rank, from 0 to Size() − 1.
	Rank() int

	// Size returns the number of ranks.
	Size() int

	// Exchange sends a slice to a rank and fills receive with a slice from it, like MPI_Sendrecv. The peer must do the
	// same with the two lengths exchanged.
	Exchange(peer int, send, receive []float32) error

	// Close leaves the link.
	Close() error
}
