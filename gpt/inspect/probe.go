package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Probe computes activations of a model with its parameters at the time of each run. It is for one goroutine.
type Probe struct {
	model    *gpt.Model
	names    []string
	exprs    []graph.Expr
	forward  *graph.Program
	backward *graph.Program // compiled by the first Gradients
}

// Tap compiles the activations that match any of the patterns, for one text of at most block_size tokens. Nothing else
// is stored, and layers after the last of them are not computed.
func Tap(m *gpt.Model, patterns ...string) (*Probe, error) {
	names, expanded, err := find(m, patterns)
	if err != nil {
		return nil, err
	}
	p := &Probe{names: names}
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		g.Spell(expanded...)
		if p.model, err = gpt.New(g, next(m), 1); err != nil {
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

// Run returns the activations of a text. They have the shapes of a full context: the rows, and the columns of
// attention, after the text belong to tokens 0, to which no token of the text attends. For a model with edits it is an
// error if an activation is not finite.
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

// Gradients returns ∂loss/∂activation for the model's loss, the mean over the targets that are not text.Ignore. There
// must be one target for every token. The first call differentiates. It is an error if the loss does not depend on an
// activation, for example because it is replaced later.
func (p *Probe) Gradients(tokens, targets []int) (loss float64, gradients Activations, err error) {
	if err := p.fill(tokens); err != nil {
		return 0, gradients, err
	}
	if len(targets) != len(tokens) {
		return 0, gradients, errors.Errorf("inspect: got %d targets, want %d, one for a token",
			len(targets), len(tokens))
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

// edited returns an error if an edit has produced a number that is not finite. It names the first such activation.
func (p *Probe) edited(a Activations) error {
	if !p.model.Graph.Edited() {
		return nil // activations of an unedited model are returned as they are
	}
	for name, x := range a.All() {
		if err := x.Finite(name); err != nil {
			return errors.Wrapf(err, "inspect: an edited model: shape %v", x.Shape)
		}
	}
	return nil
}

// fill sets the tokens.
func (p *Probe) fill(tokens []int) error {
	if p == nil || p.forward == nil {
		return errors.New("inspect: nothing to run, want a Probe from Tap")
	}
	return fill(p.model, tokens)
}

// distinct returns each activation once: a layer's activation may also be the model's.
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

// copied returns copies of the tensors that the function returns for each activation.
func (p *Probe) copied(of func(graph.Expr) graph.Tensor) Activations {
	a := Activations{p.names, map[string]graph.Tensor{}}
	for i, x := range p.exprs {
		a.values[p.names[i]] = of(x).Clone()
	}
	return a
}
