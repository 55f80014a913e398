package parts

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// Registry lists variants by kind. Its zero value has none: the library's are in Library. Names go into configuration
// files and checkpoints, the variants themselves do not: a program that reads one back brings its own along.
type Registry struct {
	Positions   []Position
	Attentions  []Attention
	Norms       []Norm
	Blocks      []Block
	MLPs        []MLP
	Activations []Activation
	Heads       []Head
	Optimizers  []Optimizer
	Tokenizers  []text.Kind // of no configuration: what opens a checkpoint reads its tokenizer with them

	// Bidirectional declares that models of these parts may look at later tokens, such as masked models with a loss of
	// their own. Without it a model with a part of a program's own that does is refused. No decoder writes with one
	// that looks ahead.
	Bidirectional bool
}

// Library is every variant of the library, of each kind the default first.
func Library() Registry {
	return Registry{
		Positions: Positions(), Attentions: Attentions(), Norms: Norms(), Blocks: Blocks(), MLPs: MLPs(),
		Activations: Activations(), Heads: Heads(), Optimizers: Optimizers(), Tokenizers: text.Kinds(),
	}
}

// WithLibrary is r and the library's behind it: a variant of the library's name takes its place.
func (r Registry) WithLibrary() Registry {
	l := Library()
	return Registry{
		Positions:   slices.Concat(r.Positions, l.Positions),
		Attentions:  slices.Concat(r.Attentions, l.Attentions),
		Norms:       slices.Concat(r.Norms, l.Norms),
		Blocks:      slices.Concat(r.Blocks, l.Blocks),
		MLPs:        slices.Concat(r.MLPs, l.MLPs),
		Activations: slices.Concat(r.Activations, l.Activations),
		Heads:       slices.Concat(r.Heads, l.Heads),
		Optimizers:  slices.Concat(r.Optimizers, l.Optimizers),
		Tokenizers:  slices.Concat(r.Tokenizers, l.Tokenizers),

		Bidirectional: r.Bidirectional,
	}
}

// HasOwn reports whether s, which is resolved, names a variant of r.
func (s Stack) HasOwn(r Registry) bool {
	return slices.Contains(Names(r.Positions), s.Position) || slices.Contains(Names(r.Attentions), s.Attention) ||
		slices.Contains(Names(r.Norms), s.Norm) || slices.Contains(Names(r.Blocks), s.Block) ||
		slices.Contains(Names(r.MLPs), s.MLP) || slices.Contains(Names(r.Activations), s.Activation)
}

// Name is what configurations call a variant of any kind, which embeds it.
type Name string

// String is n.
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

// Find returns the first variant of that name, or the zero P: whether the name is known is checked with the
// configuration.
func Find[P fmt.Stringer](list []P, name string) (p P) {
	if i := slices.IndexFunc(list, func(p P) bool { return p.String() == name }); i >= 0 {
		return list[i]
	}
	return p
}
