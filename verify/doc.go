// Package verify compares the gradients that a program computed with gradients derived by hand. Package verify/hand has
// the equations, the legend of their symbols and a place to begin reading. Start with NewModel and Check.
//
// Check compares every gradient of a complete model, of text or of pairs, with five others; Case.Run does so for one
// layer; both return a Report. The complex step takes every entry of up to 5,000 parameters. Beyond that it takes 16
// entries of each row, the largest and random ones, and one random direction over all of them. Package verify/inventory
// lists the layers of nn, and ExampleCase checks a new one. INDEX.md leads from the number of an equation to its test;
// ERRATA.md lists the mistakes in the papers.
//
// complexstep.go differentiates any forward pass without a derivative, and metric.go defines "equal".
package verify
