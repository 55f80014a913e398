// Package papers tests the numbered equations of five papers, one test per equation, named after it. It compares the
// printed equation with the formulas of verify/hand and with their complex step. It also tests the invariants that the
// inventory of verify claims, and common mistakes with these formulas. verify/INDEX.md lists the equations;
// verify/ERRATA.md lists the mistakes in the papers and their size.
package papers
