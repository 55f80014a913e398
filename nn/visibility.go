package nn

import (
	"slices"

	"github.com/pkg/errors"
)

// Visibility decides whether query i of sequence b attends to key j. A user-defined Visibility may also be a
// PerSequence, a PerHead and a Checker.
type Visibility interface {
	Visible(b, i, j int) bool
}

// PerSequence is a Visibility that may differ between the sequences of a batch. Without this method, sequence 0 stands
// for all of them.
type PerSequence interface {
	Visibility
	PerSequence() bool
}

// PerHead is a Visibility that differs between the heads of a layer. Visible is for head 0.
type PerHead interface {
	Visibility
	VisibleTo(head, b, i, j int) bool
}

// Checker is a Visibility or a Bias that does not fit all sizes. Check is called first, both when a mask is built and
// when it is updated. The graph or Update returns its error, so it should name both numbers that disagree.
type Checker interface {
	Check(d Dims) error
}

// adjacent is a Visibility that shows a query no keys but adjacent ones, all of them except in a SinkWindow.
type adjacent interface {
	Visibility
	keys(b, i int) (from, to int)
}

// Causal lets a token attend to itself and to earlier tokens: j ≤ i (13), as in Diab's formula (errata D8).
type Causal struct{}

// Visible reports whether j ≤ i.
func (Causal) Visible(_, i, j int) bool { return j <= i }

func (Causal) keys(_, i int) (from, to int) { return 0, i + 1 }

// Window lets a token attend to itself and to the Width − 1 tokens before it: i − Width < j ≤ i. Width 1 is the
// identity, and the length of the context gives Causal (errata D8).
type Window struct{ Width int }

// Visible reports whether i − Width < j ≤ i.
func (w Window) Visible(_, i, j int) bool { return i-w.Width < j && j <= i }

func (w Window) keys(_, i int) (from, to int) { return i - w.Width + 1, i + 1 }

// Check returns an error for a width below 1.
func (w Window) Check(Dims) error { return checkWidth(w.Width) }

// SinkWindow is Window with Sinks first tokens that stay visible to every later one (StreamingLLM, Xiao et al. 2023,
// section 3): i − Width < j ≤ i, or j < Sinks and j ≤ i. A query whose window holds nothing of interest can then give
// its weight to them, as it can without a window.
type SinkWindow struct{ Width, Sinks int }

// Visible reports whether i − Width < j ≤ i, or j < Sinks and j ≤ i.
func (w SinkWindow) Visible(_, i, j int) bool { return j <= i && (i-w.Width < j || j < w.Sinks) }

func (w SinkWindow) keys(_, i int) (from, to int) { return 0, i + 1 }

// Check returns an error for a width below 1, and for a number of first tokens outside 0 … T.
func (w SinkWindow) Check(d Dims) error {
	if w.Sinks < 0 || w.Sinks > d.Context {
		return errors.Errorf("%d first tokens that stay visible, not in 0 … %d", w.Sinks, d.Context)
	}
	return checkWidth(w.Width)
}

func checkWidth(width int) error {
	if width < 1 {
		return errors.Errorf("a window of %d tokens: at least 1, the token itself, is needed", width)
	}
	return nil
}

// Padding hides the keys after the end of sequence b, the columns j ≥ Lengths[b] (Diab hides rows: errata D3b). Lengths
// may change from run to run: call Mask.Update after changing them.
type Padding struct{ Lengths []int }

// Visible reports whether j < Lengths[b].
func (p Padding) Visible(b, _, j int) bool { return b >= 0 && b < len(p.Lengths) && j < p.Lengths[b] }

func (p Padding) keys(b, _ int) (from, to int) {
	if b < 0 || b >= len(p.Lengths) {
		return 0, 0
	}
	return 0, p.Lengths[b]
}

// PerSequence returns true.
func (Padding) PerSequence() bool { return true }

// Check returns an error for lengths of another batch or outside 1 … T.
func (p Padding) Check(d Dims) error {
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

// All combines rules: a key is visible if every rule of the list allows it. An empty list hides nothing.
type All []Visibility

// Visible reports whether every rule of the list allows the key.
func (a All) Visible(b, i, j int) bool {
	return !slices.ContainsFunc(a, func(v Visibility) bool { return v == nil || !v.Visible(b, i, j) })
}

// rulesOf returns the rules that v combines, including the rules of every nested All, or v alone.
func rulesOf(v Visibility) []Visibility {
	all, ok := v.(All)
	if !ok {
		return []Visibility{v}
	}
	rules := []Visibility{}
	for _, e := range all {
		rules = append(rules, rulesOf(e)...)
	}
	return rules
}

// visible reports whether all rules let query i of sequence b attend to key j in a head.
func visible(rules []Visibility, head, b, i, j int) bool {
	return !slices.ContainsFunc(rules, func(v Visibility) bool {
		if p, ok := v.(PerHead); ok {
			return !p.VisibleTo(head, b, i, j)
		}
		return !v.Visible(b, i, j)
	})
}

func perSequence(v Visibility) bool {
	p, ok := v.(PerSequence)
	return ok && p.PerSequence()
}

func perHead(v Visibility) bool { _, ok := v.(PerHead); return ok }
