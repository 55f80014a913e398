package equation

import (
	"fmt"
	"strings"
)

const head = `# Index

This file lists the equations of the five papers: the statement of each, the formulas by hand that its test checks, the
test named after it, the largest distance between the two sides that the test measures (1e-12 fails), and the mark of
[TRUST.md](../TRUST.md). Xu's (18), about shapes, and Conti's (18), about probabilities, have a test but no distance.
Five equations only name something; they have the reason instead. The distances were measured in float64 on amd64.

The column "by hand" is measured: its formulas are those without which the test fails, each scaled by 1.01 where the
test calls it. Where no formula is listed, "identity" means that the test compares two sides of the paper's own
algebra, or a formula with itself at other arguments, and "definition" that it compares a definition with itself. A
distance of 0 has one of three reasons:

- "moved": both sides only move numbers, or multiply them by 0 and 1.
- "same order": both sides do the same operations in the same order, or too few to be rounded differently.
- "exact": the statement is about zeros, ones or equal bits.

This file is written by

	NIGHTLY=1 go test ./verify/internal/papers -run 'Eq|TestIndex|TestByHand' -update

and shown as a page, with a search and the calls between the formulas, by

	go run ./examples/verify -page equations.html
`

// String returns the text of INDEX.md.
func (x Index) String() string {
	const columns = "| | states | by hand | test | distance | mark |\n|---|---|---|---|---|---|\n"
	var b strings.Builder
	b.WriteString(head)
	for _, p := range x.Papers {
		fmt.Fprintf(&b, "\n## %s\n\n%s", p.Title, columns)
		for _, e := range p.Equations {
			test, distance, states := e.Test, " "+e.Distance, strings.ReplaceAll(e.States, "|", `\|`)
			if test == "" {
				test, distance = "–", ""
			}
			fmt.Fprintf(&b, "| (%d) | %s | %s | %s |%s | %d |\n",
				e.Number, states, e.ByHand(), test, distance, e.Mark())
		}
	}
	return b.String()
}
