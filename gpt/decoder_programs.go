package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// stepProgram computes n new tokens of every sequence from the caches of the earlier ones.
type stepProgram struct {
	n                     int
	tokens, positions, at graph.Expr
	hidden                *graph.Program // fills the caches, without the head
	logits                *graph.Program // nil if n > 1
}

// newStepProgram returns nil if the model has a layer, or an edit, that cannot process the newest tokens alone.
func newStepProgram(m *Model, batch, n int, caches nn.Caches) (s *stepProgram, err error) {
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		c, root := m.Config, g.Root()
		s = &stepProgram{
			n:         n,
			tokens:    root.Ints("tokens", batch*n, c.VocabSize, graph.NoneIgnored),
			positions: root.Ints("positions", batch*n, c.BlockSize, graph.NoneIgnored),
			at:        root.Ints("at", 1, c.BlockSize, graph.NoneIgnored),
		}
		g.SetRows(s.positions)
		at := site(root, c, batch, s.positions)
		at.Caches = caches
		net := newStack(at, c)
		if err := g.Err(); err != nil || !net.cached() {
			s = nil
			return err
		}
		hidden := net.Step(s.tokens, s.at)
		logits := net.predict(hidden)
		if g.Edited() && !g.EditedByRows() {
			s = nil // an error of an edit appears in Forward, too
			return nil
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
// the newest token do not matter, because the model is causal.
type rerun struct {
	tokens  graph.Expr // (B·T)
	program *graph.Program
	last    graph.Tensor // the logits (B, V) after the newest tokens
}

func newRerun(m *Model, batch int) (r *rerun, err error) {
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		c, s := m.Config, g.Root()
		r = &rerun{tokens: s.Ints("tokens", batch*c.BlockSize, c.VocabSize, graph.NoneIgnored)}
		net := newStack(site(s, c, batch, parts.Places(s, batch, c.BlockSize)), c)
		r.program, err = graph.Compile(net.predict(net.Forward(r.tokens)))
		return err
	})
	return r, err
}

// feedAgain appends tokens and predicts from the complete context.
func (d *decoding) feedAgain(reading graph.Reading, tokens []int) (graph.Tensor, error) {
	for ; len(tokens) > 0; tokens = tokens[d.batch:] {
		if len(d.context) == d.size*d.batch {
			d.context = append(d.context[:0], d.keepHalf()...)
		}
		d.context = append(d.context, tokens[:d.batch]...)
	}
	r, n := d.rerun, len(d.context)/d.batch
	for t := range n {
		for b := range d.batch {
			r.tokens.Ints()[b*d.size+t] = d.context[t*d.batch+b]
		}
	}
	if err := reading.Run(r.program); err != nil {
		return graph.Tensor{}, err
	}
	all := r.program.Value() // (B·T, V)
	if r.last.Len() == 0 {
		r.last = graph.Tensor{Shape: []int{d.batch, d.vocab}}
		if size := d.batch * d.vocab; all.F32 != nil {
			r.last.F32 = make([]float32, size)
		} else {
			r.last.F64 = make([]float64, size)
		}
	}
	for b := range d.batch {
		if err := r.last.Row(b).Copy(all.Row(b*d.size + n - 1)); err != nil {
			return graph.Tensor{}, err
		}
	}
	return r.last, nil
}
