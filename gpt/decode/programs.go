package decode

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// steps computes n new tokens of every text from the caches of the earlier ones.
type steps struct {
	n                     int
	tokens, positions, at graph.Expr
	hidden                *graph.Program // fills the caches, without the head
	logits                *graph.Program // nil if n > 1
}

// newSteps returns nil if the network has a layer, or an edit, that cannot process the newest tokens alone. The input
// at has the given number of positions: 1 if all texts are at the same position, otherwise one for each.
func newSteps(net Network, batch, n, positions int, caches nn.Caches) (s *steps, err error) {
	_, err = net.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		root := g.Root()
		s = &steps{
			n:         n,
			tokens:    root.Ints("tokens", batch*n, net.Vocabulary, graph.NoneIgnored),
			positions: root.Ints("positions", batch*n, net.Context, graph.NoneIgnored),
			at:        root.Ints("at", positions, net.Context, graph.NoneIgnored),
		}
		g.SetRows(s.positions)
		layers, err := net.layers(g, batch, s.positions, caches)
		if err != nil || !layers.Cached() {
			s = nil
			return err
		}
		var hidden, logits graph.Expr
		root.Try(func() {
			hidden = layers.Step(s.tokens, s.at)
			logits = layers.Predict(hidden)
		})
		if g.Edited() && !g.EditedByRows() {
			s = nil // an error of an edit appears in Forward, too
			return nil
		}
		if err := g.Err(); err != nil {
			return err
		}
		if s.hidden, err = graph.Compile(hidden); err != nil || n > 1 {
			return err
		}
		s.logits, err = graph.Compile(logits)
		return err
	})
	return s, err
}

// rerun decodes with a layer that has no cache: every prediction is a forward pass over the context. Positions after
// the newest token do not matter, because the network is causal.
type rerun struct {
	tokens  graph.Expr // (B·T)
	program *graph.Program
	last    graph.Tensor // the logits (B, V) after the newest tokens
}

func newRerun(net Network, batch int) (r *rerun, err error) {
	_, err = net.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		root := g.Root()
		r = &rerun{tokens: root.Ints("tokens", batch*net.Context, net.Vocabulary, graph.NoneIgnored)}
		layers, err := net.layers(g, batch, parts.Places(root, batch, net.Context), nil)
		if err != nil {
			return err
		}
		var logits graph.Expr
		root.Try(func() { logits = layers.Predict(layers.Forward(r.tokens)) })
		if err := g.Err(); err != nil {
			return err
		}
		r.program, err = graph.Compile(logits)
		return err
	})
	return r, err
}

// feedAgain appends tokens and predicts from the complete context.
func (w *window) feedAgain(reading graph.Reading, tokens []int) (graph.Tensor, error) {
	for ; len(tokens) > 0; tokens = tokens[w.batch:] {
		if len(w.tokens) == w.size*w.batch {
			w.tokens = append(w.tokens[:0], w.keepHalf()...)
		}
		w.tokens = append(w.tokens, tokens[:w.batch]...)
	}
	r, n := w.rerun, len(w.tokens)/w.batch
	for t := range n {
		for b := range w.batch {
			r.tokens.Ints()[b*w.size+t] = w.tokens[t*w.batch+b]
		}
	}
	if err := reading.Run(r.program); err != nil {
		return graph.Tensor{}, err
	}
	all := r.program.Value() // (B·T, V)
	if r.last.Len() == 0 {
		r.last = graph.Tensor{Shape: []int{w.batch, w.vocabulary}}
		if size := w.batch * w.vocabulary; all.F32 != nil {
			r.last.F32 = make([]float32, size)
		} else {
			r.last.F64 = make([]float64, size)
		}
	}
	for b := range w.batch {
		if err := r.last.Row(b).Copy(all.Row(b*w.size + n - 1)); err != nil {
			return graph.Tensor{}, err
		}
	}
	return r.last, nil
}
