package gpt

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// window applies each attention, or each block, of a model to the same rows and joins the results side by side.
type window struct {
	x, positions, at graph.Expr
	names            []string // of the layers
	widths           []int    // number of columns of their results
	program          *graph.Program
}

// newWindow builds a window for n tokens of one text, with Step or with Forward.
func (m *Model) newWindow(n int, blocks, step bool) (w *window, err error) {
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		p, root := m.plan, g.Root()
		w = &window{
			x:         root.Value("window", graph.Normal(1), n, p.NEmbd),
			positions: root.Ints("positions", n, p.BlockSize, graph.NoneIgnored),
			at:        root.Ints("at", 1, p.BlockSize, graph.NoneIgnored),
		}
		for i := range n {
			w.positions.Ints()[i] = i
		}
		var results []graph.Expr
		apply := func(name string, l nn.Layer) {
			y := graph.Expr{}
			if step {
				y = l.(nn.Cached).Step(w.x, w.at) // if the model has steps, all layers are Cached
			} else {
				y = l.Forward(w.x)
			}
			if len(y.Shape()) == 2 {
				w.names, w.widths, results = append(w.names, name), append(w.widths, y.Shape()[1]), append(results, y)
			}
		}
		if step {
			g.SetRows(w.positions)
		}
		at := p.site(root, 1, w.positions)
		at.Caches = nn.Caches{}
		placement := p.design.Position.New(at, p.Stack)
		at.Rotary, at.Scores = placement.Rotary, placement.Scores
		mask, block := p.blockBuilder(at, func(at nn.Site, l nn.Layer) {
			if !blocks {
				apply(at.Path(), l)
			}
		})
		at.Mask = mask
		for i := range p.NLayer {
			at := at.At(fmt.Sprintf("h.%d", i))
			at.Block = i
			if l := block(at); blocks {
				apply(at.Path(), l)
			}
		}
		if err := g.Err(); err != nil || len(results) == 0 {
			return err
		}
		if all := results[0]; len(results) > 1 {
			results[0] = all.Join(results[1:]...)
		}
		w.program, err = graph.Compile(results[0])
		return err
	})
	return w, err
}
