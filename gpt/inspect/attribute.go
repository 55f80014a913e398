package inspect

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Part is the contribution of a part of the network to a logit after every token: Head of the activation at Place, or
// the entire activation if Head is −1.
type Part struct {
	Place string
	Head  int
	Logit []float64
}

// Attribute computes direct logit attribution (Elhage et al., A mathematical framework for transformer circuits, 2021):
// it returns the logit of id ids[t] after token t, and its summands from the embedding (drop), every head, the bias
// after the heads (h.i.attn), every MLP, and the biases of the last norm (ln_f) and of the head (logits). The last
// norm's scale stays the text's, and effects through a later block do not count. It returns an error if the logits of
// the model are no such sum, for example with a norm after the residual stream.
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
	if err := a.checkNorm(); err != nil {
		return nil, nil, err
	}
	width := a.model.Config.VocabSize
	for t, id := range ids {
		logits = append(logits, a.program.Kept(a.model.Logits).At(t*width+id))
	}
	parts = a.parts(logits)
	return logits, parts, a.check(logits, parts)
}

// attribution is a model whose logits depend on the parts only directly.
type attribution struct {
	model   *gpt.Model
	pick    pick
	names   []string     // names of the parts, and ln_f
	places  []graph.Expr // their activations
	norm    graph.Expr   // ln_f
	line    graph.Expr   // ln_f with its scale as a constant
	bias    graph.Expr   // the bias of ln_f, if any
	program *graph.Program
}

func (a *attribution) build(m *gpt.Model) error {
	names, expanded, err := find(m, []string{"drop", "h.*.attn.heads", "h.*.attn", "h.*.mlp", "ln_f"})
	if m == nil {
		return err
	}
	if err != nil {
		return errors.WithMessagef(err, "block %q: its logits are no sum of parts", m.Config.Block)
	}
	norms := []string{"h.*.ln_1", "h.*.ln_2"}
	if m.Config.Block == "parallel" { // it has one norm
		norms = norms[:1]
	}
	inputs, _, err := find(m, norms)
	if err != nil {
		return err
	}
	a.names = names
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		g.Spell(expanded...)
		for _, name := range inputs { // the results of attention and MLP count as their own parts
			g.Edit(name, graph.Expr.Detach)
		}
		g.Edit("ln_f", func(y graph.Expr) graph.Expr { return a.frozen(y, m.Config) })
		if a.model, err = gpt.New(g, next(m), 1); err != nil {
			return err
		}
		if a.places, err = activations(g, names); err != nil {
			return err
		}
		a.pick = newPick(a.model)
		results := slices.Concat(a.places, []graph.Expr{a.model.Logits, a.norm, a.line})
		a.program, err = graph.CompileWith(a.pick.of(), results, a.places...)
		return err
	})
	return errors.Wrap(err, "inspect")
}

// frozen returns the last norm's result y with its scale as a constant s, y = s·(x − μ)∘w̃ + b̃. For rmsnorm μ = 0.
func (a *attribution) frozen(y graph.Expr, c gpt.Config) graph.Expr {
	g := y.Graph()
	x, err := g.Activation(lastStream(c))
	if err != nil {
		return y.Wrap(nil, err)
	}
	if of, d := x.Shape(), c.NEmbd; of[len(of)-1] != d {
		return y.Wrap(nil, errors.Errorf("%s has %d features, and n_embd is %d: the layers mix parallel streams, "+
			"so the logits are no sum of parts", lastStream(c), of[len(of)-1], d))
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
	a.norm, a.line = y, line
	return line
}
