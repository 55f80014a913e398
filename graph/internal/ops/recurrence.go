package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	G "gorgonia.org/gorgonia"
)

// Recurrence is a linear recurrence on packed projections.
type Recurrence struct {
	Shape recurrent.Linear[float64]
	Beta  bool // it has an operand β
	State bool // it has an operand, the last one, with the states before the first token, (Batch, Heads·QK·V)
}

func (r Recurrence) String() string {
	l := r.Shape
	return fmt.Sprintf("%d·%d,%d·(%d→%d),%d,%t,%t,%t,%t",
		l.Batch, l.Tokens, l.Heads, l.QK, l.V, l.Gates, l.Fixed, l.Delta, r.Beta, r.State)
}

// operandsOf returns the operands of the kernel among in, which begins with queries, keys and values.
func operandsOf[T kernel.Float](r Recurrence, in [][]T) (x recurrent.Operands[T]) {
	x.QKV = in[0]
	if in = in[1:]; r.Shape.Gates > 0 {
		x.Gates, in = in[0], in[1:]
	}
	if r.Beta {
		x.Beta = in[0]
	}
	return x
}

// Recurrence returns the results of r and, if it has an operand with states, the states after the last token, which
// have no derivative. The operands are the packed projections and, as r has them, the logarithms of the gates, β and
// the states.
func (b *Builder) Recurrence(r Recurrence, operands ...*G.Node) (y, after *G.Node, err error) {
	kept, scratch := &buffer{size: r.Shape.KeptLen()}, &buffer{size: r.Shape.ScratchLen(b.Pool)}
	fills, last := []*buffer{kept, scratch}, (*buffer)(nil)
	if r.State {
		last = &buffer{part: true, size: r.Shape.StateLen()}
		fills = append(fills, last)
	}
	y, err = b.node(&Op{
		name: fmt.Sprintf("recurrence(%v)", r), shape: rowsOfHeads(operands[0], r.Shape.Heads, r.Shape.V),
		wrt: r.wrt(), fills: fills,
		f32:  recurrence[float32](b.Pool, r, kept, scratch, last),
		f64:  recurrence[float64](b.Pool, r, kept, scratch, last),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return b.recurrenceBackward(r, kept, in, grad) },
	}, operands...)
	if err == nil && r.State {
		after, err = b.part(fmt.Sprintf("recurrence.after(%v)", r), y, last, operands[len(operands)-1].Shape())
	}
	return y, after, err
}

// RecurrenceNorms returns the norms of the states of r after every token, (Batch·Tokens, Heads), which have no
// derivative. The operands are Recurrence's.
func (b *Builder) RecurrenceNorms(r Recurrence, operands ...*G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: fmt.Sprintf("recurrence.norms(%v)", r), shape: rowsOfHeads(operands[0], r.Shape.Heads, 1),
		f32: recurrenceNorms[float32](b.Pool, r), f64: recurrenceNorms[float64](b.Pool, r),
	}, operands...)
}

func recurrenceNorms[T kernel.Float](p *kernel.Pool, r Recurrence) body[T] {
	l := recurrent.Linear[T](r.Shape)
	return func(y []T, in [][]T) {
		var before []T
		if r.State {
			before = in[len(in)-1]
		}
		l.Norms(p, y, operandsOf(r, in), before)
	}
}

// wrt reports which operands have a gradient: a fixed row of gates and the states before the first token have none.
func (r Recurrence) wrt() []bool {
	wrt := []bool{true}
	if r.Shape.Gates > 0 {
		wrt = append(wrt, !r.Shape.Fixed)
	}
	if r.Beta {
		wrt = append(wrt, true)
	}
	if r.State {
		wrt = append(wrt, false)
	}
	return wrt
}

// recurrence keeps what the backward pass needs. States that no program reads have memory of their own.
func recurrence[T kernel.Float](p *kernel.Pool, r Recurrence, kept, scratch, last *buffer) body[T] {
	l := recurrent.Linear[T](r.Shape)
	var unread []T
	return func(y []T, in [][]T) {
		states := of[T](last)
		if r.State {
			if states == nil {
				if unread == nil {
					unread = kernel.Make[T](last.size)
				}
				states = unread
			}
			copy(states, in[len(in)-1])
		}
		l.Forward(p, y, operandsOf(r, in), of[T](kept), states, of[T](scratch))
	}
}

// recurrenceBackward returns the gradients of the operands: the gradient of the projections, whose operation fills the
// others.
func (b *Builder) recurrenceBackward(r Recurrence, kept *buffer, in G.Nodes, grad *G.Node) (G.Nodes, error) {
	scratch := &buffer{size: r.Shape.ScratchLen(b.Pool)}
	parts, wrt := make([]*buffer, len(in)), r.wrt()
	fills := []*buffer{scratch}
	for i := 1; i < len(in); i++ {
		if wrt[i] {
			parts[i] = &buffer{part: true, size: in[i].Shape().TotalSize()}
			fills = append(fills, parts[i])
		}
	}
	first, err := b.node(&Op{
		name: fmt.Sprintf("recurrence.dqkv(%v)", r), shape: in[0].Shape(), fills: fills, uses: []*buffer{kept},
		f32: recurrenceBackward[float32](b.Pool, r, parts, kept, scratch),
		f64: recurrenceBackward[float64](b.Pool, r, parts, kept, scratch),
	}, append(in[:len(in):len(in)], grad)...)
	grads := make(G.Nodes, len(in))
	grads[0] = first
	for i, part := range parts {
		if err == nil && part != nil {
			grads[i], err = b.part(fmt.Sprintf("recurrence.d%d", i), first, part, in[i].Shape())
		}
	}
	return grads, err
}

func recurrenceBackward[T kernel.Float](
	p *kernel.Pool, r Recurrence, parts []*buffer, kept, scratch *buffer,
) body[T] {
	l := recurrent.Linear[T](r.Shape)
	return func(dqkv []T, in [][]T) {
		grads := [][]T{dqkv}
		for _, part := range parts[1:] {
			grads = append(grads, of[T](part))
		}
		dy := in[len(in)-1]
		l.Backward(p, operandsOf(r, grads), operandsOf(r, in), dy, of[T](kept), of[T](scratch))
	}
}

// CachedRecurrence returns Recurrence for new tokens, which continues from a state.
func (b *Builder) CachedRecurrence(r Recurrence, state *State, s Step, operands ...*G.Node) (*G.Node, error) {
	scratch := &buffer{size: r.Shape.ScratchLen(b.Pool)}
	return b.cached(s, &Op{
		name: fmt.Sprintf("cachedrecurrence(%v)", r), shape: rowsOfHeads(operands[0], r.Shape.Heads, r.Shape.V),
		fills: []*buffer{scratch},
		f32:   cachedRecurrence[float32](b.Pool, r, state, s.Rows, scratch),
		f64:   cachedRecurrence[float64](b.Pool, r, state, s.Rows, scratch),
	}, operands...)
}

func cachedRecurrence[T kernel.Float](
	p *kernel.Pool, r Recurrence, state *State, rows []int, scratch *buffer,
) body[T] {
	l := recurrent.Linear[T](r.Shape)
	var picked []T
	return func(y []T, in [][]T) {
		with(state, rows, &picked, func(before []T) {
			l.Forward(p, y, operandsOf(r, in), nil, before, of[T](scratch))
		})
	}
}
