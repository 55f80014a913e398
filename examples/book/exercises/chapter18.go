package exercises

// chapter18 holds the exercises of the chapter "Numbers".
var chapter18 = answers{
	"sum-error":        sumError,
	"product-error":    productError,
	"variance-by-sums": varianceBySums,
}

// sumError finds error. A program computes ((a + b)(1 + e) + c)(1 + f), with the roundings e and f. How much more
// is this than a + b + c?
//
// The matrices are m["…"] of a (1, 1), b (1, 1), c (1, 1), e (1, 1), f (1, 1).
func sumError(m Named) Matrix { return hole }

// productError finds difference. A program computes a·b + c with two roundings, ((a∘b)(1 + e) + c)(1 + f), and
// another one with a fused operation, (a∘b + c)(1 + f). How much more has the first?
//
// The matrices are m["…"] of a (1, 1), b (1, 1), c (1, 1), e (1, 1), f (1, 1).
func productError(m Named) Matrix { return hole }

// varianceBySums finds variance. Write the variance of each row, mean((x − mean(x))²), so that one pass through
// the numbers is enough: without subtracting anything from x.
//
// The matrices are m["…"] of x (n, d).
func varianceBySums(m Named) Matrix { return hole }
