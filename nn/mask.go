package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Bias is a term that is added to the score of query i and key j in a head. It may be a Checker.
type Bias interface {
	Bias(head, i, j int) float64
}

// Mask is a Visibility as numbers that are added to the scores before the softmax: 0 or the Bias if a key is visible,
// otherwise −∞, so that its weight is exactly 0. The paper multiplies the scores by 0 and 1 instead, which leaves
// weight on the future (errata B1). A Mask is (T, T), or (B, T, T) if it differs between sequences, or (1, H, T, T) or
// (B, H, T, T) if it differs between heads.
//
// A Mask is a graph.Rule: kernels compute the rows that they read, and only other operations store its numbers. The
// numbers are also stored if a user-defined Visibility is a PerSequence, because it may change before Update.
type Mask struct {
	table
	given       Visibility   // by the caller
	rules       []Visibility // the rules in given, with random keys drawn; nil until prepared
	adjacent    []adjacent   // of the rules that show adjacent keys
	others      []Visibility // the other rules
	bias        Bias
	dims        Dims
	batch, head int // number of sequences and heads that differ; 1 if they are the same
}

// NewMask declares the value s.mask when its numbers are first used. A query without any visible key has no softmax and
// is an error at that time (errata D3). Sizes that a Checker refuses are an error at once.
func NewMask(s graph.Scope, dims Dims, v Visibility) *Mask { return NewBiasedMask(s, dims, v, nil) }

// NewBiasedMask is like NewMask, but adds bias to the scores of visible keys; bias is optional.
func NewBiasedMask(s graph.Scope, dims Dims, v Visibility, bias Bias) *Mask {
	m := &Mask{given: v, bias: bias, dims: dims, batch: 1, head: 1}
	m.table = table{scope: s, name: "mask", prepare: m.prepare, row: m.row, span: m.span, hidesLater: m.hidesLater}
	s.Sub("mask").Try(func() {
		m.fail(m.check())
		t, rules := dims.Context, rulesOf(v)
		m.stored = slices.ContainsFunc(rules, changes)
		shape := []int{t, t}
		if slices.ContainsFunc(rules, perSequence) {
			m.batch = dims.Batch
			shape = []int{m.batch, t, t}
		}
		if slices.ContainsFunc(rules, perHead) || bias != nil {
			m.head = dims.Heads
			shape = []int{m.batch, m.head, t, t}
		}
		m.shape = shape
	})
	return m
}

// place returns what row i of (batch, head, T) belongs to.
func (m *Mask) place(i int) (head, b, query int) {
	t := m.dims.Context
	return i / t % m.head, i / t / m.head, i % t
}

// row writes row i from column from on.
func (m *Mask) row(i, from int, into graph.Tensor) {
	head, b, query := m.place(i)
	n := into.Len()
	first, end := m.keys(b, query)
	first = max(0, min(first-from, n))
	end = max(first, min(end-from, n))
	hide(into, 0, first)
	hide(into, end, n)
	m.addBias(head, query, from, into, first, end)
	if len(m.others) == 0 {
		return
	}
	for j := first; j < end; j++ {
		if !visible(m.others, head, b, query, from+j) {
			hide(into, j, j+1)
		}
	}
}

// addBias writes the biases of keys first … end−1, counted from key from on.
func (m *Mask) addBias(head, query, from int, into graph.Tensor, first, end int) {
	if m.bias == nil {
		fillEntries(into, first, end, 0)
		return
	}
	for j := first; j < end; j++ {
		setEntry(into, j, m.bias.Bias(head, query, from+j))
	}
}

// hide writes −∞ to entries from … to−1.
func hide(x graph.Tensor, from, to int) { fillEntries(x, from, to, math.Inf(-1)) }

func fillEntries(x graph.Tensor, from, to int, v float64) {
	for i := from; i < to; i++ {
		setEntry(x, i, v)
	}
}

// setEntry is x.Set for an entry that exists.
func setEntry(x graph.Tensor, i int, v float64) {
	if x.F32 != nil {
		x.F32[i] = float32(v)
	} else {
		x.F64[i] = v
	}
}

// keys returns a range that holds the visible keys of a query: all of them if there are no other rules.
func (m *Mask) keys(b, query int) (from, to int) {
	to = m.dims.Context
	for _, r := range m.adjacent {
		first, end := r.keys(b, query)
		from, to = max(from, first), min(to, end)
	}
	return from, to
}

// span returns the visible keys of row i if they are adjacent and have no bias.
func (m *Mask) span(i int) (from, to int, ok bool) {
	if m.bias != nil || len(m.others) > 0 {
		return 0, 0, false
	}
	_, b, query := m.place(i)
	from, to = m.keys(b, query)
	return from, to, true
}

// hidesLater reports whether one of the rules hides later keys from every query.
func (m *Mask) hidesLater() bool {
	return slices.ContainsFunc(rulesOf(m.given), func(v Visibility) bool {
		switch v.(type) {
		case Causal, Window, SinkWindow:
			return true
		}
		return false
	})
}

// at returns the number that is added to the score of query i and key j.
func (m *Mask) at(head, b, i, j int) float64 {
	switch {
	case !visible(m.rules, head, b, i, j):
		return math.Inf(-1)
	case m.bias != nil:
		return m.bias.Bias(head, i, j)
	}
	return 0
}

// prepare checks the sizes, draws random keys, and looks for queries without a visible key.
func (m *Mask) prepare() error {
	if err := m.check(); err != nil {
		return err
	}
	rules := drawKeys(rulesOf(m.given), m.dims)
	next := *m
	next.rules, next.adjacent, next.others = rules, nil, nil
	for _, v := range rules {
		r, ok := v.(adjacent)
		if ok {
			next.adjacent = append(next.adjacent, r)
		}
		if _, gap := v.(SinkWindow); !ok || gap {
			next.others = append(next.others, v)
		}
	}
	if err := next.checkEmptyRows(next.others, m.head); err != nil {
		return err
	}
	m.rules, m.adjacent, m.others, m.scanned = rules, next.adjacent, next.others, false
	return nil
}

// changes reports whether a user-defined Visibility may show other keys before the next Update.
func changes(v Visibility) bool {
	_, padding := v.(Padding)
	return perSequence(v) && !padding
}

// overHeads returns the mask with an axis for the heads, which it adds if there is one for the sequences only.
func (m *Mask) overHeads(s graph.Scope) graph.Expr { // (B, T, T) → (B, 1, T, T)
	x := m.Expr().In(s)
	if len(x.Shape()) == 3 {
		return x.Reshape(m.batch, 1, m.dims.Context, m.dims.Context)
	}
	return x
}

// hides reports whether m hides the future and padding. ok is false if m is nil or hides anything else.
func hides(m *Mask) (causal, padded, ok bool) {
	if m == nil || m.bias != nil {
		return false, false, false
	}
	ok = true
	for _, v := range rulesOf(m.given) {
		switch v.(type) {
		case Causal:
			causal = true
		case Padding:
			padded = true
		default:
			ok = false
		}
	}
	return causal, padded, ok
}

// window returns the narrowest window of the mask, of width tokens, and the number of first tokens that stay visible
// beside it. ok is false if the mask is in no window.
func (m *Mask) window() (width, first int, ok bool) {
	if m == nil {
		return 0, 0, false
	}
	for _, v := range rulesOf(m.given) {
		w, is := v.(SinkWindow)
		if plain, without := v.(Window); without {
			w, is = SinkWindow{Width: plain.Width}, true
		}
		if is && (!ok || w.Width < width) {
			width, first, ok = w.Width, w.Sinks, true
		}
	}
	return width, first, ok
}

// String returns the parts of the mask, such as "nn.Causal{} with nn.ALiBi".
func (m *Mask) String() string {
	if m == nil {
		return "nil"
	}
	name := fmt.Sprintf("%T%+v", m.given, m.given)
	if m.bias != nil {
		name += fmt.Sprintf(" with %T", m.bias)
	}
	return name
}

// Expr returns the numbers as a value of the graph, which the first call declares. For nil it returns the empty Expr.
func (m *Mask) Expr() graph.Expr {
	if m == nil {
		return graph.Expr{}
	}
	return m.table.Expr()
}

// Update writes the numbers again after lengths have changed. An error leaves them unchanged.
func (m *Mask) Update() error {
	if m == nil {
		return errUnbuilt
	}
	return m.table.Update()
}

// check calls every Checker. It returns an error for random keys together with a rule that differs between heads: they
// are drawn once for all heads.
func (m *Mask) check() error {
	rules := rulesOf(m.given)
	for _, v := range rules {
		if v == nil {
			return errors.New("no Visibility: use Causal{}, or All{} if every token attends to every other one")
		}
		if err := checkSizes(v, m.dims); err != nil {
			return err
		}
	}
	if n := randomKeys(rules); n > 0 && slices.ContainsFunc(rules, perHead) {
		return errors.Errorf("%d random keys, drawn once for all heads, with a mask that differs between heads", n)
	}
	return checkSizes(m.bias, m.dims)
}

func checkSizes(v any, d Dims) error {
	if c, ok := v.(Checker); ok {
		return c.Check(d)
	}
	return nil
}

// checkEmptyRows returns an error if a query has no visible key, by the adjacent rules and the given ones.
func (m *Mask) checkEmptyRows(rules []Visibility, heads int) error {
	for which := range m.batch * heads {
		head, b := which%heads, which/heads
		for i := range m.dims.Context {
			switch {
			case m.hasKey(rules, head, b, i):
			case heads > 1:
				return errors.Errorf("query %d of sequence %d attends to no key in head %d", i, b, head)
			default:
				return errors.Errorf("query %d of sequence %d attends to no key", i, b)
			}
		}
	}
	return nil
}

func (m *Mask) hasKey(rules []Visibility, head, b, i int) bool {
	from, to := m.keys(b, i)
	if from <= i && i < to && visible(rules, head, b, i, i) { // most queries attend to themselves
		return true
	}
	for j := from; j < to; j++ {
		if visible(rules, head, b, i, j) {
			return true
		}
	}
	return false
}
