// Package structured approximates the attention weights of a head by matrices of a prescribed form, as E. Conti, "The
// Math behind transformers" (2023/2024), chapter 3, proposes, and says how far off they are.
// Start with Compare.
//
// A is (n, n), its rows sum to 1. The approximation of (20), (21) is
//
//	X = P + Ẽ,   P ∈ Σ1 ∪ Σ2(w, p) ∪ Σ3(T, W),   |ẽ| ≤ ε and mostly 0
//
// with the identity Σ1 ([Identity]), a band with entries dropped Σ2 ([Band]), and the identity with groups of rows that
// all attend to one token Σ3 ([Columns]). The distance is the entrywise 1-norm (22),
//
//	|A − X| = Σ |a − x|          ([Distance])
//
// Its minimum over all matrices of a band needs no search: it is A on the band ([Project]), and the distance is what A
// has outside ([OffBand]). [Compare] draws from the three sets and puts the results beside that and beside the plain
// baselines 0, I and 1/n, which the paper lacks (errata C12): for every A the matrix of zeros has the distance n, and a
// draw that is farther away than that tells nothing about A.
//
// What is not (n, n), a size that cannot be and no generator to draw with have no matrix, nil, and the distance NaN,
// where a function returns no error.
package structured
