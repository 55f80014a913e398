package gpt

import "github.com/pedestrian-ml/pedestrian/graph"

// rerun decodes with a layer that has no cache: every prediction is a forward pass over the window. What stands behind the
// newest token does not matter, for the model is causal.
type rerun struct {
	tokens  graph.Expr
	program *graph.Program
	last    graph.Tensor // the logits (B, V) after the newest tokens
}

func newRerun(m *Model, batch int) (*rerun, error) {
	var f *rerun
	_, err := m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		f, err = buildRerun(g, m.Config, batch)
		return err
	})
	return f, err
}

func buildRerun(g *graph.Graph, c Config, batch int) (*rerun, error) {
	g.SetTraining(false)
	s := g.Root()
	f := &rerun{tokens: s.Ints("tokens", batch*c.BlockSize, c.VocabSize, 0)}
	logits := newStack(site(s, c, batch, positions(s, c, batch)), c).forward(f.tokens)
	var err error
	f.program, err = graph.Compile(logits)
	return f, err
}

// feedWhole appends tokens and predicts from all of them.
func (w *window) feedWhole(tokens []int) (graph.Tensor, error) {
	for ; len(tokens) > 0; tokens = tokens[w.batch:] {
		if len(w.tokens) == w.size*w.batch {
			w.tokens = append(w.tokens[:0], w.newer()...)
		}
		w.tokens = append(w.tokens, tokens[:w.batch]...)
	}
	f, here := w.whole, len(w.tokens)/w.batch-1
	ids := f.tokens.Ints()
	for i, id := range w.tokens {
		ids[i%w.batch*w.size+i/w.batch] = id
	}
	if err := f.program.Run(); err != nil {
		return graph.Tensor{}, err
	}
	all := f.program.Value()
	if f.last.Len() == 0 {
		f.last = all.Clone()
		f.last.Shape = []int{w.batch, w.vocab}
		f.last.F32, f.last.F64 = f.last.F32[:min(len(f.last.F32), w.batch*w.vocab)], f.last.F64[:min(len(f.last.F64), w.batch*w.vocab)]
	}
	for i := range f.last.Len() {
		f.last.Set(i, all.At((i/w.vocab*w.size+here)*w.vocab+i%w.vocab))
	}
	return f.last, nil
}
