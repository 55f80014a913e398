package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Probe gives activations of a model, with the parameters that it has when the Probe runs. It is for one goroutine.
type Probe struct {
	model    *gpt.Model
	names    []string
	exprs    []graph.Expr
	forward  *graph.Program
	backward *graph.Program // made by the first Gradients
}

// Tap compiles the activations that match any of the patterns, for one text of at most block_size tokens. Nothing else
// is kept, and what stands behind the last of them is not computed.
func Tap(m *gpt.Model, patterns ...string) (*Probe, error) {
	names, spelt, err := find(m, patterns)
	if err != nil {
		return nil, err
	}
	p := &Probe{names: names}
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		g.Spell(spelt...)
		if p.model, err = gpt.New(g, m.Config, 1); err != nil {
			return err
		}
		if p.exprs, err = activations(g, names); err != nil {
			return err
		}
		p.forward, err = graph.CompileWith(p.exprs[len(names)-1], p.exprs)
		return err
	})
	return p, errors.Wrap(err, "inspect")
}

// Run gives the activations of a text. They have the shapes of a whole context: what is behind the text, in rows and in
// columns of attention, is that of tokens 0 that no token of the text attends to. Of a model with edits it is an error
// if an activation is not finite.
func (p *Probe) Run(tokens []int) (Activations, error) {
	if err := p.fill(tokens); err != nil {
		return Activations{}, err
	}
	if err := p.forward.Run(); err != nil {
		return Activations{}, errors.Wrap(err, "inspect")
	}
	a := p.copied(p.forward.Kept)
	return a, p.edited(a)
}

// Gradients gives ∂loss/∂activation for the model's loss, the mean over the targets that are not text.Ignore; there is
// a target for every token. The first call differentiates. An activation that the loss does not depend on is an error,
// such as one that is replaced further on.
func (p *Probe) Gradients(tokens, targets []int) (loss float64, gradients Activations, err error) {
	if err := p.fill(tokens); err != nil {
		return 0, gradients, err
	}
	if len(targets) != len(tokens) {
		return 0, gradients, errors.Errorf("inspect: got %d targets, want %d, one for a token", len(targets), len(tokens))
	}
	all := p.model.Targets.Ints()
	for i := copy(all, targets); i < len(all); i++ {
		all[i] = text.Ignore
	}
	if p.backward == nil {
		if p.backward, err = graph.Compile(p.model.Loss, p.distinct()...); err != nil {
			return 0, gradients, errors.Wrap(err, "inspect")
		}
	}
	if err := p.backward.Run(); err != nil {
		return 0, gradients, errors.Wrap(err, "inspect")
	}
	return p.backward.Loss(), p.copied(p.backward.Grad), nil
}

// edited returns an error if an edit has given what is not finite: the first activation of those that are read names
// it.
func (p *Probe) edited(a Activations) error {
	if !p.model.Graph.Edited() {
		return nil // what a model computes of itself is shown as it is
	}
	for name, x := range a.All() {
		if err := x.Finite(name); err != nil {
			return errors.Wrapf(err, "inspect: an edited model: shape %v", x.Shape)
		}
	}
	return nil
}

// fill hands in the tokens.
func (p *Probe) fill(tokens []int) error {
	if p == nil || p.forward == nil {
		return errors.New("inspect: nothing to run, want a Probe of Tap")
	}
	return fill(p.model, tokens)
}

// distinct returns the activations, each once: a layer's may be the model's as well.
func (p *Probe) distinct() (list []graph.Expr) {
	seen := map[any]bool{}
	for _, x := range p.exprs {
		if !seen[x.Node()] {
			seen[x.Node()] = true
			list = append(list, x)
		}
	}
	return list
}

// copied is what of gives for every activation.
func (p *Probe) copied(of func(graph.Expr) graph.Tensor) Activations {
	a := Activations{p.names, map[string]graph.Tensor{}}
	for i, x := range p.exprs {
		a.values[p.names[i]] = of(x).Clone()
	}
	return a
}
