package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// LongformerMask says which pairs of a query and a key meet in the windows, which as global ones, and which not: of the two
// keys that every token is, at most one is visible, and none that another mask hides.
type LongformerMask struct {
	expr graph.Expr // (1 or B, H, T, 2T)
	mask *Mask
	see  Dilated
}

// NewLongformerMask declares the value s.longformer. A query that sees no key is an error.
func NewLongformerMask(s graph.Scope, mask *Mask, see Dilated) *LongformerMask {
	m := &LongformerMask{mask: mask, see: see}
	if err := m.check(); err != nil {
		s.Sub("longformer").Failf("%v", err)
		return m
	}
	d := mask.dims
	m.expr = s.Value("longformer", func(i int, _ *rand.Rand) float64 { return m.at(i) }, mask.batch, d.Heads, d.Context, 2*d.Context)
	return m
}

// Update writes the numbers again, after the other mask's Update.
func (m *LongformerMask) Update() error {
	if err := m.check(); err != nil {
		return errors.Wrap(err, "longformer")
	}
	t := m.expr.Tensor()
	for i := range t.Len() {
		t.Set(i, m.at(i))
	}
	return nil
}

func (m *LongformerMask) at(i int) float64 {
	d := m.mask.dims
	n := d.Context
	global, j, query, which := i%2 == 1, i/2%n, i/(2*n)%n, i/(2*n*n)
	head := which % d.Heads
	switch {
	case global != m.see.global(query, j), !global && !m.see.local(head, query, j):
		return math.Inf(-1)
	}
	return m.mask.score(head, which/d.Heads, query, j)
}

func (m *LongformerMask) check() error {
	if m.mask == nil {
		return errors.New("no mask: one is needed that says who sees whom")
	}
	if m.mask.drawn == nil {
		return errors.New("the mask that it is to keep to could not be made")
	}
	if err := m.see.check(m.mask.dims); err != nil {
		return err
	}
	return m.mask.noBlindQuery(All{m.mask.drawn, m.see}, m.mask.dims.Heads)
}
