// Package notation is the language of the book's formulas. The book shows each formula as MathML, executes it, and
// marks the formulas that its readers type. Start with ParseDerivation and ParseExercise.
//
// A formula is about named matrices:
//
//	x + y, x − y      sum and difference; a row, a column or a number is repeated to the shape of the other operand
//	x ∘ y, x / y      product and quotient, entry by entry
//	x · y             matrix product
//	xᵗ, x², −x        transpose, square of every entry, negative
//	Σ x               sum of all entries; Σ_rows adds the rows and gives one row, Σ_cols adds the columns
//	f(x)              a function, such as exp(x) or softmax(x)
//	dx, d(x)          the differential: how x changes as the given matrices change
//
// ∘, · and / bind alike, from left to right. Σ adds all that follows up to the next + or −. ASCII has forms of each
// sign: * for ∘, @ for ·, ^T for ᵗ, ^2 for ², and names such as sigma for Greek letters. sum(x), sum_rows(x) and
// sum_cols(x) add only what stands in their parentheses.
//
// A Derivation is a list of definitions and equalities. Check executes it with random matrices of random shapes in a
// finite field (verify/internal/exact), where an equality holds without rounding or does not hold. An Exercise has a
// formula as its answer. Mark compares a reader's formula with the derivative of the definitions, which dual numbers
// compute, so that no stored solution decides.
package notation
