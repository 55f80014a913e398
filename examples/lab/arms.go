package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// part is a list of variants.
type part struct {
	name  string
	get   func(*gpt.Config) string
	names []string
}

func allParts() []part {
	list := []part{
		{"position", func(c *gpt.Config) string { return c.Position }, parts.Names(parts.Positions())},
		{"attention", func(c *gpt.Config) string { return c.Attention }, parts.Names(parts.Attentions())},
		{"norm", func(c *gpt.Config) string { return c.Norm }, parts.Names(parts.Norms())},
		{"block", func(c *gpt.Config) string { return c.Block }, parts.Names(parts.Blocks())},
		{"activation", func(c *gpt.Config) string { return c.Activation }, parts.Names(parts.Activations())},
		{"mlp", func(c *gpt.Config) string { return c.MLP }, parts.Names(parts.MLPs())},
	}
	for _, k := range parts.Kinds() {
		get := func(c *gpt.Config) string { return k.Get(c.Stack) }
		list = append(list, part{k.Key, get, parts.Names(k.Variants())})
	}
	return append(list, part{"head", func(c *gpt.Config) string { return c.Head }, parts.Names(parts.Heads())})
}

// of returns the part of c as part=name; by default it is the first.
func (p part) of(c *gpt.Config) string { return p.name + "=" + cmp.Or(p.get(c), p.names[0]) }

// variants returns every part=name.
func variants() (list []string) {
	for _, p := range allParts() {
		for _, name := range p.names {
			list = append(list, p.name+"="+name)
		}
	}
	return list
}

// companions returns the further changes of the variants that make little sense in the unchanged baseline.
func companions(c gpt.Config) map[string]string {
	more := map[string]string{
		"attention=gqa":             "n_kv_head=1", // its default is causal
		"attention=gqa_bias":        "n_kv_head=1",
		"attention=mla_rope":        "position=none", // it rotates its queries and keys itself
		"attention=mla_latent_rope": "position=none",
		"block=elman":               "position=none", // it reads the tokens in their order
		"attention=dilated":         fmt.Sprintf("dilation=%d", min(4, c.BlockSize)),
	}
	for _, gated := range parts.Names(parts.MLPs())[1:] {
		more["mlp="+gated] = fmt.Sprintf("n_inner=%d", max(1, 8*c.NEmbd/3)) // about the same parameters
	}
	return more
}

// chosen returns the baseline and the arms of -arms and -parts.
func (o *options) chosen() ([]lab.Arm, error) {
	lists := slices.Clone(o.arms)
	if len(lists) == 0 && o.parts == "" {
		lists = list{defaultArms}
	}
	var names []string
	for _, l := range lists {
		for name := range strings.SplitSeq(l, ";") {
			if name = strings.ReplaceAll(name, " ", ""); name != "" && name != "baseline" {
				names = append(names, name)
			}
		}
	}
	fromParts, err := o.ofParts()
	if err != nil {
		return nil, err
	}
	for _, name := range fromParts {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("-arms: got none, want at least one, such as norm=rmsnorm")
	}
	arms := lab.Arms(append([]string{"baseline"}, names...)...)
	if o.cross {
		arms = lab.Factorial(arms)
	}
	for _, a := range arms[1:] {
		if err := o.possible(a); err != nil {
			return nil, errors.WithMessagef(err, "-arms: %s", a.Name)
		}
	}
	return arms, o.optionsAreRead(arms)
}

// ofParts returns the arms of -parts. A variant that the baseline makes impossible is left out.
func (o *options) ofParts() (names []string, err error) {
	chosen := words(o.parts)
	for _, w := range chosen {
		if w != "all" && !slices.ContainsFunc(variants(), func(v string) bool { return matches(v, []string{w}) }) {
			names := []string{"all"}
			for _, p := range allParts() {
				names = append(append(names, p.name), p.names...)
			}
			return nil, errors.Errorf("-parts: got %q, want all, a part or a variant: %s%s", w,
				strings.Join(variants(), ", "), spelling.Hint(w, names))
		}
	}
	for _, p := range allParts() {
		for _, name := range p.names {
			v := p.name + "=" + name
			if v == p.of(&o.base) || !slices.Contains(chosen, "all") && !matches(v, chosen) {
				continue
			}
			if with, ok := companions(o.base)[v]; ok {
				v += "," + with
			}
			if err := o.possible(lab.Arms(v)[0]); err != nil {
				o.leftOut = append(o.leftOut, v+": "+err.Error())
				continue
			}
			names = append(names, v)
		}
	}
	return names, nil
}

// possible returns an error if an arm cannot be built.
func (o *options) possible(a lab.Arm) error {
	c, err := a.Apply(o.base)
	if err != nil {
		return err
	}
	c.VocabSize = cmp.Or(c.VocabSize, 2) // of the text, which is not read yet
	return c.ValidateModel()
}

// matches reports whether one of the words is the variant, its part, or its name.
func matches(variant string, words []string) bool {
	part, name, _ := strings.Cut(variant, "=")
	return slices.Contains(words, part) || slices.Contains(words, name) || slices.Contains(words, variant)
}

// optionsAreRead returns an error for an option of an attention, given as a flag, that no arm reads.
func (o *options) optionsAreRead(arms []lab.Arm) error {
	for _, name := range o.base.Stack.OptionFields(parts.Library()).Names() {
		reads := func(a lab.Arm) bool {
			c, err := a.Apply(o.base)
			is := func(o parts.Option) bool { return o.Name == name }
			return err == nil && slices.ContainsFunc(parts.Library().Design(c.Stack).Attention.Options, is)
		}
		if o.given[name] && !slices.ContainsFunc(arms, reads) {
			return errors.Errorf("-%s: no arm has an attention that reads it; give -attention, or such an arm", name)
		}
	}
	return nil
}
