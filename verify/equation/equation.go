// Package equation describes the numbered equations of the five papers, with the tests and the formulas by hand that
// check them. Start with Index, which package verify/index reads from the module's sources.
package equation

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Index holds the equations of all papers and what their tests rest on.
type Index struct {
	Papers   []Paper
	Formulas []Formula
	Marks    []string // the kinds of evidence in TRUST.md: mark 1 is the first
}

// Paper is a paper with its equations in their order.
type Paper struct {
	Title     string
	Equations []Equation
}

// Equation is a row of the index. The test of an equation that only names something is "".
type Equation struct {
	Number   int
	States   string   // the first sentence of the comment of its test, or the reason for having none
	Formulas []string // the formulas by hand without which its test fails
	Test     string
	Distance string // the largest between two sides that the test measures, with its reason if it is 0
	Place    Place  // of the test
}

// Place is a line of a source, whose path is relative to the root of the module.
type Place struct {
	File string
	Line int
}

// ByHand returns the column "by hand": the formulas, or the kind of comparison of a test that checks none.
func (e Equation) ByHand() string {
	switch {
	case e.Test == "":
		return "–"
	case len(e.Formulas) > 0:
		return strings.Join(e.Formulas, ", ")
	case slices.Contains(definitions(), e.Test):
		return "definition"
	}
	return "identity"
}

// Mark returns the mark of TRUST.md.
func (e Equation) Mark() int {
	switch {
	case e.Test == "" || e.ByHand() == "definition":
		return 6
	case e.Distance == "":
		return 4
	}
	return 2
}

// Formula is an exported function or method of verify/hand that computes something of a layer: not an operation of
// matrices, and not what all formulas share.
type Formula struct {
	Name   string // such as Attention.Backward
	Place  Place
	Source string // its comment, which has the formula, and its code

	// Calls lists the functions and methods of verify/hand in the source of the formula, and in functions that are not
	// formulas and that it calls. Layer.Forward stands for the method of any layer, because Layer is an interface.
	Calls []string
}

// Check returns an error if an equation names a formula that does not exist.
func (x Index) Check() error {
	for _, p := range x.Papers {
		for _, e := range p.Equations {
			for _, name := range e.Formulas {
				if !slices.ContainsFunc(x.Formulas, func(f Formula) bool { return f.Name == name }) {
					return errors.Errorf("index: %s names %s, which verify/hand does not have", e.Test, name)
				}
			}
		}
	}
	return nil
}

// definitions returns the tests that compare a definition with itself, written twice.
func definitions() []string {
	return []string{"TestXuEq45", "TestXuEq65", "TestXuEq72", "TestXuEq73"}
}
