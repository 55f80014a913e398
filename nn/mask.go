package nn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
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

// Causal lets a token see itself and what came before it: j ≤ i (13).
type Causal struct{}

// Visible is j ≤ i.
func (Causal) Visible(_, i, j int) bool { return j <= i }

// Window lets a token see itself and the Width − 1 tokens before it: i − Width < j ≤ i.
type Window struct{ Width int }

// Visible is i − Width < j ≤ i.
func (w Window) Visible(_, i, j int) bool { return i-w.Width < j && j <= i }

// Padding hides the keys behind the end of sequence b, the columns j ≥ Lengths[b] (Diab hides rows: errata D3b). Lengths
// may change from run to run: call Mask.Update when it has.
type Padding struct{ Lengths []int }

// Visible is j < Lengths[b].
func (p Padding) Visible(b, _, j int) bool { return j < p.Lengths[b] }

// PerSequence is true.
func (Padding) PerSequence() bool { return true }

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

// Mask is a Visibility as the numbers that are added to the scores before the softmax: 0 where a key is visible, −∞
// where it is not, so that its weight is exactly 0. The paper multiplies the scores by 0 and 1 instead, which leaves
// weight on the future (errata B1). It is (T, T), or (B, T, T) if it differs between sequences.
type Mask struct {
	Expr graph.Expr
	see  Visibility
	dims Dims
}

// NewMask declares the value s.mask. A query that sees no key at all has no softmax: it is an error here.
func NewMask(s graph.Scope, dims Dims, see Visibility) *Mask {
	t := dims.Context
	shape := []int{t, t}
	if perSequence(see) {
		shape = []int{dims.Batch, t, t}
	}
	m := &Mask{see: see, dims: dims}
	if err := m.check(); err != nil {
		s.Failf("%v", err)
	}
	m.Expr = s.Value("mask", func(i int, _ *rand.Rand) float64 { return m.at(i) }, shape...)
	return m
}

func (m *Mask) at(i int) float64 {
	t := m.dims.Context
	if m.see.Visible(i/(t*t), i/t%t, i%t) {
		return 0
	}
	return math.Inf(-1)
}

// Update writes the numbers again, after Padding.Lengths has changed.
func (m *Mask) Update() error {
	if err := m.check(); err != nil {
		return errors.Wrap(err, "mask")
	}
	t := m.Expr.Tensor()
	for i := range t.Len() {
		t.Set(i, m.at(i))
	}
	return nil
}

// perSequence says whether the Visibility depends on the sequence.
func perSequence(v Visibility) bool {
	p, ok := v.(PerSequence)
	return ok && p.PerSequence()
}

func (m *Mask) check() error {
	if err := checkSizes(m.see, m.dims); err != nil {
		return err
	}
	batch := 1
	if perSequence(m.see) {
		batch = m.dims.Batch
	}
	for b := range batch {
	queries:
		for i := range m.dims.Context {
			for j := range m.dims.Context {
				if m.see.Visible(b, i, j) {
					continue queries
				}
			}
			return errors.Errorf("query %d of sequence %d sees no key", i, b)
		}
	}
	return nil
}

func checkSizes(v Visibility, dims Dims) error {
	switch v := v.(type) {
	case Window:
		if v.Width < 1 {
			return errors.Errorf("a window of %d tokens: at least 1, the token itself, is needed", v.Width)
		}
	case Padding:
		if len(v.Lengths) != dims.Batch {
			return errors.Errorf("%d lengths for a batch of %d", len(v.Lengths), dims.Batch)
		}
		for b, n := range v.Lengths {
			if n < 1 || n > dims.Context {
				return errors.Errorf("sequence %d has length %d, not in 1 … %d", b, n, dims.Context)
			}
		}
	case All:
		for _, e := range v {
			if err := checkSizes(e, dims); err != nil {
				return err
			}
		}
	}
	return nil
}
