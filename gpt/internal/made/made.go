// Package made compares the exported fields of a model with the values that its constructor has set.
package made

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Network holds the exported fields of a model.
type Network struct {
	Graph  *graph.Graph
	Exprs  []Expr
	Config []string // the fields of the network that determine its graph, with their values
}

// Expr is an expression among the fields of a model.
type Expr struct {
	Name string
	graph.Expr
}

// Check returns an error that names the first field of now that differs from built, which the constructor has recorded:
// a decoder, a file or a graph of such a model would belong to another network than the weights. built is nil for a
// model that is a literal.
func Check(built *Network, now Network) error {
	switch {
	case now.Graph == nil:
		return errors.New("model: Graph: got nil, it has no graph, want one from New or LoadModel")
	case built == nil:
		return errors.New("model: a literal, want one from New or LoadModel")
	case now.Graph != built.Graph:
		return errors.New("model: Graph has been replaced: the weights are in the one from New")
	}
	for i, x := range now.Exprs {
		if x.Node() != built.Exprs[i].Node() {
			return errors.Errorf("model: %s has been replaced: want the expression from New", x.Name)
		}
	}
	for i, line := range now.Config {
		if i >= len(built.Config) || line != built.Config[i] {
			return errors.Errorf(
				"model: Config: got %s, but the model is built with %s: New builds one of another Config",
				field.Clip(line), field.Clip(built.Config[min(i, len(built.Config)-1)]))
		}
	}
	return nil
}
