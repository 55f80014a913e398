package inspect

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Part is what a part of the network adds to a logit behind every token: Head of the activation at Place, or all of it
// where Head is −1.
type Part struct {
	Place string
	Head  int
	Logit []float64
}

// Attribute is direct logit attribution (Elhage et al., A mathematical framework for transformer circuits, 2021): the
// logit of id ids[t] behind token t as the sum of what the embedding (drop), every head, the bias behind the heads
// (h.i.attn), every MLP, and the biases of the last norm (ln_f) and of the head (logits) add to it. The last norm's
// scale stays that of the text, and nothing counts that goes through a later block. An error says where a model is no
// such sum, as with a norm behind the residual stream.
func Attribute(m *gpt.Model, tokens, ids []int) (logits []float64, parts []Part, err error) {
	a := &attribution{}
	if err := a.build(m); err != nil {
		return nil, nil, err
	}
	if err := fill(a.model, tokens); err != nil {
		return nil, nil, err
	}
	if len(ids) != len(tokens) {
		return nil, nil, errors.Errorf("inspect: got %d ids, want %d, one for a token", len(ids), len(tokens))
	}
	for t, id := range ids {
		if err := a.pick.at(t, id, 1); err != nil {
			return nil, nil, err
		}
	}
	if err := a.program.Run(); err != nil {
		return nil, nil, errors.Wrap(err, "inspect")
	}
	width := a.model.Config.VocabSize
	for t, id := range ids {
		logits = append(logits, a.program.Kept(a.model.Logits).At(t*width+id))
	}
	parts = a.parts(logits)
	return logits, parts, a.check(logits, parts)
}

// attribution is a model in which the logits depend on the parts directly alone.
type attribution struct {
	model   *gpt.Model
	pick    pick
	names   []string     // of parts, and ln_f
	places  []graph.Expr // theirs
	bias    graph.Expr   // of ln_f, if any
	program *graph.Program
}

func (a *attribution) build(m *gpt.Model) error {
	names, spelt, err := find(m, []string{"drop", "h.*.attn.heads", "h.*.attn", "h.*.mlp", "ln_f"})
	if err != nil && m != nil {
		return errors.WithMessagef(err, "block %q: its logits are no sum of parts", m.Config.Block)
	}
	inputs, _, err := find(m, []string{"h.*.ln_1", "h.*.ln_2"})
	if err != nil {
		return err
	}
	a.names = names
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		g.Spell(spelt...)
		for _, name := range inputs { // what attention and MLP make of the stream is theirs
			g.Edit(name, graph.Expr.Detach)
		}
		g.Edit("ln_f", func(y graph.Expr) graph.Expr { return a.frozen(y, m.Config) })
		if a.model, err = gpt.New(g, m.Config, 1); err != nil {
			return err
		}
		if a.places, err = activations(g, names); err != nil {
			return err
		}
		a.pick = newPick(a.model)
		a.program, err = graph.CompileWith(a.pick.of(), append(slices.Clone(a.places), a.model.Logits), a.places...)
		return err
	})
	return errors.Wrap(err, "inspect")
}

// frozen returns the last norm's result y with a constant s for its scale, y = s·(x − μ)∘w̃ + b̃, which is that of y;
// of rmsnorm μ = 0.
func (a *attribution) frozen(y graph.Expr, c gpt.Config) graph.Expr {
	g := y.Graph()
	x, err := g.Activation(lastStream(c))
	if err != nil {
		return y.Wrap(nil, err)
	}
	line := x.In(g.Root().Sub("inspect"))
	if c.Norm != "rmsnorm" {
		line = line.Sub(line.Mean())
	}
	if w, ok := g.Leaf("ln_f.weight"); ok {
		line = line.Mul(w)
	}
	rest, b := y, graph.Expr{}
	if bias, ok := g.Leaf("ln_f.bias"); ok {
		rest, b = y.Sub(bias), bias
	}
	a.bias = b
	s := rest.Mul(line).Sum().Div(line.Square().Sum()).Detach()
	if line = line.Mul(s); b.Graph() != nil {
		line = line.Add(b)
	}
	return line
}
