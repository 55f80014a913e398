package ops

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Rule computes the rows of a leaf that is not stored, such as a mask or a table of positions.
type Rule struct {
	Shape  tensor.Shape
	Stored plan.Numbers // all numbers, once an operation needs them

	// Hold returns an error if memory for the given number of rows exceeds the limit.
	Hold func(rows int) error

	f32   attention.Rule[float32]
	f64   attention.Rule[float64]
	first plan.Numbers // the first rows of a table, as many as were looked up
}

// NewRule returns a rule with the given functions, of which span may be nil.
func NewRule(
	shape tensor.Shape, row func(i, from int, into plan.Numbers), span func(i int) (from, to int, ok bool),
) *Rule {
	return &Rule{
		Shape: shape,
		f32: attention.Rule[float32]{
			Row: func(i, from int, into []float32) { row(i, from, plan.Numbers{F32: into}) }, Span: span,
		},
		f64: attention.Rule[float64]{
			Row: func(i, from int, into []float64) { row(i, from, plan.Numbers{F64: into}) }, Span: span,
		},
	}
}

// Rows returns the number of rows.
func (r *Rule) Rows() int { return tensor.Shape(r.Shape[:len(r.Shape)-1]).TotalSize() }

// Changed makes the operations read the rows again.
func (r *Rule) Changed() {
	r.f32.Changes++
	r.f64.Changes++
	r.first = plan.Numbers{}
}

// rowsOf returns the functions of r in type T.
func rowsOf[T kernel.Float](r *Rule) *attention.Rule[T] {
	if rows, ok := any(&r.f32).(*attention.Rule[T]); ok {
		return rows
	}
	return any(&r.f64).(*attention.Rule[T])
}

// Write writes rows from … to−1 one after the other.
func Write[T kernel.Float](p *kernel.Pool, r *Rule, from, to int, into []T) {
	width, rows := r.Shape[len(r.Shape)-1], rowsOf[T](r)
	p.Rows(to-from, width, func(first, last int) {
		for i := first; i < last; i++ {
			rows.Row(from+i, 0, into[i*width:][:width])
		}
	})
}

// SetRule declares that r computes the rows of a leaf.
func (b *Builder) SetRule(leaf *G.Node, r *Rule) { b.rules[leaf] = r }

// Rule returns the rule of a leaf, nil if its numbers are stored from the beginning.
func (b *Builder) Rule(leaf *G.Node) *Rule { return b.rules[leaf] }

// maskOf returns the mask whose numbers are in data, or whose rows r computes.
func maskOf[T kernel.Float](data []T, r *Rule, batch, heads int) attention.Mask[T] {
	m := attention.Mask[T]{Data: data, Batch: batch, Heads: heads}
	if r == nil || data != nil {
		return m
	}
	if m.Data = numbersIn[T](r.Stored); m.Data == nil {
		m.Rule = rowsOf[T](r)
	}
	return m
}

// numbersIn returns the numbers of type T.
func numbersIn[T kernel.Float](n plan.Numbers) []T {
	if x, ok := any(n.F32).([]T); ok {
		return x
	}
	return any(n.F64).([]T)
}

// tableOf returns the numbers of a table: data, or the rows of r so far.
func tableOf[T kernel.Float](data []T, r *Rule) []T {
	switch {
	case r == nil || data != nil:
		return data
	case r.Stored.Len() > 0:
		return numbersIn[T](r.Stored)
	}
	return numbersIn[T](r.first)
}

// lookUp returns the function that computes the rows of the tables that ids look up, before an operation reads them.
// Tables without a rule have all their rows.
func (b *Builder) lookUp(ids IDs, tables ...*G.Node) func() error {
	var rules []*Rule
	for _, n := range tables {
		if r := b.rules[n]; r != nil {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return func() error {
		n := slices.Max(ids.List) + 1
		for _, r := range rules {
			if err := b.extend(r, n); err != nil {
				return err
			}
		}
		return nil
	}
}

// extend computes rows of a table until it has n.
func (b *Builder) extend(r *Rule, n int) error {
	width := r.Shape[len(r.Shape)-1]
	have := r.first.Len() / width
	if n <= have || r.Stored.Len() > 0 {
		return nil
	}
	room := RoomFor(n, r)
	if err := r.Hold(room); err != nil {
		return err
	}
	if b.Dtype == tensor.Float32 {
		r.first.F32 = extended(b.Pool, r, r.first.F32, have, room)
	} else {
		r.first.F64 = extended(b.Pool, r, r.first.F64, have, room)
	}
	return nil
}

func extended[T kernel.Float](p *kernel.Pool, r *Rule, before []T, have, room int) []T {
	all := kernel.Make[T](room * r.Shape[len(r.Shape)-1])
	Write(p, r, have, room, all[copy(all, before):])
	return all
}

// RoomFor returns the number of rows that a table computes when n are needed.
func RoomFor(n int, r *Rule) int { return attention.Grown(n, r.Rows()) }
