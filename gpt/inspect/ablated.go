package inspect

import (
	"context"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// ablated is a model in which keep ∘ x + shift goes on in the place of some activations x: x itself, with 1 and 0.
type ablated struct {
	model       *gpt.Model
	names       []string
	size        map[string]int // in how many heads they are ablated, 1 is as a whole
	keep, shift []graph.Expr   // (B·T, features)
	places      []graph.Expr   // what goes on there
	program     *graph.Program
}

// build makes it for so many sequences; compile makes the program when the places are known.
func (a *ablated) build(m *gpt.Model, patterns []string, batch int, compile func() error) error {
	names, spelt, err := find(m, patterns)
	if err != nil {
		return err
	}
	n := len(names)
	a.size = map[string]int{}
	a.names, a.keep, a.shift = names, make([]graph.Expr, n), make([]graph.Expr, n)
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		g.Spell(spelt...)
		for i, name := range names {
			a.size[name] = 1
			if strings.HasSuffix(name, ".attn.heads") {
				a.size[name] = m.Config.NHead
			}
			g.Edit(name, func(x graph.Expr) graph.Expr {
				if s := x.Shape(); len(s) != 2 || s[1]%a.size[name] != 0 {
					return x.Wrap(nil, errors.Errorf("ablate: got shape %v, want a matrix of %d heads", s, a.size[name]))
				}
				at := x.Graph().Root().Sub("inspect").Sub("%s", name)
				a.keep[i] = at.Value("keep", graph.Const(1), x.Shape()...)
				a.shift[i] = at.Value("shift", graph.Const(0), x.Shape()...)
				return x.Mul(a.keep[i]).Add(a.shift[i])
			})
		}
		if a.model, err = gpt.New(g, m.Config, batch); err != nil {
			return err
		}
		if a.places, err = activations(g, names); err != nil {
			return err
		}
		return compile()
	})
	return errors.Wrap(err, "inspect")
}

// head is h where a place is ablated by heads, and else −1.
func (a *ablated) head(name string, h int) int {
	if strings.HasSuffix(name, ".attn.heads") {
		return h
	}
	return -1
}

// columns returns the first and the last column, exclusive, of what is ablated at once of place i.
func (a *ablated) columns(i int) (list [][2]int) {
	n, width := a.size[a.names[i]], a.places[i].Shape()[1]
	for h := range n {
		list = append(list, [2]int{h * width / n, (h + 1) * width / n})
	}
	return list
}

// loss returns the mean over the targets that count; the means of the activations over the blocks' tokens are added to
// means, if there are some.
func (a *ablated) loss(ctx context.Context, s text.Split, means [][]float64) (mean float64, err error) {
	var sum, counted float64
	size := a.model.Config.BlockSize
	blocks := float64((s.Len() - 1) / size * size) // tokens
	for rows, err := range text.Blocks(s, a.model.Tokens.Ints(), a.model.Targets.Ints(), size) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = a.program.Run()
		}
		if err != nil {
			return 0, errors.Wrap(err, "inspect")
		}
		n := 0.0 // in blocks
		for _, y := range a.model.Targets.Ints() {
			if y != text.Ignore {
				n++
			}
		}
		n /= float64(size)
		sum, counted = sum+a.program.Loss()*n, counted+n
		for i := range means {
			values, width := a.program.Kept(a.places[i]), len(means[i])
			for j := range rows * size * width {
				means[i][j%width] += values.At(j) / blocks
			}
		}
	}
	return sum / counted, nil
}

// set puts numbers into some columns of a matrix.
func set(x graph.Expr, from, to int, number func(column int) float64) {
	t, width := x.Tensor(), x.Shape()[1]
	for i := range t.Len() {
		if j := i % width; from <= j && j < to {
			t.Set(i, number(j))
		}
	}
}
