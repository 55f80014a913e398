package parts

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Norm is a kind of normalisation.
type Norm struct {
	Name
	New func(at nn.Site) nn.Layer
}

// Norms lists the library's norms, the default first.
func Norms() []Norm {
	return []Norm{
		{"layernorm", func(at nn.Site) nn.Layer { return nn.NewLayerNorm(at) }},
		{"layernorm_sigma", func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }},
		{"layernorm_plain", func(at nn.Site) nn.Layer { return nn.NewLayerNormPlain(at) }},
		{"rmsnorm", func(at nn.Site) nn.Layer { return nn.NewRMSNorm(at) }},
		{"dyt", func(at nn.Site) nn.Layer { return nn.NewDyT(at) }},
	}
}

// noPart is the name of an optional part that is absent.
const noPart = "none"

// AttnSink is a kind of sinks of an attention's heads. New is nil for none.
type AttnSink struct {
	Name
	New func(at nn.Site) graph.Expr
}

// AttnSinks lists the sinks of attentions, the default first.
func AttnSinks() []AttnSink { return []AttnSink{{noPart, nil}, {"learned", nn.NewSinks}} }

// ShortConv is a set of short convolutions in a block.
type ShortConv struct {
	Name
	places []nn.ConvPlace
	build  func(at nn.Site, width int) nn.Layer
}

// ShortConvs lists the sets of short convolutions, the default first. The letters of canon are its places.
func ShortConvs() []ShortConv {
	canon := func(name Name, places ...nn.ConvPlace) ShortConv {
		return ShortConv{name, places, func(at nn.Site, width int) nn.Layer { return nn.NewCanon(at, width) }}
	}
	const a, b, c, d = nn.ConvAttention, nn.ConvProjections, nn.ConvMLP, nn.ConvInner
	return []ShortConv{
		{Name: noPart}, canon("canon_a", a), canon("canon_b", b), canon("canon_c", c), canon("canon_d", d),
		canon("canon_ac", a, c), canon("canon_abcd", a, b, c, d),
		{"qkv", []nn.ConvPlace{b}, func(at nn.Site, width int) nn.Layer { return nn.NewShortConv(at, width) }},
	}
}

// Convs returns the Conv of a Site. It is nil for none.
func (s ShortConv) Convs() nn.Convs {
	if s.build == nil {
		return nil
	}
	return func(at nn.Site, place nn.ConvPlace, width int) nn.Layer {
		if !slices.Contains(s.places, place) {
			return nil
		}
		return s.build(at, width)
	}
}

// MLP is a kind of layer after the attention of a block, which processes every token separately.
type MLP struct {
	Name
	Check func(s Stack) error // optional; returns an error for an invalid combination
	New   func(at nn.Site) nn.Layer

	biased bool // all its linear layers have biases if Site.Bias is true
}

// MLPs lists the library's MLPs, the default first.
func MLPs() []MLP {
	return []MLP{
		{Name: "mlp", New: func(at nn.Site) nn.Layer { return nn.NewMLP(at) }, biased: true},
		gated("swiglu", nn.SiLU{}, "SiLU"),
		gated("geglu", nn.GELU{}, "GELU"),
		gated("geglu_tanh", nn.GELUTanh{}, "GELU by tanh"),
		gated("reglu", nn.ReLU{}, "ReLU"),
		{
			Name: mixture, New: func(at nn.Site) nn.Layer { return nn.NewMoE(at) },
			Check: rejectActivation(mixture, "SiLU"),
		},
		{
			Name: clamped, New: func(at nn.Site) nn.Layer { return nn.NewClampedMoE(at) },
			Check: rejectActivation(clamped, "a gate by σ"),
		},
	}
}

// make returns New, with the biases of s.
func (m MLP) make(s Stack) func(at nn.Site) nn.Layer {
	if !s.Sublayers.MLPBias {
		return m.New
	}
	return func(at nn.Site) nn.Layer {
		at.Bias = true
		return m.New(at)
	}
}

// gated returns an MLP with a gate by act.
func gated(name Name, act nn.Layer, called string) MLP {
	return MLP{
		Name: name, New: func(at nn.Site) nn.Layer { return nn.NewGLU(at, act) }, Check: rejectActivation(name, called),
		biased: true,
	}
}

// rejectActivation refuses an activation that an MLP of that name, with one of its own, would not use.
func rejectActivation(name Name, own string) func(Stack) error {
	return func(s Stack) error {
		if want := Names(Activations())[0]; s.Activation != want {
			return errors.Errorf("activation: got %s, want the default, %s, with mlp %s, which has %s",
				s.Activation, want, name, own)
		}
		return nil
	}
}

// Activation is the activation of an MLP.
type Activation struct {
	Name
	Layer nn.Layer
	HF    []string // Hugging Face's names of it; the first one is written
}

// Activations lists the library's activations, the default first.
func Activations() []Activation {
	return []Activation{
		{"gelu", nn.GELU{}, []string{"gelu"}},
		{"gelu_tanh", nn.GELUTanh{}, []string{"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}},
		{"relu", nn.ReLU{}, []string{"relu"}},
		{"relu2", nn.ReLU2{}, []string{"relu2"}},
		{"silu", nn.SiLU{}, []string{"silu", "swish"}},
		{"sigmoid", nn.Sigmoid{}, []string{"sigmoid"}},
		{"softplus", nn.Softplus{}, nil},
	}
}

// Head computes logits from the last activations: (n, d) → (n, V).
type Head struct {
	Name
	New func(at nn.Site, vocabulary int, wte *nn.Embedding) nn.Layer // wte is the token embedding
}

// Heads lists the library's heads, the default first.
func Heads() []Head {
	return []Head{{"linear", linearHead}, {"linear_no_bias", linearNoBias}, {"tied", tiedHead}}
}

func linearHead(at nn.Site, vocabulary int, _ *nn.Embedding) nn.Layer {
	return at.Affine(at.Scope, at.Embd, []int{vocabulary}, at.Bias, graph.Normal(0.02))
}

// linearNoBias is linearHead without a bias in networks with biases, like GPT-NeoX.
func linearNoBias(at nn.Site, vocabulary int, wte *nn.Embedding) nn.Layer {
	at.Bias = false
	return linearHead(at, vocabulary, wte)
}

func tiedHead(at nn.Site, _ int, wte *nn.Embedding) nn.Layer { return nn.NewTied(at.Scope, wte) }
