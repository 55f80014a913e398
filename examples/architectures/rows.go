package main

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// row is the baseline, or the baseline with one part changed.
type row struct {
	Variant    string    `json:"variant"`        // "baseline", or such as "position=rope"
	With       string    `json:"with,omitempty"` // what else is changed, since the part asks for it
	Parameters int64     `json:"parameters"`
	Losses     []float64 `json:"val_loss"` // nats per character over the whole validation split, a seed each
	Ms         float64   `json:"ms_per_step"`
	MiB        float64   `json:"heap_mib"` // parameters, optimizer and programs of the training
	Checked    string    `json:"verified"` // the worst error of its gradients
	DecodeTokS float64   `json:"decode_tok_per_s"`
	Error      string    `json:"error,omitempty"` // why it could not be built, or what stopped it

	config gpt.Config
	seeds  int
}

// part is a list of variants.
type part struct {
	name  string
	field func(*gpt.Config) *string
	names []string
}

func kinds() []part {
	return []part{
		{"position", func(c *gpt.Config) *string { return &c.Position }, parts.Names(parts.Positions())},
		{"attention", func(c *gpt.Config) *string { return &c.Attention }, parts.Names(parts.Attentions())},
		{"norm", func(c *gpt.Config) *string { return &c.Norm }, parts.Names(parts.Norms())},
		{"block", func(c *gpt.Config) *string { return &c.Block }, parts.Names(parts.Blocks())},
		{"activation", func(c *gpt.Config) *string { return &c.Activation }, parts.Names(parts.Activations())},
		{"head", func(c *gpt.Config) *string { return &c.Head }, parts.Names(parts.Heads())},
	}
}

// companion is what a variant brings along.
type companion struct {
	says string
	set  func(*gpt.Config)
}

// companions of those variants that make little sense in the baseline, or none.
func companions() map[string]companion {
	unplaced := companion{"position=none", func(c *gpt.Config) { c.Position = "none" }}
	return map[string]companion{
		"attention=mla_rope":        unplaced, // it turns its queries and keys by itself
		"attention=mla_latent_rope": unplaced,
		"block=elman":               unplaced, // it goes through the tokens in their order
		"attention=dilated":         {"dilation=4", func(c *gpt.Config) { c.Options.Set("dilation", min(4, c.BlockSize)) }},
	}
}

// chosen are the rows to measure: the baseline first.
func chosen(c gpt.Config, o options) ([]*row, error) {
	list := []*row{{Variant: "baseline", config: c}}
	for _, p := range kinds() {
		for _, name := range p.names {
			r := &row{Variant: p.name + "=" + name, config: c}
			if *p.field(&r.config) == name {
				continue // that is the baseline
			}
			*p.field(&r.config) = name
			if with, ok := companions()[r.Variant]; ok {
				r.With = with.says
				with.set(&r.config)
			}
			list = append(list, r)
		}
	}
	for flag, words := range map[string][]string{"headline": o.headline, "only": o.only} {
		if err := known(flag, words); err != nil {
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(r *row) bool { return r.Variant != "baseline" && len(o.only) > 0 && !r.in(o.only) })
	for _, r := range list {
		r.seeds = 1
		if r.in(o.headline) {
			r.seeds = o.seeds
		}
	}
	return list, nil
}

// in says whether one of the words is the row's part, its variant, or both.
func (r *row) in(words []string) bool {
	part, name, _ := strings.Cut(r.Variant, "=")
	return slices.Contains(words, part) || slices.Contains(words, name) || slices.Contains(words, r.Variant)
}

// known refuses a word that names nothing. What the baseline is made of may be named: it is no row of its own.
func known(flag string, words []string) error {
	all, variants := []*row{{Variant: "baseline"}}, []string{"baseline"}
	for _, p := range kinds() {
		for _, name := range p.names {
			all = append(all, &row{Variant: p.name + "=" + name})
			variants = append(variants, p.name+"="+name)
		}
	}
	for _, w := range words {
		if !slices.ContainsFunc(all, func(r *row) bool { return r.in([]string{w}) }) {
			return errors.Errorf("%s: got %q, want a part or a variant: %s", flag, w, strings.Join(variants, ", "))
		}
	}
	return nil
}
