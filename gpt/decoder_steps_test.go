package gpt

import (
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// replacing has the Step of an embedded layer and another Forward.
type replacing struct {
	nn.Cached
	forward func(x graph.Expr) graph.Expr
}

func (r replacing) Forward(x graph.Expr) graph.Expr { return r.forward(x) }

// withOwn returns odd with the given context, and with every attention wrapped by change.
func withOwn(context int, change func(at nn.Site, l nn.Layer) nn.Layer) Config {
	c := odd()
	c.BlockSize = context
	for _, a := range parts.Attentions() {
		library := a.New
		a.New = func(root nn.Site, s parts.Stack) nn.Attention {
			build := library(root, s)
			return func(at nn.Site) nn.Layer { return change(at, build(at)) }
		}
		c.Parts.Attentions = append(c.Parts.Attentions, a)
	}
	return c
}

// A replaced Forward with an inherited Step is an error that names the first such layer, for any length of the context,
// and even if only the second block has it.
func TestDecoderComparesStepWithForward(t *testing.T) {
	second := func(change func(l nn.Cached) func(x graph.Expr) graph.Expr) func(nn.Site, nn.Layer) nn.Layer {
		return func(at nn.Site, l nn.Layer) nn.Layer {
			if at.Block == 1 {
				return replacing{l.(nn.Cached), change(l.(nn.Cached))}
			}
			return l
		}
	}
	scaled := func(l nn.Cached) func(x graph.Expr) graph.Expr {
		return func(x graph.Expr) graph.Expr { return l.Forward(x).Scale(1.01) }
	}
	other := func(l nn.Cached) func(x graph.Expr) graph.Expr {
		return func(x graph.Expr) graph.Expr { return x }
	}
	more := func(l nn.Cached) func(x graph.Expr) graph.Expr {
		return func(x graph.Expr) graph.Expr { return l.Forward(x).Shift(1) }
	}
	picky := func(at nn.Site, l nn.Layer) nn.Layer { // cannot be built for few tokens
		if at.Context < 20 {
			at.Failf("%d tokens", at.Context)
		}
		return second(scaled)(at, l)
	}
	late := func(at nn.Site, l nn.Layer) nn.Layer { // from token 20 on, as with a window
		behind := at.Value("late", func(i int, _ *rand.Rand) float64 { return float64(i % at.Context / 20) }, at.Batch*at.Context, 1)
		return second(func(l nn.Cached) func(x graph.Expr) graph.Expr {
			return func(x graph.Expr) graph.Expr { y := l.Forward(x); return y.Add(y.Mul(behind)) }
		})(at, l)
	}
	block := withOwn(7, func(_ nn.Site, l nn.Layer) nn.Layer { return l })
	block.Parts.Blocks = []parts.Block{{Name: "pre", Final: true, New: func(at nn.Site, a nn.Attention) nn.Layer {
		b := nn.NewBlock(at, a)
		return replacing{b, func(x graph.Expr) graph.Expr { return b.Forward(x).Add(x) }}
	}}}
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"scaled":             {withOwn(7, second(scaled)), "h.1.attn"},
		"of a long context":  {withOwn(40, second(scaled)), "h.1.attn"},
		"more everywhere":    {withOwn(7, second(more)), "h.1.attn"},
		"of one token":       {withOwn(1, second(scaled)), "h.1.attn"},
		"something else":     {withOwn(8, second(other)), "h.1.attn"},
		"no few tokens":      {withOwn(21, picky), "h.1.attn"},
		"from token 20 on":   {withOwn(40, late), "h.1.attn"},
		"a block of our own": {block, "h.0"},
	} {
		for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
			m, err := New(graph.New(dtype, 1), tc.c, 2)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err = NewDecoder(m, 1)
			mustContain(t, err, "decoder: "+tc.want+": Step and Forward differ: token ", "by Step, ", " by Forward")
			_, err = NewDecoder(m, 3)
			mustContain(t, err, "decoder: "+tc.want+": Step and Forward differ")
		}
	}
}

// User-defined parts that compute the same in steps as at once decode, in either type and form; so do parts that depend
// on the context's length.
func TestDecoderTakesOwnParts(t *testing.T) {
	compared := 0
	for i, a := range parts.Attentions() {
		if a.Name == "linformer" || testing.Short() && i%3 > 0 {
			continue
		}
		for j, position := range parts.Names(parts.Positions()) {
			if (i+j)%2 > 0 {
				continue
			}
			for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
				c := withOwn(23, func(_ nn.Site, l nn.Layer) nn.Layer { return l })
				c.Attention, c.Position, c.QKSize = a.String(), position, 4
				if c.suit(); c.ValidateModel() != nil {
					continue // positions that the attention refuses
				}
				compared++
				g := graph.New(dtype, 1)
				g.Kernels = j%2 == 0
				m, err := New(g, c, 1)
				if err != nil {
					t.Fatal(err)
				}
				scramble(m.Params(), 3)
				m.Config.Parts.Blocks = parts.Blocks()
				if _, err := NewDecoder(m, 1); err != nil {
					t.Errorf("%s, %s, %v: %v", a, position, dtype, err)
				}
			}
		}
	}
	if compared < 10 {
		t.Errorf("compared %d models, want 10 or more", compared)
	}
	wholeOnly := func(at nn.Site, l nn.Layer) nn.Layer {
		at.Param("whole", graph.Normal(1), at.Context) // no other length fits the parameter
		return l
	}
	if _, err := NewDecoder(model64(t, withOwn(23, wholeOnly), true, 1), 1); err != nil {
		t.Errorf("a parameter of the context's length: %v", err)
	}
}

// BenchmarkNewDecoder measures building a decoder of GPT-2's sizes, and comparing its layers.
func BenchmarkNewDecoder(b *testing.B) {
	for name, own := range map[string]parts.Registry{
		"library": {}, "own attention": {Attentions: parts.Attentions()}, "own block": {Blocks: parts.Blocks()},
	} {
		b.Run(name, func(b *testing.B) {
			c := untiedGPT2()
			c.Parts = own
			m, err := New(graph.New(graph.Float32, 1), c, 1)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := NewDecoder(m, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
