package base

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Weights returns the attention weights of every block on a text. The model does not see the text that follows.
func Weights(m *gpt.Model, ids []int) (layers []page.Layer, err error) {
	probe, err := inspect.Tap(m, "h.*.attn.weights")
	if err != nil {
		return nil, noWeights("h.0", m.Config)
	}
	activations, err := probe.Run(ids)
	if err != nil {
		return nil, err
	}
	for name, rho := range activations.All() {
		l, c := page.Layer{Name: strings.TrimSuffix(name, ".attn.weights")}, m.Config
		per := keysPerToken(rho.Shape, c)
		if per == 0 {
			return nil, noWeights(l.Name, c)
		}
		for h := range c.NHead {
			l.Heads = append(l.Heads, corner(rho, h, c.BlockSize, per, len(ids)))
		}
		layers = append(layers, l)
	}
	return layers, nil
}

func noWeights(block string, c gpt.Config) error {
	return errors.Errorf("%s: attention %q in a block %q has no weights (1, %d, %d, %d), "+
		"a number for every query and key",
		block, c.Attention, c.Block, c.NHead, c.BlockSize, c.BlockSize)
}

// keysPerToken returns 1 if weights are (1, H, T, T), 2 if every token has two keys, as in nn.Longformer, and
// otherwise 0.
func keysPerToken(shape []int, c gpt.Config) int {
	for per := 1; per <= 2; per++ {
		if slices.Equal(shape, []int{1, c.NHead, c.BlockSize, per * c.BlockSize}) {
			return per
		}
	}
	return 0
}

// corner returns the first n queries and tokens of head h in (1, H, T, per·T).
func corner(t graph.Tensor, h, context, per, n int) [][]float64 {
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, n)
		for j := range n * per {
			x[i][j/per] += t.At(((h*context+i)*context)*per + j)
		}
	}
	return x
}
