package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// variant is one of the values that a field of a Config can name.
type variant[T any] struct {
	name  string
	value T
}

func names[T any](list []variant[T]) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.name
	}
	return names
}

// find is the one of that name, or the zero T: ValidateModel looks at the names.
func find[T any](list []variant[T], name string) (value T) {
	for _, v := range list {
		if v.name == name {
			return v.value
		}
	}
	return value
}

// variants are those of a list of gpt.
func variants[V, T any](list []V, take func(V) variant[T]) (out []variant[T]) {
	for _, v := range list {
		out = append(out, take(v))
	}
	return out
}

func activations() []variant[nn.Layer] {
	return variants(gpt.Activations(), func(a gpt.Activation) variant[nn.Layer] { return variant[nn.Layer]{a.Name, a.Layer} })
}

func norms() []variant[gpt.Norm] {
	return variants(gpt.Norms(), func(n gpt.Norm) variant[gpt.Norm] { return variant[gpt.Norm]{n.Name, n} })
}

// positions tell a side of the model where its tokens stand. What rotates queries and keys, or biases scores, does so
// in self-attention: between source and target there is no distance.
func positions() []variant[gpt.Position] {
	return variants(gpt.Positions(), func(p gpt.Position) variant[gpt.Position] { return variant[gpt.Position]{p.Name, p} })
}

// side is what positions read about a side of the model.
func (c Config) side(context int) (p gpt.Config) {
	p.BlockSize, p.NHead, p.NEmbd, p.QKSize, p.VSize, p.Bias = context, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.Bias
	return p.Resolved()
}

// arrangement is where a block has its norms.
type arrangement struct {
	encoder func(at nn.Site, a nn.Attention) nn.Layer
	decoder func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention)
	final   bool // a stack of them ends with one more
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
	return nn.Site{
		Scope: s, Affine: nn.NewLinear, Bias: c.Bias, Eps: c.Eps, Dropout: c.Dropout,
		Act: find(activations(), c.Activation), Norm: find(norms(), c.Norm).New,
		Dims: nn.Dims{
			Batch: batch, Context: context, Embd: c.NEmbd, Heads: c.NHead,
			QK: c.QKSize, V: c.VSize, Inner: c.NInner, Blocks: c.NLayer,
		},
	}
}
