package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Memory is what cross-attention looks at: the encoder's output, m tokens for each of B sequences, of which the first
// Lengths[b] are no padding. The columns behind them are hidden from every query: mask −∞, so that their weight is
// exactly 0. All layers of a decoder share one.
type Memory struct {
	Z                    graph.Expr // (B·m, d); empty where only Step is used
	Batch, Queries, Keys int        // B, n queries of the decoder for each sequence, m
	Lengths              []int      // nil: no padding

	mask graph.Expr // (B, n, m)
}

// NewMemory declares the value s.mask. Lengths may change from run to run: call Update when they have.
func NewMemory(s graph.Scope, z graph.Expr, batch, queries, keys int, lengths []int) *Memory {
	m := &Memory{Z: z, Batch: batch, Queries: queries, Keys: keys, Lengths: lengths}
	if err := m.check(); err != nil {
		s.Sub("mask").Failf("%v", err)
		return m
	}
	m.mask = s.Value("mask", func(i int, _ *rand.Rand) float64 { return m.at(i) }, batch, queries, keys)
	return m
}

// Update writes the mask again, after Lengths have changed.
func (m *Memory) Update() error {
	if err := m.check(); err != nil {
		return errors.Wrap(err, "memory")
	}
	t := m.mask.Tensor()
	for i := range t.Len() {
		t.Set(i, m.at(i))
	}
	return nil
}

func (m *Memory) at(i int) float64 {
	if m.Lengths != nil && i%m.Keys >= m.Lengths[i/(m.Queries*m.Keys)] {
		return math.Inf(-1)
	}
	return 0
}

func (m *Memory) check() error {
	if m.Batch < 1 || m.Queries < 1 || m.Keys < 1 {
		return errors.Errorf("a batch of %d, %d queries and %d keys: at least 1 of each is needed", m.Batch, m.Queries, m.Keys)
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
