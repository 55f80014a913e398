package seq2seq

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// variant is one of the values that a field of a Config can name.
type variant[T any] struct {
	name  string
	value T
}

func known[T any](list []variant[T]) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.name
	}
	return strings.Join(names, ", ")
}

func find[T any](list []variant[T], name string) (value T, ok bool) {
	for _, v := range list {
		if v.name == name {
			return v.value, true
		}
	}
	return value, false
}

// variants are those of a list of parts.
func variants[P parts.Part, T any](list []P, value func(P) T) (out []variant[T]) {
	for _, p := range list {
		out = append(out, variant[T]{p.PartName(), value(p)})
	}
	return out
}

func activations() []variant[nn.Layer] {
	return variants(parts.Activations(), func(a parts.Activation) nn.Layer { return a.Layer })
}

func norms() []variant[parts.Norm] {
	return variants(parts.Norms(), func(n parts.Norm) parts.Norm { return n })
}

// positions tell a side of the model where its tokens stand. What turns queries and keys, or biases scores, does so in
// self-attention: between source and target there is no distance.
func positions() []variant[parts.Position] {
	return variants(parts.Positions(), func(p parts.Position) parts.Position { return p })
}

// stack is what positions read beside the sizes of their site.
func (c Config) stack() parts.Stack { return parts.Stack{RopeTheta: 10_000} }

// arrangement is where a block has its norms.
type arrangement struct {
	encoder func(at nn.Site, a nn.Attention) nn.Layer
	decoder func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention)
	final   bool // a stack of them ends with a norm of its own
}

func blocks() []variant[arrangement] {
	return []variant[arrangement]{
		{"pre", arrangement{
			encoder: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) },
			decoder: func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention) {
				b := nn.NewDecoderBlock(at, a, m)
				return b, b.Cross
			},
			final: true,
		}},
		{"post", arrangement{
			encoder: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewPostNormBlock(at, a) },
			decoder: func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention) {
				b := nn.NewPostNormDecoderBlock(at, a, m)
				return b, b.Cross
			},
		}},
	}
}

// selfAttention is that of both sides: the site's mask makes the difference.
func selfAttention(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }

// site is the style of one side of the model at s.
func (c Config) site(s graph.Scope, batch, context int) nn.Site {
	act, _ := find(activations(), c.Activation)
	norm, _ := find(norms(), c.Norm)
	return nn.Site{
		Scope: s, Affine: nn.NewLinear, Bias: c.Bias, Eps: c.Eps, Dropout: c.Dropout, Act: act, Norm: norm.New,
		Dims: nn.Dims{
			Batch: batch, Context: context, Embd: c.NEmbd, Heads: c.NHead,
			QK: c.QKSize, V: c.VSize, Inner: c.NInner, Blocks: c.NLayer,
		},
	}
}
