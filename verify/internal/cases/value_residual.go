package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// valueResiduals returns the entry of three attentions in turn, of which the later ones mix the values of the first.
func valueResiduals[T hand.Number](n fixture.Sizes) []entry[T] {
	s, qk := causal(n), n.Heads*n.QK
	const source = "Zhou et al. 2024"
	c := verify.Case{Name: "attentions that mix the first values", Types: []string{"SelfAttention"}, Source: source}
	c = s.built(c, func(at nn.Site) nn.Layer {
		at.Mask, at.Links.Before = s.see(at.Sub("own"), at.Dims), []nn.NamedLink{nn.NewValueResidual()}
		var l inTurn
		for i, name := range blockNames {
			at := at.At(name)
			at.Block = i
			l = append(l, nn.NewSelfAttention(at))
		}
		return l
	})
	return []entry[T]{{
		verify.Entry{ID: "I92", What: "mixing with the values of the first block", Source: source},
		[]formula[T]{{c, func(at hand.Site[T]) hand.Layer[T] {
			at.Values = new(hand.FirstValues[T])
			var l sequence[T]
			for _, name := range blockNames {
				at := at.At(name)
				l = append(l, named[T]{name, at.SelfAttention(softmax(n, at, s.mask), qk, nil)})
			}
			return l
		}}},
	}}
}

var blockNames = []string{"first", "second", "third"}

// inTurn is layers of the library, one after the other.
type inTurn []nn.Cached

func (l inTurn) Forward(x graph.Expr) graph.Expr {
	for _, l := range l {
		x = l.Forward(x)
	}
	return x
}

func (l inTurn) Step(x, at graph.Expr) graph.Expr {
	for _, l := range l {
		x = l.Step(x, at)
	}
	return x
}

// skips returns the entry of layers in turn, of which the last mixes its input with that of the first.
func skips[T hand.Number](n fixture.Sizes) []entry[T] {
	const source = "Jordan et al. 2024"
	e := entry[T]{Entry: verify.Entry{ID: "I97", What: "skips of the residual stream", Source: source}}
	for _, kind := range []struct {
		name string
		from int
		New  func(at nn.Site, blocks int) *nn.Skip
	}{{"embedding", 0, nn.NewEmbeddingSkip}, {"unet", 1, nn.NewUNetSkip}} {
		c := verify.Case{
			Name: "layers with a skip: " + kind.name, Types: []string{"Skip", "Linear"},
			Parts: []string{"skips=" + kind.name}, Source: source,
		}
		c = causal(n).built(c, func(at nn.Site) nn.Layer {
			var l skipped
			for i, name := range blockNames {
				of := at.Sub("%s", name)
				l.blocks = append(l.blocks, nn.NewLinear(of, at.Embd, []int{at.Embd}, true, graph.Normal(1)))
				if at.Block = i; i == len(blockNames)-1 {
					l.skip = kind.New(at, len(blockNames))
				}
			}
			return l
		})
		e.formulas = append(e.formulas, formula[T]{c, func(at hand.Site[T]) hand.Layer[T] {
			l := handSkipped[T]{skip: hand.Skip[T]{Lambda: at.Param("skip_lambda"), From: kind.from}}
			for _, name := range blockNames {
				l.blocks = append(l.blocks, at.At(name).Linear())
			}
			return l
		}})
	}
	return []entry[T]{e}
}

// skipped is layers in turn with a skip before the last.
type skipped struct {
	blocks []nn.Layer
	skip   *nn.Skip
}

func (l skipped) Forward(x graph.Expr) graph.Expr {
	stream := []graph.Expr{x}
	for i, block := range l.blocks {
		if i == len(l.blocks)-1 {
			x = l.skip.Forward(x, stream[l.skip.From])
		}
		x = block.Forward(x)
		stream = append(stream, x)
	}
	return x
}

// handSkipped is the same by hand.
type handSkipped[T hand.Number] struct {
	blocks []hand.Layer[T]
	skip   hand.Skip[T]
}

// inputs returns the input of each layer, and that of the last before its skip.
func (l handSkipped[T]) inputs(x hand.Matrix[T]) (inputs []hand.Matrix[T], before hand.Matrix[T]) {
	for _, block := range l.blocks {
		inputs = append(inputs, x)
		x = block.Forward(x)
	}
	last := len(l.blocks) - 1
	before = inputs[last]
	inputs[last] = l.skip.Forward(before, inputs[l.skip.From])
	return inputs, before
}

func (l handSkipped[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] {
	inputs, _ := l.inputs(x)
	last := len(l.blocks) - 1
	return l.blocks[last].Forward(inputs[last])
}

func (l handSkipped[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	inputs, before := l.inputs(x)
	var skipped hand.Matrix[T]
	for i := len(l.blocks) - 1; i >= 0; i-- {
		var own hand.Gradients[T]
		delta, own = l.blocks[i].Backward(inputs[i], delta)
		g = append(g, own.In(blockNames[i], "")...)
		if i == len(l.blocks)-1 {
			var factors hand.Gradients[T]
			delta, skipped, factors = l.skip.Backward(before, inputs[l.skip.From], delta)
			g = append(g, factors...)
		}
		if i == l.skip.From {
			delta = delta.Add(skipped)
		}
	}
	return delta, g
}
