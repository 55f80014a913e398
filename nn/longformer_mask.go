package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

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
	m.table = table{scope: s, name: "longformer", prepare: m.prepare, score: m.entry}
	if mask == nil {
		m.fail(errors.New("no mask: one must define which tokens attend to which"))
		return m
	}
	if len(mask.shape) == 0 {
		m.fail(errors.New("the underlying mask is invalid"))
		return m
	}
	d := mask.dims
	m.fail(windows.Check(d))
	m.shape = []int{mask.batch, d.Heads, d.Context, 2 * d.Context}
	m.Expr()
	return m
}

// entry returns number i. Keys come in pairs: the local one, for the windows, and the global one.
func (m *LongformerMask) entry(i int) float64 {
	d := m.mask.dims
	n := d.Context
	global, j, query, which := i%2 == 1, i/2%n, i/(2*n)%n, i/(2*n*n)
	head := which % d.Heads
	if global != m.windows.global(query, j) || !global && !m.windows.local(head, query, j) {
		return math.Inf(-1)
	}
	return m.mask.at(head, which/d.Heads, query, j)
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
	return m.mask.checkEmptyRows(append(slices.Clone(m.mask.rules), m.windows), m.mask.dims.Heads)
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
