package graph

import (
	"slices"

	G "gorgonia.org/gorgonia"
)

// task is one turn of an operation in a program. An operation of the forward pass has a second turn, again, if what it
// computes is dropped and computed anew for the backward pass.
type task struct {
	node  *G.Node
	op    *op // nil for an input, a constant, and an operation of Gorgonia's
	again bool
}

// Recompute asks programs compiled from here on to forget what the layers below each of the given places, such as "h.0",
// compute inside, and to compute it again when the backward pass comes there: the same bits in less memory, for the time
// of a second forward pass. What leaves a place is kept. Every operation of a program with gradients has to be a kernel
// then: Compile fails and names the first that is not.
func (g *Graph) Recompute(scopes ...string) { g.recompute = scopes }

// schedule is the order of execution with the second turns put in: those of a place come before the first operation of
// the backward pass that needs any of them.
func schedule(g *Graph, order, outputs G.Nodes, ops map[*G.Node]*op) []task {
	tasks := make([]task, 0, len(order))
	dropped := g.dropped(order, outputs, ops)
	done := map[string]bool{}
	owner := map[*buffer]*G.Node{}
	for _, n := range order {
		o := ops[n]
		if o != nil {
			for _, b := range append([]*buffer{o.out}, o.fills...) {
				owner[b] = n
			}
		}
		if _, forward := g.origin[n.ID()]; !forward && o != nil {
			needs := g.children(n)
			for _, b := range o.uses {
				needs = append(needs, owner[b])
			}
			for _, c := range needs {
				if place := dropped[c]; place != "" && !done[place] {
					done[place] = true
					for _, again := range order {
						if dropped[again] == place {
							tasks = append(tasks, task{again, ops[again], true})
						}
					}
				}
			}
		}
		tasks = append(tasks, task{n, o, false})
	}
	return tasks
}

// dropped finds the nodes of the forward pass that are computed twice, with their place: operations of ours in a place of
// Recompute whose result stays there.
func (g *Graph) dropped(order, outputs G.Nodes, ops map[*G.Node]*op) map[*G.Node]string {
	places := map[*G.Node]string{}
	for _, n := range order {
		at, forward := g.origin[n.ID()]
		if !forward || ops[n] == nil || slices.Contains(outputs, n) {
			continue
		}
		for _, s := range g.recompute {
			if within(at.scope, s) {
				places[n] = s
			}
		}
	}
	for _, n := range order {
		if _, forward := g.origin[n.ID()]; !forward {
			continue
		}
		for _, c := range g.children(n) {
			if places[c] != places[n] {
				delete(places, c)
			}
		}
	}
	return places
}
