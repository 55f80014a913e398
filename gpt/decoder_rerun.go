package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// rerun decodes with a layer that has no cache: every prediction is a forward pass over the context. What stands behind
// the newest token does not matter, for the model is causal.
type rerun struct {
	tokens  graph.Expr // (B·T)
	program *graph.Program
	last    graph.Tensor // the logits (B, V) after the newest tokens
}

func newRerun(m *Model, batch int) (r *rerun, err error) {
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		c, s := m.Config, g.Root()
		r = &rerun{tokens: s.Ints("tokens", batch*c.BlockSize, c.VocabSize, 0)}
		net := newStack(site(s, c, batch, parts.Places(s, batch, c.BlockSize)), c)
		r.program, err = graph.Compile(net.predict(net.Forward(r.tokens)))
		return err
	})
	return r, err
}

// feedAgain appends tokens and predicts from all of them.
func (d *decoding) feedAgain(tokens []int) (graph.Tensor, error) {
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
	if err := r.program.Run(); err != nil {
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
		from, to := all.Row(b*d.size+n-1), r.last.Row(b)
		copy(to.F32, from.F32)
		copy(to.F64, from.F64)
	}
	return r.last, nil
}
