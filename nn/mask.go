package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Bias is what is added to the score of query i and key j in a head.
type Bias interface {
	Bias(head, i, j int) float64
}

// Mask is a Visibility as the numbers that are added to the scores before the softmax: 0 where a key is visible, or the
// Bias, and −∞ where it is not, so that its weight is exactly 0. The paper multiplies the scores by 0 and 1 instead, which
// leaves weight on the future (errata B1). It is (T, T), or (B, T, T) if it differs between sequences, or (1, H, T, T) or
// (B, H, T, T) if it differs between heads.
type Mask struct {
	Expr        graph.Expr
	see, drawn  Visibility // as it was given, and with its random keys drawn
	bias        Bias
	dims        Dims
	batch, head int // sequences and heads that differ; 1 if none does

	scanned bool
	later   [2]int // a query and a key behind it that it sees, if there are any
}

// NewMask declares the value s.mask. A query that sees no key at all has no softmax: it is an error here (errata D3).
func NewMask(s graph.Scope, dims Dims, see Visibility) *Mask { return NewBiasedMask(s, dims, see, nil) }

// NewBiasedMask is NewMask with what is added to the scores of visible keys.
func NewBiasedMask(s graph.Scope, dims Dims, see Visibility, bias Bias) *Mask {
	m := &Mask{see: see, bias: bias, dims: dims, batch: 1, head: 1}
	if perSequence(see) {
		m.batch = dims.Batch
	}
	t := dims.Context
	shape := []int{t, t}
	switch {
	case perHead(see) || bias != nil:
		m.head = dims.Heads
		shape = []int{m.batch, m.head, t, t}
	case m.batch > 1 || perSequence(see):
		shape = []int{m.batch, t, t}
	}
	if err := m.prepare(); err != nil {
		s.Sub("mask").Failf("%v", err)
		return m
	}
	m.Expr = s.Value("mask", func(i int, _ *rand.Rand) float64 { return m.at(i) }, shape...)
	return m
}

// at is entry i of (batch, head, T, T).
func (m *Mask) at(i int) float64 {
	t := m.dims.Context
	which := i / (t * t)
	return m.score(which%m.head, which/m.head, i/t%t, i%t)
}

// score is what is added to that of query i and key j.
func (m *Mask) score(head, b, i, j int) float64 {
	switch {
	case !visibleTo(m.drawn, head, b, i, j):
		return math.Inf(-1)
	case m.bias != nil:
		return m.bias.Bias(head, i, j)
	}
	return 0
}

// overHeads is the mask with an axis for the heads, if it has one for the sequences alone.
func (m *Mask) overHeads(s graph.Scope) graph.Expr { // (B, T, T) → (B, 1, T, T)
	x := m.Expr.In(s)
	if len(x.Shape()) == 3 {
		return x.Reshape(m.batch, 1, m.dims.Context, m.dims.Context)
	}
	return x
}

// Update writes the numbers again, after Padding.Lengths has changed.
func (m *Mask) Update() error {
	if err := m.prepare(); err != nil {
		return errors.Wrap(err, "mask")
	}
	t := m.Expr.Tensor()
	for i := range t.Len() {
		t.Set(i, m.at(i))
	}
	return nil
}

// prepare checks the sizes, draws random keys, and looks for queries that see nothing.
func (m *Mask) prepare() error {
	if err := checkSizes(m.see, m.dims); err != nil {
		return err
	}
	if err := checkRandom(m.see); err != nil {
		return err
	}
	if b, ok := m.bias.(interface{ check(Dims) error }); ok {
		if err := b.check(m.dims); err != nil {
			return err
		}
	}
	see := drawn(m.see, All{}, m.dims)
	if err := m.noBlindQuery(see, m.head); err != nil {
		return err
	}
	m.drawn, m.scanned = see, false
	return nil
}

// onlyPast fails at s if a query sees a key behind it, which is not there yet when tokens come one at a time.
func (m *Mask) onlyPast(s graph.Scope) {
	if !m.scanned {
		m.scanned, m.later = true, m.sight()
	}
	if query, key := m.later[0], m.later[1]; key > query {
		s.Failf("one token at a time: query %d sees the later key %d", query, key)
	}
}

// sight is a query and the first later key that it sees, or 0 twice.
func (m *Mask) sight() [2]int {
	hidden, numbers, t := math.Inf(-1), m.Expr.Tensor(), m.dims.Context
	for row := range numbers.Len() / max(t, 1) {
		for i, j := row%t, row%t+1; j < t; j++ {
			if numbers.At(row*t+j) != hidden {
				return [2]int{i, j}
			}
		}
	}
	return [2]int{}
}

// noBlindQuery looks for queries that see nothing.
func (m *Mask) noBlindQuery(see Visibility, heads int) error {
	for which := range m.batch * heads {
		head, b := which%heads, which/heads
	queries:
		for i := range m.dims.Context {
			for j := range m.dims.Context {
				if visibleTo(see, head, b, i, j) {
					continue queries
				}
			}
			if heads > 1 {
				return errors.Errorf("query %d of sequence %d sees no key in head %d", i, b, head)
			}
			return errors.Errorf("query %d of sequence %d sees no key", i, b)
		}
	}
	return nil
}
