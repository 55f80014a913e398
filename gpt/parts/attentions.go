package parts

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Attention is a kind of attention layer. A name with a comma or an asterisk would be read as a list.
type Attention struct {
	Name
	Options []Option                       // options that it reads in addition to the sizes
	Check   func(d nn.Dims, s Stack) error // optional; its error names the invalid field and both numbers
	// New is called once for a model, at its root, and its result once for every block. It builds what the blocks
	// share. s is resolved.
	New func(root nn.Site, s Stack) nn.Attention
	// Softmax declares that all weights are softmaxes of scores, which read the Site's Cap and Sinks.
	Softmax bool
	// Groups returns the number of heads of keys and values; it is nil if every head has its own. Files of published
	// models store queries, keys and values in separate tensors. s is resolved.
	Groups func(s Stack) int

	ungated bool        // it applies neither Site.Gate nor Site.Sinks
	biased  bool        // all its linear layers have biases if Site.Bias is true
	carries bool        // it hands its state on by Site.Carry
	of      []Attention // the attentions of a list, each once
}

// Make returns the result of New. A panic in New becomes an error that names the attention.
func (a Attention) Make(root nn.Site, s Stack) (built nn.Attention) {
	root.Sub("attention %q", a.Name).Try(func() { built = a.New(root, s) })
	if !s.Sublayers.AttentionBias {
		return built
	}
	of := built
	return func(at nn.Site) nn.Layer {
		at.Bias = true
		return nn.Make(at, of)
	}
}

// Attentions lists the library's attentions, the default first. All of them are causal except linformer, which is for
// encoders and which a decoder refuses.
func Attentions() []Attention {
	return slices.Concat([]Attention{
		{Name: "causal", New: causal, Softmax: true, biased: true}, {Name: "sigmoid", New: sigmoid},
		{Name: "forgetting", New: forgetting}, {Name: "diff", Check: rejectOddHeads, New: diff, Softmax: true},
	},
		groupedAttentions(), windowAttentions(), dilatedAttentions(), bigBirdAttentions(), linearAttentions(),
		latentAttentions(), recurrences())
}

func causal(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }
}

func sigmoid(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewSigmoidAttention(at) }
}

func forgetting(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewForgettingAttention(at) }
}

func diff(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewDiffAttention(at) }
}

func rejectOddHeads(d nn.Dims, s Stack) error {
	if d.Heads%2 != 0 {
		return errors.Errorf("n_head: got %d, want an even number with attention %s: two heads share a value",
			d.Heads, s.Attention)
	}
	return nil
}

func (a Attention) check(d nn.Dims, s Stack) error {
	if a.Check != nil {
		if err := a.Check(d, s); err != nil {
			return err
		}
	}
	for _, o := range a.Options {
		if o.Check == nil {
			continue
		}
		if err := o.Check(s.Options.Get(o.Name), d); err != nil {
			return err
		}
	}
	return nil
}

// rejectRoPE refuses position rope, because an attention that is linear in products of features, or absorbs them,
// allows neither a rotation nor a bias of the scores.
func rejectRoPE(_ nn.Dims, s Stack) error {
	return rejectPosition("rope", s, ": rotated keys can be neither summed nor absorbed")
}

func rejectBias(_ nn.Dims, s Stack) error {
	return rejectPosition("alibi", s, ", which has no scores to add it to")
}

func rejectPosition(name string, s Stack, why string) error {
	if s.Position != name {
		return nil
	}
	return errors.Errorf("position: got %s, want another with attention %s%s", name, s.Attention, why)
}
