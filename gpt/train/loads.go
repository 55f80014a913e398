package train

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Load is how the tokens of a step were divided among the experts of a mixture.
type Load struct {
	Mixture string    // the layer, such as "h.0.mlp"
	Shares  []float64 // f_e, the share of the tokens that chose each expert; they add up to k
}

// Imbalance returns the largest share divided by the mean: 1 for balanced experts, at most their number. It is 0 if no
// token chose any.
func (l Load) Imbalance() float64 {
	var sum float64
	for _, f := range l.Shares {
		sum += f
	}
	if sum == 0 {
		return 0
	}
	return slices.Max(l.Shares) * float64(len(l.Shares)) / sum
}

// Starving returns the experts that get less than a tenth of the mean share: they hardly learn, and their parameters
// are wasted. Ask it of the mean of some steps, because the share in one step is noisy.
func (l Load) Starving() (experts []int) {
	mean := 0.0
	for _, f := range l.Shares {
		mean += f / float64(len(l.Shares))
	}
	for e, f := range l.Shares {
		if f < mean/10 {
			experts = append(experts, e)
		}
	}
	return experts
}

// counts returns the expressions that count the tokens of every expert.
func counts(loads []nn.Load) (list []graph.Expr) {
	for _, l := range loads {
		list = append(list, l.Count)
	}
	return list
}

// newCounted returns a count of 0 for every expert of every mixture.
func newCounted(loads []nn.Load) [][]float64 {
	list := make([][]float64, len(loads))
	for i, l := range loads {
		list[i] = make([]float64, int(l.Count.Entries()))
	}
	return list
}

// count adds the tokens of the micro-batch that was just computed.
func (c *Core) count(counted [][]float64) {
	for i, l := range c.loads {
		t := c.backward.Kept(l.Count)
		for e := range counted[i] {
			counted[i][e] += t.At(e)
		}
	}
}

// rebalance moves the biases that balance experts, unless they are frozen, and returns the loads of the step.
func (c *Core) rebalance(counted [][]float64) (list []Load) {
	for i, l := range c.loads {
		if l.Bias.Graph() != nil && !c.training.Frozen.Has(l.Bias.Name()) {
			c.graph.Exclusive(func() { l.Rebalance(counted[i]) })
		}
		tokens := float64(l.Tokens * c.training.GradientAccumulationSteps)
		own := Load{Mixture: l.Name}
		for _, n := range counted[i] {
			own.Shares = append(own.Shares, n/tokens)
		}
		list = append(list, own)
	}
	return list
}
