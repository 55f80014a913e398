package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Question holds two texts of the same number of tokens, and two ids. The answer to a text is the difference of the
// logits of Right and Wrong after its last token.
type Question struct {
	Clean, Corrupt []int
	Right, Wrong   int
}

// Effect is the change of the answer to the corrupt text when one token's activation is replaced with the clean text's:
// of Head, or the entire activation if Head is −1.
type Effect struct {
	Place string
	Head  int
	By    []float64 // token by token
}

// Effects holds the answers to both texts, and the effects that move the second towards the first.
type Effects struct {
	Clean, Corrupt float64
	All            []Effect
}

// Patch runs the corrupt text, and replaces each activation that matches any of the patterns, for attn.heads each head
// separately, token by token with the clean text's: activation patching (Vig et al., Investigating gender bias in
// language models using causal mediation analysis, 2020). It uses one graph, with a forward pass for each number.
// Effects begin at the first token in which the texts differ; before it they are exactly 0.
func Patch(m *gpt.Model, q Question, patterns ...string) (Effects, error) {
	p, err := newPatched(m, q, patterns, false)
	if err != nil {
		return Effects{}, err
	}
	e := Effects{Clean: p.clean, Corrupt: p.corrupt}
	for i, name := range p.names {
		x := p.places[i]
		for h, columns := range p.columns(i) {
			one := Effect{name, p.head(name, h), make([]float64, len(q.Clean))}
			for t := range one.By {
				row := func(keep float64, shift func(j int) float64) {
					for j := columns[0]; j < columns[1]; j++ {
						at := t*x.Shape()[1] + j
						p.keep[i].Tensor().Set(at, keep)
						p.shift[i].Tensor().Set(at, shift(at))
					}
				}
				row(0, p.values[i].At)
				if err := p.program.Run(); err != nil {
					return Effects{}, errors.Wrap(err, "inspect")
				}
				one.By[t] = p.program.Loss() - p.corrupt
				row(1, func(int) float64 { return 0 })
			}
			e.All = append(e.All, one)
		}
	}
	return e, nil
}

// PatchGradient computes Patch to first order, (x_clean − x_corrupt)·∂answer/∂x at the corrupt text, for all
// activations with one backward pass: attribution patching (Nanda, Attribution patching: activation patching at
// industrial scale, 2023).
func PatchGradient(m *gpt.Model, q Question, patterns ...string) (Effects, error) {
	p, err := newPatched(m, q, patterns, true)
	if err != nil {
		return Effects{}, err
	}
	e := Effects{Clean: p.clean, Corrupt: p.corrupt}
	for i, name := range p.names {
		now, slope, width := p.program.Kept(p.places[i]), p.program.Grad(p.places[i]), p.places[i].Shape()[1]
		for h, columns := range p.columns(i) {
			one := Effect{name, p.head(name, h), make([]float64, len(q.Clean))}
			for t := range one.By {
				for at := t*width + columns[0]; at < t*width+columns[1]; at++ {
					one.By[t] += (p.values[i].At(at) - now.At(at)) * slope.At(at)
				}
			}
			e.All = append(e.All, one)
		}
	}
	return e, nil
}

// patched is a model that has run the clean text, and then the corrupt one.
type patched struct {
	ablated
	values         []graph.Tensor // activations of the clean text
	clean, corrupt float64        // answers
}

func newPatched(m *gpt.Model, q Question, patterns []string, gradients bool) (*patched, error) {
	if len(q.Clean) != len(q.Corrupt) {
		return nil, errors.Errorf("inspect: got a clean text of %d tokens and a corrupt one of %d, "+
			"want the same number", len(q.Clean), len(q.Corrupt))
	}
	if q.Right == q.Wrong {
		return nil, errors.Errorf("inspect: got id %d for Right and for Wrong, want two ids: "+
			"the answer is the difference of their logits", q.Right)
	}
	p, answer := &patched{}, pick{}
	err := p.build(m, patterns, 1, func() (err error) {
		var by []graph.Expr
		if gradients {
			by = p.places
		}
		answer = newPick(p.model)
		p.program, err = graph.CompileWith(answer.of(), p.places, by...)
		return err
	})
	if err != nil {
		return nil, err
	}
	run := func(text []int) (float64, error) {
		if err := fill(p.model, text); err != nil {
			return 0, err
		}
		last := len(text) - 1
		if err := answer.at(last, q.Right, 1); err != nil {
			return 0, err
		}
		if err := answer.at(last, q.Wrong, -1); err != nil {
			return 0, err
		}
		if err := p.program.Run(); err != nil {
			return 0, errors.Wrap(err, "inspect")
		}
		return p.program.Loss(), nil
	}
	if p.clean, err = run(q.Clean); err != nil {
		return nil, err
	}
	for _, x := range p.places {
		p.values = append(p.values, p.program.Kept(x).Clone())
	}
	p.corrupt, err = run(q.Corrupt)
	return p, err
}
