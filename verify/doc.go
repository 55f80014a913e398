// Package verify holds what a program computed against gradients that were worked out by hand, in verify/hand: the
// equations, the legend of their symbols and where to begin reading are there. Start with NewModel and Check.
//
// Check holds every gradient of a whole model, of text or of pairs, against four other roads to it; Case.Run those of
// one layer; both answer with a Report. The complex step takes every entry of up to 5,000 parameters; beyond that it
// takes 16 entries of each row, the largest and random ones, and one random direction over everything. verify/inventory
// lists the layers of nn, and ExampleCase checks a new one. INDEX.md leads from the number of an equation to its test,
// ERRATA.md says what the papers print wrong.
//
// complexstep.go differentiates any forward without knowing a derivative, and metric.go says what "equal" means.
package verify
