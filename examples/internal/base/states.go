package base

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// States returns the gates and the norms of the states of every recurrent head on a text. The list is empty if the
// model has no recurrence.
func States(m *gpt.Model, ids []int) (list []page.State, err error) {
	var places []string
	for _, place := range []string{"state_norm", "decay", "beta"} {
		pattern := "h.*.attn." + place
		if _, err := m.Graph.Places(pattern); err == nil {
			places = append(places, pattern)
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	probe, err := inspect.Tap(m, places...)
	if err != nil {
		return nil, err
	}
	activations, err := probe.Run(ids)
	if err != nil {
		return nil, err
	}
	for block := range m.Config.NLayer {
		of := func(place string) graph.Tensor {
			x, _ := activations.At(fmt.Sprintf("h.%d.attn.%s", block, place)) // empty if the block has no such place
			return x
		}
		norms := of("state_norm")
		if norms.Len() == 0 {
			continue
		}
		alpha := math.Exp
		switch m.Config.AttentionOf(block) {
		case "mingru", "rglru":
			alpha = func(c float64) float64 { return 1 + c }
		}
		same := func(x float64) float64 { return x }
		for h := range m.Config.NHead {
			list = append(list, page.State{
				Name:  fmt.Sprintf("h.%d head %d", block, h),
				Alpha: perToken(of("decay"), h, m.Config.NHead, len(ids), alpha),
				Beta:  perToken(of("beta"), h, m.Config.NHead, len(ids), same),
				Norm:  perToken(norms, h, m.Config.NHead, len(ids), same),
			})
		}
	}
	return list, nil
}

// perToken returns the mean of f over the features of a head at each of n tokens, in x (T or 1, heads·features).
func perToken(x graph.Tensor, head, heads, n int, f func(float64) float64) (list []float64) {
	if x.Len() == 0 {
		return nil
	}
	width := x.Shape[1]
	features := width / heads
	for t := range n {
		row, mean := t%x.Shape[0], 0.0 // one row holds for all tokens
		for i := range features {
			mean += f(x.At(row*width+head*features+i)) / float64(features)
		}
		list = append(list, mean)
	}
	return list
}
