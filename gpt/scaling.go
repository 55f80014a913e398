package gpt

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// affine returns the builder of matrices with the factors of the parametrization: on the queries and on the initial
// values of the hidden matrices, whose names it passes to hidden.
func (p plan) affine(collect func(*nn.LoRA), hidden func(name string)) nn.Affine {
	affine, factor := p.Adapters.affine(collect), p.factors.Hidden
	build := func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		if !inBlock(s.Path()) {
			return affine(s, in, out, bias, init)
		}
		hidden(s.Path() + ".weight")
		if init == nil || factor == 1 {
			return affine(s, in, out, bias, init)
		}
		return affine(s, in, out, bias, func(i int, rng *rand.Rand) float64 { return factor * init(i, rng) })
	}
	if p.factors.Queries == 1 {
		return build
	}
	return nn.NewScaledQueries(build, p.factors.Queries)
}

// branch returns l with the factor on the branches of a block.
func (p plan) branch(at nn.Site, l nn.Layer) nn.Layer { return withFactors(at, l, 1, p.factors.Branch) }

// withFactors returns l with factors on its input and output, and l itself if both are 1 or there is no layer.
func withFactors(at nn.Site, l nn.Layer, in, out float64) nn.Layer {
	if l == nil || in == 1 && out == 1 {
		return l
	}
	return nn.NewScaled(at.Scope, l, in, out)
}

// rate returns the factor on the learning rate of a parameter of m.
func (m *Model) rate(p graph.Expr) float64 {
	switch name := p.Name(); {
	case !inBlock(name) || isAdapter(p):
		return 1
	case m.hidden[name]:
		return m.plan.factors.HiddenRate
	}
	return m.plan.factors.BlockRate
}
