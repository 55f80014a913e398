// Package inventory lists what the five papers describe, and further layers, with the Cases that compare each layer of
// nn with formulas by hand. Start with Cases.
package inventory

import (
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/internal/cases"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Entries returns everything that the papers describe, in the order in which a model is built, trained and used,
// followed by entries from other sources, from I60 on.
func Entries() []verify.Entry { return cases.At(fixture.Default()) }

// Drawn returns the same entries with Cases of small random sizes, which the seed determines.
func Drawn(seed uint64) []verify.Entry { return cases.At(fixture.Small(seed)) }

// Cases returns the cases of all entries.
func Cases() []verify.Case { return cases.All() }
