package optim

import (
	"sync"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// squares returns the sum of the squares of x·w in a graph, compiled with the gradient of w where it is to be trained.
func squares(g *graph.Graph, train bool) (w graph.Expr, p *graph.Program, err error) {
	x, w := g.Root().Value("x", graph.Normal(1), 64, 33), g.Root().Param("w", graph.Normal(1), 33, 17)
	y, ok := fused.Linear(x, w, graph.Expr{})
	if !ok {
		y = x.MatMul(w)
	}
	loss := y.Softmax().Square().SumAll()
	if train {
		p, err = graph.Compile(loss, w)
	} else {
		p, err = graph.Compile(loss)
	}
	return w, p, err
}

// While one graph trains, its siblings are built and run in other goroutines. The race detector checks plain Go
// kernels, not assembly. Updates of siblings wait for each other.
func TestTrainingBesideSiblings(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float32, 1)
		g.Kernels = kernels
		var wait sync.WaitGroup
		train := func(g *graph.Graph) {
			w, p, err := squares(g, true)
			if err != nil {
				t.Error(err)
				return
			}
			o, err := New([]graph.Expr{w}, AdamW{Beta1: 0.9, Beta2: 0.999})
			for step := 0; err == nil && step < 20; step++ {
				if err = p.Run(); err == nil {
					_, err = o.Update(p, 1e-3)
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
		if _, _, err := squares(g.Sibling(), false); err != nil { // declares w
			t.Fatal(err)
		}
		wait.Go(func() { train(g) })
		wait.Go(func() { train(g.Sibling()) })
		for range 2 {
			wait.Go(func() {
				for range 5 {
					_, p, err := squares(g.Sibling(), false)
					for run := 0; err == nil && run < 4; run++ {
						err = p.Run()
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
	}
}
