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
	scope       graph.Scope
	shape       []int
	expr        graph.Expr // declared when somebody asks for it
	see, drawn  Visibility // as it was given, and with its random keys drawn
	bias        Bias
	dims        Dims
	batch, head int // sequences and heads that differ; 1 if none does

	scanned bool
	later   [2]int // a query and a key behind it that it sees, if there are any
}

// NewMask declares the value s.mask, when it is first used. A query that sees no key at all has no softmax: it is an error here (errata D3).
func NewMask(s graph.Scope, dims Dims, see Visibility) *Mask { return NewBiasedMask(s, dims, see, nil) }

// NewBiasedMask is NewMask with what is added to the scores of visible keys.
func NewBiasedMask(s graph.Scope, dims Dims, see Visibility, bias Bias) *Mask {
	m := &Mask{scope: s, see: see, bias: bias, dims: dims, batch: 1, head: 1}
	if perSequence(see) {
		m.batch = dims.Batch
	}
	t := dims.Context
	m.shape = []int{t, t}
	switch {
	case perHead(see) || bias != nil:
		m.head = dims.Heads
		m.shape = []int{m.batch, m.head, t, t}
	case m.batch > 1 || perSequence(see):
		m.shape = []int{m.batch, t, t}
	}
	if err := m.prepare(); err != nil {
		s.Sub("mask").Failf("%v", err)
	}
	return m
}

// Expr is the numbers, (T, T) or one of the other shapes. Attention that is linear in T never asks for them.
func (m *Mask) Expr() graph.Expr {
	if m.expr.Graph() == nil && m.drawn != nil { // else the graph has failed
		m.expr = m.scope.Value("mask", func(i int, _ *rand.Rand) float64 { return m.at(i) }, m.shape...)
	}
	return m.expr
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
	x := m.Expr().In(s)
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
	t := m.expr.Tensor()
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
