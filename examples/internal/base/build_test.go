package base

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// A collision is built again elsewhere, on the same parameters; any other error is returned at once.
func TestBuild(t *testing.T) {
	other := errors.New("another error")
	for _, want := range []error{nil, other} {
		var graphs []*graph.Graph
		var weights []graph.Expr
		err := Build(graph.New(graph.Float64, 1), func(g *graph.Graph) error {
			graphs = append(graphs, g)
			weights = append(weights, g.Root().Param("w", graph.Normal(1), 2))
			if len(graphs) < 3 {
				return errors.Wrap(graph.ErrCollision, "somewhere")
			}
			return want
		})
		if !errors.Is(err, want) || len(graphs) != 3 || graphs[0] == graphs[1] || graphs[1] == graphs[2] {
			t.Errorf("got error %v after %d builds, want %v after 3 on as many graphs", err, len(graphs), want)
		}
		weights[0].Tensor().Set(1, 7)
		if got := weights[2].Tensor().At(1); got != 7 {
			t.Errorf("the last graph has %v, want the first one's 7", got)
		}
	}
}
