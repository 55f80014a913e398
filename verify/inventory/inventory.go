// Package inventory lists what the five papers describe, and layers beside them, with the Cases that hold it against
// formulas by hand: every layer of nn, checked alone. Start with Cases.
package inventory

import (
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/internal/cases"
)

// Entries returns everything that the papers describe, in the order in which a model is built, trained and used, then
// what comes from elsewhere, from I60 on.
func Entries() []verify.Entry { return cases.Entries() }

// Cases returns those of all entries.
func Cases() []verify.Case { return cases.All() }
