// Package exercises holds the exercises of the book as functions with a hole. Replace the word hole in a file such as
// chapter04.go by a formula of package hand, and mark it:
//
//	go test ./examples/book/exercises -run Chapter04 -v
//
// An answer is compared at 100 random points in a finite field, where no rounding hides a mistake. A wrong one is
// answered with the first entry that differs and, if the kind of mistake is known, with a hint.
package exercises

import (
	"errors"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Matrix is a matrix of a formula.
type Matrix = hand.Matrix[complex128]

// Named holds the matrices that an exercise gives or defines, by their names in the book.
type Named = map[string]Matrix

// errHole is the error of an exercise without an answer.
var errHole = errors.New("this is still a hole")

// hole stands where an answer belongs.
var hole = Matrix{Err: errHole}

// answers are the functions of a chapter by the names of their exercises.
type answers = map[string]func(m Named) Matrix
