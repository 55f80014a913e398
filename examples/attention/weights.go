package main

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// matrix is the weights of a head: row i is what query i takes of every key.
type matrix = [][]float64

// layer is the heads of a block.
type layer struct {
	Name  string
	Heads []matrix
}

// weights runs the reference model, of stock operations, and reads what enters the dropout of the attention weights.
func weights(m *gpt.Model, ids []int) ([]layer, error) {
	var layers []layer
	_, err := m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.Kernels = false
		layers, err = read(g, m.Config, ids)
		return err
	})
	return layers, err
}

func read(g *graph.Graph, c gpt.Config, ids []int) (layers []layer, err error) {
	g.SetTraining(false)
	m, err := gpt.New(g, c, 1)
	if err != nil {
		return nil, err
	}
	copy(m.Tokens.Ints(), ids) // what follows them is hidden from them
	for i := range c.NLayer {
		l := layer{Name: fmt.Sprintf("h.%d", i)}
		rho, err := g.Entering(l.Name + ".attn.attn_dropout")
		per := keysPerToken(rho.Shape(), m.Config)
		if err != nil || per == 0 {
			return nil, errors.Errorf("%s: attention %q in a block %q has no weights (1, %d, %d, %d), "+
				"a number for every query and key",
				l.Name, m.Config.Attention, m.Config.Block, c.NHead, c.BlockSize, c.BlockSize)
		}
		p, err := graph.Compile(rho)
		if err != nil {
			return nil, err
		}
		if err := p.Run(); err != nil {
			return nil, err
		}
		for h := range c.NHead {
			l.Heads = append(l.Heads, corner(p.Value(), h, c.BlockSize, per, len(ids)))
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// keysPerToken is 1 where weights are (1, H, T, T), 2 where every token is two keys, as in nn.Longformer, and 0 where
// the shape is another.
func keysPerToken(shape []int, c gpt.Config) int {
	for per := 1; per <= 2; per++ {
		if slices.Equal(shape, []int{1, c.NHead, c.BlockSize, per * c.BlockSize}) {
			return per
		}
	}
	return 0
}

// corner is the first n queries and tokens of head h in (1, H, T, per·T).
func corner(t graph.Tensor, h, context, per, n int) matrix {
	x := make(matrix, n)
	for i := range x {
		x[i] = make([]float64, n)
		for j := range n * per {
			x[i][j/per] += t.At(((h*context+i)*context)*per + j)
		}
	}
	return x
}
