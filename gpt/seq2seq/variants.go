package seq2seq

import (
	"strings"

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

func activations() []variant[nn.Layer] {
	return []variant[nn.Layer]{{"gelu", nn.GELU{}}, {"gelu_tanh", nn.GELUTanh{}}, {"relu", nn.ReLU{}}}
}

func norms() []variant[func(nn.Site) nn.Layer] {
	return []variant[func(nn.Site) nn.Layer]{
		{"layernorm", func(at nn.Site) nn.Layer { return nn.NewLayerNorm(at) }},
		{"layernorm_sigma", func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }},
	}
}

// positioning tells a side of the model where its tokens stand. The layer that it returns, if any, is applied to the
// embeddings; what turns queries and keys it leaves in the site, for self-attention: between source and target there is no
// distance.
type positioning func(at *nn.Site) nn.Layer

func positions() []variant[positioning] {
	return []variant[positioning]{
		{"learned", func(at *nn.Site) nn.Layer { return nn.NewLearnedPositions(at.At("wpe")) }},
		{"sinusoidal", func(at *nn.Site) nn.Layer { return nn.NewSinusoidal(at.At("wpe"), waves) }},
		{"rope", func(at *nn.Site) nn.Layer {
			at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, waves)
			return nil
		}},
		{"none", func(*nn.Site) nn.Layer { return nil }},
	}
}

// waves is the base of the frequencies.
const waves = 10_000

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
func selfAttention(at nn.Site) nn.Layer { return nn.NewCausalSelfAttention(at) }

// site is the style of one side of the model at s.
func (c Config) site(s graph.Scope, batch, context int) nn.Site {
	act, _ := find(activations(), c.Activation)
	norm, _ := find(norms(), c.Norm)
	return nn.Site{
		Scope: s, Affine: nn.NewLinear, Bias: c.Bias, Eps: c.Eps, Dropout: c.Dropout, Act: act, Norm: norm,
		Dims: nn.Dims{
			Batch: batch, Context: context, Embd: c.NEmbd, Heads: c.NHead,
			QK: c.QKSize, V: c.VSize, Inner: c.NInner, Blocks: c.NLayer,
		},
	}
}
