// Package cases compares the layers of nn with formulas by hand. It lists what the papers describe, entry by entry,
// with the Cases that certify each: those of verify/internal/variants, and those of layers and settings that no
// configuration names, in one file per family of layers. Every family is generic in the numbers of its formulas.
package cases

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// All returns the Cases of every entry. Each exported type of nn with a Forward is in at least one of them.
func All() (list []verify.Case) {
	for _, e := range Entries() {
		list = append(list, e.Cases...)
	}
	return list
}

// Entries returns the entries sorted by ID, the order in which a model is built, trained and used. Entries from I60 on
// come from none of the five papers.
func Entries() (list []verify.Entry) {
	step := entries[complex128]()
	for i, e := range entries[float64]() {
		list = append(list, e.Entry)
		for k, real := range e.formulas {
			c := byHand(real.Case, real.layer, step[i].formulas[k].layer)
			c.ID = e.ID
			list[i].Cases = append(list[i].Cases, c)
		}
	}
	return list
}

// entry is an entry of the inventory whose Cases have not yet their formulas.
type entry[T hand.Number] struct {
	verify.Entry
	formulas []formula[T]
}

// formula is a Case and its layer by hand, for one kind of numbers.
type formula[T hand.Number] struct {
	verify.Case
	layer layer[T]
}

// entries returns the entries sorted by ID: those of the variants and those of the families, where an ID in both has
// the Cases of both.
func entries[T hand.Number]() (list []entry[T]) {
	for _, e := range slices.Concat(ofVariants[T](), families[T]()) {
		i := slices.IndexFunc(list, func(known entry[T]) bool { return known.ID == e.ID })
		if i < 0 {
			list = append(list, e)
			continue
		}
		known := &list[i]
		known.What, known.Source = cmp.Or(known.What, e.What), cmp.Or(known.Source, e.Source)
		known.Tests = append(known.Tests, e.Tests...)
		known.formulas = append(known.formulas, e.formulas...)
	}
	slices.SortFunc(list, func(a, b entry[T]) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// families returns the entries of layers and settings that no configuration names.
func families[T hand.Number]() []entry[T] {
	list := slices.Concat(
		losses[T](), embeddings[T](), positions[T](), biases[T](), rotations[T](), linears[T](), unprojected[T](),
		masks[T](), crossAttentions[T](), adapters[T](), dropouts[T](), pairs[T](), recurrences[T](), latents[T](),
		tiles[T](), linformers[T](), rewards[T](), pooled[T](), pairedLosses[T](),
	)
	for _, e := range list {
		for i := range e.formulas {
			certify(&e.formulas[i].Case, e.ID, false)
		}
	}
	for _, e := range claims() {
		list = append(list, entry[T]{Entry: e})
	}
	return list
}

type matrix = hand.Matrix[float64]

const input = "x"

// layer builds a layer by hand from the parameters of a Case.
type layer[T hand.Number] func(at hand.Site[T]) hand.Layer[T]

// fixed returns a layer without parameters.
func fixed[T hand.Number](l hand.Layer[T]) layer[T] {
	return func(hand.Site[T]) hand.Layer[T] { return l }
}
