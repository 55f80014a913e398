package parts

import (
	"strconv"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Block is a kind of block, that is, the arrangement of its layers.
type Block struct {
	Name
	Check func(s Stack) error // optional; returns an error for an invalid combination
	New   func(at nn.Site, attention nn.Attention) nn.Layer
	Final bool // whether a stack of these blocks ends with a norm
}

// Blocks lists the library's blocks, the default first.
func Blocks() []Block {
	return []Block{
		normed("pre", func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }),
		{Name: "post", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewPostNormBlock(at, a) }},
		normed("sandwich", func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewSandwichBlock(at, a) }),
		normed("post_part", func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewPostPartBlock(at, a) }),
		normed("parallel", func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewParallelBlock(at, a) }),
		normed("parallel_two", func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewParallelTwoBlock(at, a) }),
		{Name: "elman", New: func(at nn.Site, _ nn.Attention) nn.Layer { return nn.NewElman(at) }, Check: checkElman},
	}
}

// normed returns a block whose stack ends with a norm.
func normed(name Name, build func(at nn.Site, a nn.Attention) nn.Layer) Block {
	return Block{Name: name, New: build, Final: true}
}

// checkElman refuses settings that a block without attention, norm and MLP would ignore.
func checkElman(s Stack) error {
	type named struct{ name, got, want string }
	fields := []named{
		{"attention", s.Attention, Names(Attentions())[0]},
		{"norm", s.Norm, Names(Norms())[0]},
		{"activation", s.Activation, Names(Activations())[0]},
		{"mlp", s.MLP, Names(MLPs())[0]},
	}
	fields = append(fields, named{"attention_bias", strconv.FormatBool(s.Sublayers.AttentionBias), "false"},
		named{"mlp_bias", strconv.FormatBool(s.Sublayers.MLPBias), "false"})
	for _, k := range Kinds() {
		if k.Key != "skips" { // they are outside the blocks
			fields = append(fields, named{k.Key, k.Get(s), k.fallback()})
		}
	}
	for _, f := range fields {
		if f.got != f.want {
			return errors.Errorf("%s: got %s, want the default, %s, with block elman, which has none",
				f.name, f.got, f.want)
		}
	}
	if s.Sublayers.AttnLogitSoftcapping != 0 {
		return errors.Errorf("attn_logit_softcapping: got %v, want 0 with block elman, which has no attention",
			s.Sublayers.AttnLogitSoftcapping)
	}
	if s.Position == "rope" || s.Position == "alibi" {
		return errors.Errorf("position: got %s, want learned, sinusoidal or none with block elman, "+
			"which has no queries and keys", s.Position)
	}
	return nil
}
