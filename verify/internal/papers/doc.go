// Package papers has the numbered equations of five papers as tests, one test an equation, named after it: what a paper
// prints, against the formulas of verify/hand and against the complex step of them. Beside them stand the invariants
// that the inventory of verify claims, and the mistakes that are made with these formulas. verify/INDEX.md lists the
// equations, verify/ERRATA.md what the papers print wrong, and by how much.
package papers
