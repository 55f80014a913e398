// Package lab compares architectures: it trains each arm of a study, a variant of one configuration, with the same
// seeds at an equal budget, and says which arms are better and with what certainty. Start with Study: Run trains and
// Report compares.
//
// A training run of this library has equal bits on every repetition. So a result is kept for good under the hash of all
// that determines it, a trial that was killed continues to the same result, and two arms are compared seed by seed:
// both see the same batches, and parameters of equal name and shape begin with equal numbers, or with multiples of them
// where the initial spread depends on what the arm changes. What is left is the difference between seeds, which package
// paired measures; the words "better" and "worse" come from it alone.
//
// The package prints nothing. The program examples/lab draws its reports.
package lab
