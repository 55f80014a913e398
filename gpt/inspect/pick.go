package inspect

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// pick is a weighted sum of some of the logits of a text.
type pick struct{ logits, weights graph.Expr } // (T, V)

func newPick(m *gpt.Model) pick {
	return pick{m.Logits, m.Graph.Root().Value("inspect.pick", graph.Const(0), m.Logits.Shape()...)}
}

// of returns the sum.
func (p pick) of() graph.Expr { return p.logits.Mul(p.weights).SumAll() }

// at sets the weight of an id's logit after a token.
func (p pick) at(token, id int, number float64) error {
	size := p.weights.Shape()[1]
	if id < 0 || id >= size {
		return errors.Errorf("inspect: id %d after token %d is not in 0 … %d", id, token, size-1)
	}
	return p.weights.Tensor().Set(token*size+id, number)
}

// fill sets the tokens of a model of one sequence.
func fill(m *gpt.Model, tokens []int) error {
	all, c := m.Tokens.Ints(), m.Config
	if len(tokens) == 0 || len(tokens) > len(all) {
		return errors.Errorf("inspect: got %d tokens, want 1 to block_size, %d", len(tokens), len(all))
	}
	for i, id := range tokens {
		if id < 0 || id >= c.VocabSize {
			return errors.Errorf("inspect: token %d is %d, not in 0 … %d", i, id, c.VocabSize-1)
		}
	}
	clear(all[copy(all, tokens):])
	return nil
}

// lastStream returns the name of the residual stream after the last block.
func lastStream(c gpt.Config) string { return fmt.Sprintf("h.%d", c.NLayer-1) }
