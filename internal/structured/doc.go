// Package structured approximates the attention weights of a head by matrices of a prescribed form, as E. Conti, "The
// Math behind transformers" (2023/2024), chapter 3, proposes, and measures the distance. Start with Compare.
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
// Its minimum over all matrices of a band needs no search: it is attained by A on the band ([Project]), and the
// distance is the part of A outside ([OffBand]). [Compare] draws from the three sets and compares the results with
// that minimum and with the plain baselines 0, I and 1/n, which the paper lacks (errata C12): for every A the matrix
// of zeros has the distance n, and a draw that is farther away carries no information about A.
//
// For a matrix that is not (n, n), an impossible size or a missing generator, functions without an error result return
// a nil matrix or the distance NaN.
package structured
