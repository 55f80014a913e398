package graph

// Recompute asks programs compiled from here on to forget what the layers below each of the given places, such as
// "h.0", compute inside, and to compute it again when the backward pass comes there: the same bits in less memory, for
// the time of a second forward pass. What leaves a place is kept, and so is what an operation of Gorgonia's gives that
// may draw random numbers or have a state: it runs once.
func (g *Graph) Recompute(scopes ...string) { g.recompute = scopes }

// Bytes is the memory that the programs of the graph hold for results, gradients and what lies between, without the
// parameters.
func (g *Graph) Bytes() int { return g.memory.Bytes() }
