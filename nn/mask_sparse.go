package nn

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// BigBird is the sparse graph of Zaheer et al. (2020) that Conti's (13) sums over: query i attends to key j if they are
// near, if one of them is global, or if j was drawn at random for i,
//
//	|i − j| ≤ ⌊Width/2⌋  ∪  i ∈ Global  ∪  j ∈ Global  ∪  Random keys per query
//
// so that at most n(w + r) + 2gn of all pairs of n tokens are computed, w odd. Otherwise the attention is the usual
// one, scaled and with its residual outside (errata C8). Combined with Causal it stays within j ≤ i.
//
// The random keys are drawn when a Mask is prepared, from Seed and the query's position. There are Random of them,
// chosen from the keys that the other rules of an All leave visible and that are neither near nor global, or all of
// these keys if there are fewer. Before that they are missing from Visible. All heads share them, so combining BigBird
// with a PerHead is an error. In a long context the kernels gather the keys far from the window, a few queries at a
// time, and compute no tile around them.
type BigBird struct {
	Width  int
	Global []int // tokens
	Random int
	Seed   uint64

	// drawn holds the random keys of query i at [b][i]. It has a single b if all sequences have the same keys, and is
	// nil until a Mask is prepared.
	drawn [][]drawnKeys
	draw  func(b, i int) []int
}

// drawnKeys holds the random keys of a query, once they have been needed. Two goroutines that draw them at the same
// time draw the same ones.
type drawnKeys struct{ atomic.Pointer[[]int] }

// Visible reports whether |i − j| ≤ ⌊Width/2⌋, or i or j is global, or j was drawn for i.
func (v BigBird) Visible(b, i, j int) bool {
	return near(i, j, v.Width/2) || slices.Contains(v.Global, i) || slices.Contains(v.Global, j) ||
		v.drawn != nil && slices.Contains(v.random(b%len(v.drawn), i), j)
}

// random returns the random keys of a query.
func (v BigBird) random(b, i int) []int {
	at := &v.drawn[b][i]
	if keys := at.Load(); keys != nil {
		return *keys
	}
	keys := v.draw(b, i)
	at.Store(&keys)
	return keys
}

func near(i, j, reach int) bool { return i-j <= reach && j-i <= reach }

// Check returns an error for a width below 1, more random keys than tokens, and global tokens that do not exist.
func (v BigBird) Check(d Dims) error {
	if err := checkWidth(v.Width); err != nil {
		return err
	}
	if v.Random < 0 || v.Random > d.Context {
		return errors.Errorf("%d random keys, not in 0 … %d", v.Random, d.Context)
	}
	return checkGlobal(v.Global, d)
}

func checkGlobal(global []int, d Dims) error {
	for _, token := range global {
		if token < 0 || token >= d.Context {
			return errors.Errorf("global token %d is not in 0 … %d", token, d.Context-1)
		}
	}
	return nil
}

// drawKeys returns the rules with the random keys of every BigBird, which are drawn from what the other rules leave
// visible when a query is first looked at, and with the present lengths of every Padding.
func drawKeys(rules []Visibility, d Dims) []Visibility {
	others := slices.DeleteFunc(slices.Clone(rules), func(v Visibility) bool { _, ok := v.(BigBird); return ok })
	for i, v := range others {
		if p, ok := v.(Padding); ok {
			others[i] = Padding{slices.Clone(p.Lengths)}
		}
	}
	all, next := slices.Clone(rules), 0
	for i, v := range all {
		if v, ok := v.(BigBird); ok {
			all[i] = v.drawing(others, d)
			continue
		}
		all[i] = others[next]
		next++
	}
	return all
}

// drawing returns v with random keys that are drawn as they are needed.
func (v BigBird) drawing(others []Visibility, d Dims) BigBird {
	v.drawn, v.draw = nil, nil
	if v.Random == 0 {
		return v
	}
	near, batch := v, 1
	if slices.ContainsFunc(others, perSequence) {
		batch = d.Batch
	}
	v.drawn = make([][]drawnKeys, batch)
	for b := range v.drawn {
		v.drawn[b] = make([]drawnKeys, d.Context)
	}
	v.draw = func(b, i int) []int {
		var candidates []int
		for j := range d.Context {
			if !near.Visible(b, i, j) && visible(others, 0, b, i, j) {
				candidates = append(candidates, j)
			}
		}
		r := min(v.Random, len(candidates))
		rng := rand.New(rand.NewPCG(v.Seed, uint64(i)))
		for k := range r {
			other := k + rng.IntN(len(candidates)-k)
			candidates[k], candidates[other] = candidates[other], candidates[k]
		}
		return slices.Clone(candidates[:r])
	}
	return v
}

// randomKeys returns the largest number of random keys of any of the rules.
func randomKeys(rules []Visibility) (n int) {
	for _, v := range rules {
		if v, ok := v.(BigBird); ok {
			n = max(n, v.Random)
		}
	}
	return n
}

// Dilated is the window of Longformer (Beltagy et al. 2020, Conti 2.1.1): in head h, with δ = Dilation[h], query i
// attends to key j if
//
//	(i − j) mod δ = 0 and |i − j| ≤ δ⌊Width/2⌋,  or i ∈ Global,  or j ∈ Global
//
// so that with the same number of keys a head reaches δ times as far. The highest and the lowest token that can reach
// another one through L layers are Lδw apart for an even w, a span of Lδw + 1, in which only multiples of δ are reached
// (errata C13). Combined with Causal it stays within j ≤ i. Longformer is the layer whose global tokens have separate
// projections.
//
// In a long context the kernels process tokens at distances of δ together, so that a window costs the same as an
// undilated one with the same number of keys, and they gather distant global keys. Heads that share keys with heads of
// another δ cost as much as windows of the same reach.
type Dilated struct {
	Width    int
	Dilation []int // for each head
	Global   []int // tokens
}

// Visible reports whether query i attends to key j in head 0.
func (v Dilated) Visible(b, i, j int) bool { return v.VisibleTo(0, b, i, j) }

// VisibleTo reports whether query i attends to key j in the given head.
func (v Dilated) VisibleTo(head, _, i, j int) bool {
	return v.local(head, i, j) || v.global(i, j)
}

func (v Dilated) local(head, i, j int) bool {
	if head < 0 || head >= len(v.Dilation) || v.Dilation[head] < 1 {
		return false
	}
	dilation := v.Dilation[head]
	return near(i, j, dilation*(v.Width/2)) && (i-j)%dilation == 0
}

func (v Dilated) global(i, j int) bool {
	return slices.Contains(v.Global, i) || slices.Contains(v.Global, j)
}

// Check returns an error for a width below 1, dilations for another number of heads or outside 1 … T, and global tokens
// that do not exist.
func (v Dilated) Check(d Dims) error {
	if err := checkWidth(v.Width); err != nil {
		return err
	}
	if len(v.Dilation) != d.Heads {
		return errors.Errorf("%d dilations for %d heads", len(v.Dilation), d.Heads)
	}
	for h, dilation := range v.Dilation {
		if dilation < 1 || dilation > d.Context {
			return errors.Errorf("head %d has dilation %d, not in 1 … %d", h, dilation, d.Context)
		}
	}
	return checkGlobal(v.Global, d)
}

// LongformerMask decides for each pair of a query and a key whether they meet in a window, as a global pair, or not at
// all. At most one of the two keys of a token is visible, and none that the underlying mask hides. Its numbers are (1
// or B, H, T, 2T).
type LongformerMask struct {
	table
	mask    *Mask
	windows Dilated
}

// NewLongformerMask declares the value s.longformer. A query without a visible key is an error. After an Update of the
// underlying mask, call this mask's Update too.
func NewLongformerMask(s graph.Scope, mask *Mask, windows Dilated) *LongformerMask {
	m := &LongformerMask{mask: mask, windows: windows}
	m.table = table{
		scope: s, name: "longformer", prepare: m.prepare, row: m.row,
		hidesLater: func() bool { return mask.hidesLater() },
	}
	if mask == nil {
		m.fail(errors.New("no mask: one must define which tokens attend to which"))
		return m
	}
	if len(mask.shape) == 0 {
		m.fail(errors.New("the underlying mask is invalid"))
		return m
	}
	d := mask.dims
	m.stored = mask.stored
	m.fail(windows.Check(d))
	m.shape = []int{mask.batch, d.Heads, d.Context, 2 * d.Context}
	m.Expr()
	return m
}

// row writes row i from column from on. Keys come in pairs: the local one, for the windows, and the global one. Only
// keys in the window and of global tokens are looked at.
func (m *LongformerMask) row(i, from int, into graph.Tensor) {
	n, heads := m.mask.dims.Context, m.mask.dims.Heads
	head, b, query := i/n%heads, i/n/heads, i%n
	hide(into, 0, into.Len())
	show := func(key, kind int) {
		if at := 2*key + kind - from; at >= 0 && at < into.Len() {
			setEntry(into, at, m.mask.at(head, b, query, key))
		}
	}
	if slices.Contains(m.windows.Global, query) {
		for key := range n {
			show(key, 1)
		}
		return
	}
	for _, key := range m.windows.Global {
		show(key, 1)
	}
	first, last := m.windows.reach(head, query, n)
	for key := first; key <= last; key++ {
		if m.windows.local(head, query, key) && !m.windows.global(query, key) {
			show(key, 0)
		}
	}
}

// reach returns the first and the last key that a window may hold, of n.
func (v Dilated) reach(head, query, n int) (first, last int) {
	if head >= len(v.Dilation) {
		return 0, -1
	}
	far := v.Dilation[head] * min(n, v.Width/2)
	return max(0, query-far), min(n-1, query+far)
}

func (m *LongformerMask) prepare() error {
	m.scanned = false
	if err := m.windows.Check(m.mask.dims); err != nil {
		return err
	}
	if m.mask.rules == nil {
		if err := m.mask.prepare(); err != nil {
			return err
		}
	}
	return m.mask.checkEmptyRows(append(slices.Clone(m.mask.others), m.windows), m.mask.dims.Heads)
}

// Expr returns the numbers as a value of the graph, which the first call declares. For nil it returns the empty Expr.
func (m *LongformerMask) Expr() graph.Expr {
	if m == nil {
		return graph.Expr{}
	}
	return m.table.Expr()
}

// Update writes the numbers again after lengths have changed. An error leaves them unchanged.
func (m *LongformerMask) Update() error {
	if m == nil {
		return errUnbuilt
	}
	return m.table.Update()
}
