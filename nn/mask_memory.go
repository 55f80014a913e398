package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Memory is the input of cross-attention: the encoder's output, m tokens for each of B sequences, the first Lengths[b]
// of which are not padding. The keys after them are hidden from every query: mask −∞, so that their weight is exactly
// 0. All layers of a decoder share one Memory.
type Memory struct {
	table                           // (B, n, m); Update writes it again after Lengths have changed
	Z                    graph.Expr // (B·m, d); empty if only Step is used
	Batch, Queries, Keys int        // B, n queries of the decoder for each sequence, m
	Lengths              []int      // optional; without them there is no padding
}

// NewMemory declares the value s.mask. Lengths may change from run to run: call Update after changing them.
func NewMemory(s graph.Scope, z graph.Expr, batch, queries, keys int, lengths []int) *Memory {
	m := &Memory{Z: z, Batch: batch, Queries: queries, Keys: keys, Lengths: lengths}
	m.table = table{scope: s, name: "mask", shape: []int{batch, queries, keys}, prepare: m.check, score: m.entry}
	m.fail(m.check())
	m.Expr()
	return m
}

// orNone returns m, or an empty Memory and an error at the site if m is nil.
func (m *Memory) orNone(at Site) *Memory {
	if m == nil {
		at.Failf("no memory: cross-attention needs one to attend to")
		return &Memory{}
	}
	return m
}

func (m *Memory) entry(i int) float64 {
	if m.Lengths != nil && i%m.Keys >= m.Lengths[i/(m.Queries*m.Keys)] {
		return math.Inf(-1)
	}
	return 0
}

func (m *Memory) check() error {
	if m.Batch < 1 || m.Queries < 1 || m.Keys < 1 {
		return errors.Errorf("a batch of %d, %d queries and %d keys: at least 1 of each is needed",
			m.Batch, m.Queries, m.Keys)
	}
	if m.Lengths != nil && len(m.Lengths) != m.Batch {
		return errors.Errorf("%d lengths for a batch of %d", len(m.Lengths), m.Batch)
	}
	for b, n := range m.Lengths {
		if n < 1 || n > m.Keys {
			return errors.Errorf("source %d has length %d, not in 1 … %d", b, n, m.Keys)
		}
	}
	return nil
}

// Expr returns the numbers as a value of the graph, which the first call declares. For nil it returns the empty Expr.
func (m *Memory) Expr() graph.Expr {
	if m == nil {
		return graph.Expr{}
	}
	return m.table.Expr()
}

// Update writes the numbers again after lengths have changed. An error leaves them unchanged.
func (m *Memory) Update() error {
	if m == nil {
		return errUnbuilt
	}
	return m.table.Update()
}
