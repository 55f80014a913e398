package parts

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Attention is a kind of attention layer.
type Attention struct {
	Name
	Options []Option                       // what it reads beside the sizes
	Check   func(d nn.Dims, s Stack) error // what is impossible with it, naming field and numbers; nil is nothing
	// New is called once for a model, at its root, and the result once for every block: what blocks share is made here.
	// s is resolved.
	New func(root nn.Site, s Stack) nn.Attention
	// Groups is the number of heads with keys and values of their own, where heads share them; nil is all heads. Files
	// of published models have these apart. s is resolved.
	Groups func(s Stack) int
}

// Make is what New gives. A panic in it is an error that names the attention.
func (a Attention) Make(root nn.Site, s Stack) (made nn.Attention) {
	root.Sub("attention %q", a.Name).Try(func() { made = a.New(root, s) })
	return made
}

// Attentions lists the library's, the default first. All of them are causal, but linformer, which a decoder refuses for
// that: it is for encoders.
func Attentions() []Attention {
	return slices.Concat([]Attention{{Name: "causal", New: causal}}, groupedAttentions(),
		windowAttentions(), dilatedAttentions(), bigBirdAttentions(), linearAttentions(), latentAttentions())
}

func causal(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }
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

// rejectRoPE: what is linear in products of features, or absorbed, bears neither a rotation nor a bias of the scores.
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
