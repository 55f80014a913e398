package decode

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Steps computes N new tokens of each of B texts from the caches of the earlier ones. The inputs lie one text after the
// other.
type Steps struct {
	N         int
	Tokens    graph.Expr     // ids (B·N)
	Positions graph.Expr     // of the new tokens (B·N)
	At        graph.Expr     // number of earlier tokens, (1) for all texts or (B), one for each
	Hidden    *graph.Program // fills the caches, without the head, whose cost many tokens hide
	Logits    *graph.Program // also predicts the next tokens, (B, V); nil if N is from 2 to Few, or if there are edits
}

// Steps compiles a step of n new tokens for each of batch texts, which are at one position, or each at its own if
// positions is batch instead of 1. It returns nil if the network has a layer, or an edit, that cannot process the
// newest tokens alone.
func (net Network) Steps(batch, n, positions int, caches nn.Caches) (*Steps, error) {
	predict := func(l Layers, hidden graph.Expr) graph.Expr { return l.Predict(newest(hidden, batch, n)) }
	compile := func(s *Steps, edited bool, hidden, logits graph.Expr) (err error) {
		if n > Few && !edited && len(hidden.Shape()) == 2 {
			s.Logits, err = graph.Compile(logits)
			s.Hidden = s.Logits
			return err
		}
		if s.Hidden, err = graph.Compile(hidden); err != nil || n > 1 {
			return err
		}
		s.Logits, err = graph.Compile(logits)
		return err
	}
	return net.steps(batch, n, positions, caches, predict, compile)
}

// steps declares a step as Steps describes it, with what head makes of its hidden values, and compiles both. compile
// is told whether there are edits.
func (net Network) steps(batch, n, positions int, caches nn.Caches, head func(Layers, graph.Expr) graph.Expr,
	compile func(s *Steps, edited bool, hidden, headed graph.Expr) error) (s *Steps, err error) {

	if err := net.Check(batch); err != nil {
		return nil, err
	}
	if n < 1 || n > net.Context || positions != 1 && positions != batch {
		return nil, errors.Errorf("steps: got %d tokens at %d positions, want 1 to %d tokens at 1 or %d positions",
			n, positions, net.Context, batch)
	}
	_, err = net.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		root := g.Root()
		s = &Steps{
			N:         n,
			Tokens:    root.Ints("tokens", batch*n, net.Vocabulary, graph.NoneIgnored),
			Positions: root.Ints("positions", batch*n, net.Context, graph.NoneIgnored),
			At:        root.Ints("at", positions, net.Context, graph.NoneIgnored),
		}
		g.SetRows(s.Positions)
		layers, err := net.layers(g, batch, s.Positions, caches)
		if err != nil || !layers.Cached() {
			s = nil
			return err
		}
		var hidden, headed graph.Expr
		root.Try(func() {
			hidden = layers.Step(s.Tokens, s.At)
			headed = head(layers, hidden)
		})
		if g.Edited() && !g.EditedByRows() {
			s = nil // an error of an edit appears in Forward, too
			return nil
		}
		if err := g.Err(); err != nil {
			return err
		}
		return compile(s, g.Edited(), hidden, headed)
	})
	return s, err
}

// newest returns the hidden values (B, d) of the last of n tokens of each text.
func newest(hidden graph.Expr, batch, n int) graph.Expr {
	shape := hidden.Shape()
	if n == 1 || len(shape) != 2 {
		return hidden
	}
	return hidden.Reshape(batch, n*shape[1]).Columns((n-1)*shape[1], n*shape[1])
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
