// Package dist lets several machines, or goroutines that stand for them, train one model: each is a rank of a Group,
// computes some of a step's micro-batches, and has all sums afterwards, in the same bits whatever the number of ranks.
// Start with Open, which joins the processes that MPI has started, or Run, which starts goroutines. Over makes a Group
// of whatever else carries numbers between ranks.
package dist

// Group is the ranks that work on one job, as one of them sees it. All ranks call the same methods in the same order,
// and each call returns when all have made it; after an error the group is of no use any more.
type Group interface {
	// Rank is this one's number, from 0 to Size() − 1. Rank 0 writes files and logs.
	Rank() int

	// Size is the number of ranks, a power of two.
	Size() int

	// Sum replaces x by its sum over all ranks, of slices of one length. Numbers are added in a binary tree over the
	// ranks, neighbours first, so every rank has the same bits.
	Sum(x []float32) error

	// Part is which of Size() parts Scatter leaves this rank.
	Part() int

	// Scatter leaves this rank a part of that sum, x[borders[Part()]:borders[Part()+1]]; the rest is of no use. The
	// Size()+1 borders ascend from 0 to len(x).
	Scatter(x []float32, borders []int) error

	// Gather completes x, of which every rank has the part that Scatter would leave it.
	Gather(x []float32, borders []int) error

	// Share replaces x by that of rank root, in slices of one length.
	Share(x []float32, root int) error

	// Barrier returns when all ranks have come to it.
	Barrier() error

	// Close leaves the group when its work is done. After an error do not: end the program with a status that is not 0,
	// by which MPI ends the other ranks.
	Close() error
}

// Link carries numbers between ranks: all that an engine such as MPI has to do.
type Link interface {
	// Rank is this one's number, from 0 to Size() − 1.
	Rank() int

	// Size is the number of ranks.
	Size() int

	// Exchange sends a slice to a rank and receives one from it, which fills receive: MPI_Sendrecv. The peer does the
	// same, with slices of these lengths the other way round.
	Exchange(peer int, send, receive []float32) error

	// Close leaves.
	Close() error
}
