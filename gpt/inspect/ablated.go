package inspect

import (
	"context"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// ablated is a model in which some activations x are replaced with keep ∘ x + shift, which is x itself with 1 and 0.
type ablated struct {
	model       *gpt.Model
	names       []string
	size        map[string]int // number of heads that are ablated separately; 1 means the entire activation
	keep, shift []graph.Expr   // (B·T, features)
	places      []graph.Expr   // the replaced activations
	program     *graph.Program
}

// build builds the model for a batch of sequences. compile compiles the program after the places are set.
func (a *ablated) build(m *gpt.Model, patterns []string, batch int, compile func() error) error {
	names, expanded, err := find(m, patterns)
	if err != nil {
		return err
	}
	n := len(names)
	a.size = map[string]int{}
	a.names, a.keep, a.shift = names, make([]graph.Expr, n), make([]graph.Expr, n)
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		g.Spell(expanded...)
		for i, name := range names {
			a.size[name] = 1
			if strings.HasSuffix(name, ".attn.heads") {
				a.size[name] = m.Config.NHead
			}
			g.Edit(name, func(x graph.Expr) graph.Expr {
				if s := x.Shape(); len(s) != 2 || s[1]%a.size[name] != 0 {
					err := errors.Errorf("ablate: got shape %v, want a matrix of %d heads", s, a.size[name])
					return x.Wrap(nil, err)
				}
				at := x.Graph().Root().Sub("inspect.%s", name)
				a.keep[i] = at.Value("keep", graph.Const(1), x.Shape()...)
				a.shift[i] = at.Value("shift", graph.Const(0), x.Shape()...)
				return x.Mul(a.keep[i]).Add(a.shift[i])
			})
		}
		if a.model, err = gpt.New(g, next(m), batch); err != nil {
			return err
		}
		if a.places, err = activations(g, names); err != nil {
			return err
		}
		return compile()
	})
	return errors.Wrap(err, "inspect")
}

// head returns h if the activation is ablated by heads, otherwise −1.
func (a *ablated) head(name string, h int) int {
	if strings.HasSuffix(name, ".attn.heads") {
		return h
	}
	return -1
}

// columns returns the ranges of columns of place i that are ablated together: the first column, and the last one
// exclusive.
func (a *ablated) columns(i int) (list [][2]int) {
	n, width := a.size[a.names[i]], a.places[i].Shape()[1]
	for h := range n {
		list = append(list, [2]int{h * width / n, (h + 1) * width / n})
	}
	return list
}

// loss returns the mean over the targets that count. It adds the means of the activations over the blocks' tokens to
// means, unless that is empty.
func (a *ablated) loss(ctx context.Context, s text.Split, means [][]float64) (mean float64, err error) {
	var sum, all float64
	size := a.model.Config.BlockSize
	blocks := float64((s.Len() - 1) / size * size) // number of tokens in the blocks
	for rows, err := range text.Blocks(s, a.model.Tokens.Ints(), a.model.Targets.Ints(), size) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = a.program.Run()
		}
		if err != nil {
			return 0, errors.Wrap(err, "inspect")
		}
		n := counted(a.model) / float64(size) // in blocks
		sum, all = sum+a.program.Loss()*n, all+n
		for i := range means {
			values, width := a.program.Kept(a.places[i]), len(means[i])
			for j := range rows * size * width {
				means[i][j%width] += values.At(j) / blocks
			}
		}
	}
	return sum / all, nil
}

// counted returns the number of targets that count.
func counted(m *gpt.Model) (n float64) {
	for _, y := range m.Targets.Ints() {
		if y != text.Ignore {
			n++
		}
	}
	return n
}

// set sets some columns of a matrix.
func set(x graph.Expr, from, to int, number func(column int) float64) {
	t, width := x.Tensor(), x.Shape()[1]
	for i := range t.Len() {
		if j := i % width; from <= j && j < to {
			t.Set(i, number(j))
		}
	}
}
