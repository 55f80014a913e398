package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// row is the baseline, or the baseline with one part changed.
type row struct {
	Variant    string    `json:"variant"`        // "baseline", or for example "position=rope"
	With       string    `json:"with,omitempty"` // other changes that the part requires
	Parameters int64     `json:"parameters"`
	Losses     []float64 `json:"val_loss"` // nats per character over the entire validation split, one per seed
	Ms         float64   `json:"ms_per_step"`
	MiB        float64   `json:"heap_mib"` // parameters, optimizer and programs of the training
	Checked    string    `json:"verified"` // the worst error of its gradients
	DecodeTokS float64   `json:"decode_tok_per_s"`
	Error      string    `json:"error,omitempty"` // the error that prevented or stopped the run

	config gpt.Config
	seeds  int
}

// part is a list of variants.
type part struct {
	name  string
	field func(*gpt.Config) *string
	names []string
}

// of returns the name of the part in c; by default it is the first.
func (p part) of(c *gpt.Config) string { return cmp.Or(*p.field(c), p.names[0]) }

func allParts() []part {
	return []part{
		{"position", func(c *gpt.Config) *string { return &c.Position }, parts.Names(parts.Positions())},
		{"attention", func(c *gpt.Config) *string { return &c.Attention }, parts.Names(parts.Attentions())},
		{"norm", func(c *gpt.Config) *string { return &c.Norm }, parts.Names(parts.Norms())},
		{"block", func(c *gpt.Config) *string { return &c.Block }, parts.Names(parts.Blocks())},
		{"activation", func(c *gpt.Config) *string { return &c.Activation }, parts.Names(parts.Activations())},
		{"mlp", func(c *gpt.Config) *string { return &c.MLP }, parts.Names(parts.MLPs())},
		{"head", func(c *gpt.Config) *string { return &c.Head }, parts.Names(parts.Heads())},
	}
}

// companion is a further change for a variant.
type companion struct {
	name string
	set  func(*gpt.Config)
}

// companions returns the companions of the variants that make little sense in the unchanged baseline.
func companions() map[string]companion {
	noPosition := companion{"position=none", func(c *gpt.Config) { c.Position = "none" }}
	narrow := companion{ // about the same number of parameters
		"n_inner=8/3·n_embd", func(c *gpt.Config) { c.NInner = max(1, 8*c.NEmbd/3) },
	}
	dilation := companion{"dilation=4", func(c *gpt.Config) { c.Options.Set("dilation", min(4, c.BlockSize)) }}
	multiQuery := companion{"n_kv_head=1", func(c *gpt.Config) { c.Options.Set("n_kv_head", 1) }}
	return map[string]companion{
		"attention=gqa":             multiQuery, // its default is causal
		"attention=gqa_bias":        multiQuery,
		"attention=mla_rope":        noPosition, // it rotates its queries and keys itself
		"attention=mla_latent_rope": noPosition,
		"block=elman":               noPosition, // it reads the tokens in their order
		"attention=dilated":         dilation,
		"mlp=swiglu":                narrow,
	}
}

// variants returns the baseline and every part=name.
func variants() []string {
	list := []string{"baseline"}
	for _, p := range allParts() {
		for _, name := range p.names {
			list = append(list, p.name+"="+name)
		}
	}
	return list
}

// chosen returns the rows to measure, with the baseline first.
func chosen(c gpt.Config, o options) ([]*row, error) {
	for flag, words := range map[string][]string{"headline": o.headline, "only": o.only} {
		if err := known(flag, words); err != nil {
			return nil, err
		}
	}
	list := []*row{{Variant: "baseline", config: c}}
	for _, p := range allParts() {
		for _, name := range p.names {
			r := &row{Variant: p.name + "=" + name, config: c}
			if p.of(&c) == name || len(o.only) > 0 && !matches(r.Variant, o.only) {
				continue // the baseline, or not chosen
			}
			*p.field(&r.config) = name
			if with, ok := companions()[r.Variant]; ok {
				r.With = with.name
				with.set(&r.config)
			}
			list = append(list, r)
		}
	}
	for _, name := range o.attention {
		if !slices.ContainsFunc(list, func(r *row) bool { return r.reads(name) }) {
			return nil, errors.Errorf("-%s: no row has an attention that reads it; "+
				"give -attention, or name one in -only", name)
		}
	}
	for _, r := range list {
		r.seeds = 1
		if matches(r.Variant, o.headline) {
			r.seeds = o.seeds
		}
	}
	return list, nil
}

// reads reports whether the row's attention has the given option.
func (r *row) reads(option string) bool {
	attention := parts.Find(parts.Attentions(), cmp.Or(r.config.Attention, parts.Names(parts.Attentions())[0]))
	return slices.ContainsFunc(attention.Options, func(o parts.Option) bool { return o.Name == option })
}

// matches reports whether one of the words is the variant, its part, or its name.
func matches(variant string, words []string) bool {
	part, name, _ := strings.Cut(variant, "=")
	return slices.Contains(words, part) || slices.Contains(words, name) || slices.Contains(words, variant)
}

// known returns an error for a word that names nothing. Parts of the baseline may be named, although they have no row.
func known(flag string, words []string) error {
	for _, w := range words {
		if !slices.ContainsFunc(variants(), func(v string) bool { return matches(v, []string{w}) }) {
			return errors.Errorf("%s: got %q, want a part or a variant: %s", flag, w, strings.Join(variants(), ", "))
		}
	}
	return nil
}

// parts returns the variants of all parts of the row.
func (r *row) parts() (list []string) {
	for _, p := range allParts() {
		list = append(list, p.name+"="+p.of(&r.config))
	}
	return list
}
