package nn

import (
	"slices"

	"github.com/pkg/errors"
)

// Visibility says whether query i of sequence b may look at key j.
type Visibility interface {
	Visible(b, i, j int) bool
}

// PerSequence is a Visibility that may differ between the sequences of a batch; one that does not have the method is asked
// about sequence 0 alone.
type PerSequence interface {
	Visibility
	PerSequence() bool
}

// PerHead is a Visibility that differs between the heads of a layer. Visible is that of head 0.
type PerHead interface {
	Visibility
	VisibleTo(head, b, i, j int) bool
}

// Causal lets a token see itself and what came before it: j ≤ i (13), as Diab's formula has it (errata D8).
type Causal struct{}

// Visible is j ≤ i.
func (Causal) Visible(_, i, j int) bool { return j <= i }

// Window lets a token see itself and the Width − 1 tokens before it: i − Width < j ≤ i. Of width 1 it is the identity, of
// the context's length Causal (errata D8).
type Window struct{ Width int }

// Visible is i − Width < j ≤ i.
func (w Window) Visible(_, i, j int) bool { return i-w.Width < j && j <= i }

func (w Window) check(Dims) error { return checkWidth(w.Width) }

func checkWidth(width int) error {
	if width < 1 {
		return errors.Errorf("a window of %d tokens: at least 1, the token itself, is needed", width)
	}
	return nil
}

// Padding hides the keys behind the end of sequence b, the columns j ≥ Lengths[b] (Diab hides rows: errata D3b). Lengths
// may change from run to run: call Mask.Update when it has.
type Padding struct{ Lengths []int }

// Visible is j < Lengths[b].
func (p Padding) Visible(b, _, j int) bool { return j < p.Lengths[b] }

// PerSequence is true.
func (Padding) PerSequence() bool { return true }

func (p Padding) check(d Dims) error {
	if len(p.Lengths) != d.Batch {
		return errors.Errorf("%d lengths for a batch of %d", len(p.Lengths), d.Batch)
	}
	for b, n := range p.Lengths {
		if n < 1 || n > d.Context {
			return errors.Errorf("sequence %d has length %d, not in 1 … %d", b, n, d.Context)
		}
	}
	return nil
}

// All combines: a key is visible if every one of the list says so. An empty list hides nothing.
type All []Visibility

// Visible is the conjunction.
func (a All) Visible(b, i, j int) bool {
	for _, v := range a {
		if !v.Visible(b, i, j) {
			return false
		}
	}
	return true
}

// PerSequence is true if one of the list's is.
func (a All) PerSequence() bool { return slices.ContainsFunc(a, perSequence) }

func (a All) check(d Dims) error {
	for _, v := range a {
		if err := checkSizes(v, d); err != nil {
			return err
		}
	}
	return nil
}

func checkSizes(v Visibility, d Dims) error {
	if c, ok := v.(interface{ check(Dims) error }); ok {
		return c.check(d)
	}
	return nil
}

// perSequence says whether the Visibility depends on the sequence.
func perSequence(v Visibility) bool {
	p, ok := v.(PerSequence)
	return ok && p.PerSequence()
}

// perHead says whether the Visibility depends on the head.
func perHead(v Visibility) bool {
	if all, ok := v.(All); ok {
		return slices.ContainsFunc(all, perHead)
	}
	_, ok := v.(PerHead)
	return ok
}

// visibleTo asks for one head, also where it makes no difference.
func visibleTo(v Visibility, head, b, i, j int) bool {
	switch v := v.(type) {
	case PerHead:
		return v.VisibleTo(head, b, i, j)
	case All:
		for _, e := range v {
			if !visibleTo(e, head, b, i, j) {
				return false
			}
		}
		return true
	}
	return v.Visible(b, i, j)
}
