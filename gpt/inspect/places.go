package inspect

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// find returns the names of a model's activations that match any of the patterns, in the order of the network, and the
// layers that compute some of them only in their equation, not in a kernel. If nothing matches a pattern, the error
// lists similar names.
func find(m *gpt.Model, patterns []string) (names, expanded []string, err error) {
	if m == nil || m.Graph == nil {
		return nil, nil, errors.New("inspect: got no model, want one from gpt.New or gpt.Open")
	}
	if err := m.Check(); err != nil {
		return nil, nil, errors.Wrap(err, "inspect")
	}
	if len(patterns) == 0 {
		return nil, nil, errors.New("inspect: got no names, want some such as \"h.*.attn.weights\"")
	}
	all, err := built(m, false)
	if err != nil {
		return nil, nil, err
	}
	if names, err = all.Places(patterns...); err != nil {
		return nil, nil, errors.Wrap(without(err, all, patterns, m.Config.Attention), "inspect")
	}
	kept, err := built(m, m.Graph.Kernels)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if _, err := kept.Activation(name); err != nil {
			expanded = append(expanded, name[:max(0, strings.LastIndexByte(name, '.'))])
		}
	}
	return names, expanded, nil
}

// activations returns the activations of these names in a model that is built.
func activations(g *graph.Graph, names []string) ([]graph.Expr, error) {
	list := make([]graph.Expr, len(names))
	for i, name := range names {
		x, err := g.Activation(name)
		if err != nil {
			return nil, err
		}
		list[i] = x
	}
	return list, nil
}

// without explains in the error why an attention that has scores has no weights.
func without(err error, g *graph.Graph, patterns []string, attention string) error {
	for _, pattern := range patterns {
		of := strings.TrimSuffix(pattern, ".weights")
		if _, none := g.Places(pattern); none == nil {
			continue
		}
		if _, none := g.Places(of + ".scores"); none == nil {
			return errors.Errorf("no activation %q: attention %q never has weights: it divides the sum weighted by "+
				"its scores sim(q, k) by the sum of the scores; want %q", pattern, attention, of+".scores")
		}
	}
	return err
}

// next returns the configuration of m for the next token alone, without the blocks for those after it: neither the
// logits nor the loss that this package explains depend on these blocks.
func next(m *gpt.Model) gpt.Config {
	c := m.Config
	c.FutureTokens = 1
	return c
}

// built returns the graph of the model for one sequence, without compiling it.
func built(m *gpt.Model, kernels bool) (*graph.Graph, error) {
	return m.Graph.BuildSibling(func(g *graph.Graph) error {
		g.Kernels = kernels
		_, err := gpt.New(g, next(m), 1)
		return err
	})
}
