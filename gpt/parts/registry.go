package parts

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Registry lists variants by kind. The zero Registry is empty; Library returns the library's variants. Configuration
// files and checkpoints contain the names of variants, but not their code: a program that reads one must provide the
// same variants.
type Registry struct {
	Positions   []Position
	Attentions  []Attention
	Norms       []Norm
	Blocks      []Block
	MLPs        []MLP
	Activations []Activation
	Heads       []Head
	Optimizers  []Optimizer
	Schedules   []train.Schedule
	Kinds       []Kind      // further kinds of parts, set in Stack.With
	Tokenizers  []text.Kind // not in configurations; functions that open a checkpoint read its tokenizer with them

	// Bidirectional declares that models of these parts may look at later tokens, such as masked models with a
	// user-defined loss. Without it, a model with a user-defined part that looks ahead is refused. A Decoder always
	// refuses a model that looks ahead.
	Bidirectional bool

	// Source, which is optional, is the source of these variants, for example by go:embed. Certificates hold its
	// SHA-256; without it they say that the variants are not covered.
	Source string
}

// Library returns all variants of the library, the default of each kind first.
func Library() Registry {
	return Registry{
		Positions: Positions(), Attentions: Attentions(), Norms: Norms(), Blocks: Blocks(), MLPs: MLPs(),
		Activations: Activations(), Heads: Heads(), Optimizers: Optimizers(), Schedules: train.Schedules(),
		Kinds: Kinds(), Tokenizers: text.Kinds(),
	}
}

// Join returns the variants of all registries in their order. Of several variants of one name, the first counts.
func Join(list ...Registry) (all Registry) {
	for _, r := range list {
		all.Positions = join(all.Positions, r.Positions)
		all.Attentions = join(all.Attentions, r.Attentions)
		all.Norms = join(all.Norms, r.Norms)
		all.Blocks = join(all.Blocks, r.Blocks)
		all.MLPs = join(all.MLPs, r.MLPs)
		all.Activations = join(all.Activations, r.Activations)
		all.Heads = join(all.Heads, r.Heads)
		all.Optimizers = join(all.Optimizers, r.Optimizers)
		all.Schedules = join(all.Schedules, r.Schedules)
		all.Kinds = joinKinds(all.Kinds, r.Kinds)
		all.Tokenizers = join(all.Tokenizers, r.Tokenizers)
		all.Bidirectional = all.Bidirectional || r.Bidirectional
		all.Source += r.Source
	}
	return all
}

// join returns a followed by b. It copies nothing if a is empty, because a configuration joins its parts often.
func join[P any](a, b []P) []P {
	if len(a) == 0 {
		return slices.Clip(b)
	}
	return append(slices.Clip(a), b...)
}

// joinKinds returns the kinds of a, and the kinds of b whose keys a lacks.
func joinKinds(a, b []Kind) []Kind {
	if len(a) == 0 {
		return slices.Clip(b)
	}
	return append(slices.Clip(a), slices.DeleteFunc(slices.Clone(b), func(k Kind) bool {
		return slices.ContainsFunc(a, func(other Kind) bool { return other.Key == k.Key })
	})...)
}

// WithLibrary returns r followed by the library's variants. A variant of r replaces one of the library with the same
// name.
func (r Registry) WithLibrary() Registry { return Join(r, Library()) }

// Code returns the variants of r that s names, for a certificate. s must be resolved.
func (r Registry) Code(s Stack, head, optimizer, schedule string) (list []certificate.Code) {
	add := func(kind string, own []string, named ...string) {
		for _, name := range own {
			if slices.Contains(named, name) {
				list = append(list, certificate.NewCode(kind+" "+name, r.Source))
			}
		}
	}
	add("position", Names(r.Positions), s.Position)
	add("attention", Names(r.Attentions), s.Attentions()...)
	add("norm", Names(r.Norms), s.Norm)
	add("block", Names(r.Blocks), s.Block)
	add("mlp", Names(r.MLPs), s.MLP)
	add("activation", Names(r.Activations), s.Activation)
	add("head", Names(r.Heads), head)
	add("optimizer", Names(r.Optimizers), optimizer)
	add("schedule", Names(r.Schedules), schedule)
	for _, k := range r.Kinds {
		if !k.isDefault(s) {
			list = append(list, certificate.NewCode(k.Key+" "+k.Get(s), r.Source))
		}
	}
	return list
}

// HasOwn reports whether s, which is resolved, names a variant of r.
func (s Stack) HasOwn(r Registry) bool {
	own := func(attention string) bool { return slices.Contains(Names(r.Attentions), attention) }
	return slices.Contains(Names(r.Positions), s.Position) || slices.ContainsFunc(s.Attentions(), own) ||
		slices.Contains(Names(r.Norms), s.Norm) || slices.Contains(Names(r.Blocks), s.Block) ||
		slices.Contains(Names(r.MLPs), s.MLP) || slices.Contains(Names(r.Activations), s.Activation) ||
		slices.ContainsFunc(r.Kinds, func(k Kind) bool { return !k.isDefault(s) })
}

// Name is the name of a variant in configurations. Variants of all kinds embed it.
type Name string

// String returns n.
func (n Name) String() string { return string(n) }

// Names lists the names of variants, each once.
func Names[P fmt.Stringer](list []P) (names []string) {
	for _, p := range list {
		if !slices.Contains(names, p.String()) {
			names = append(names, p.String())
		}
	}
	return names
}

// Find returns the first variant of that name, or the zero P if there is none: names are checked with the
// configuration.
func Find[P fmt.Stringer](list []P, name string) (p P) {
	if i := slices.IndexFunc(list, func(p P) bool { return p.String() == name }); i >= 0 {
		return list[i]
	}
	return p
}
