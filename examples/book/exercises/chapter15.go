package exercises

// chapter15 holds the exercises of the chapter "Which is better?".
var chapter15 = answers{
	"mean-slope":          meanSlope,
	"difference-variance": differenceVariance,
	"three-flips":         threeFlips,
}

// meanSlope finds Δm. The loss of a number m for a list x of n numbers is L = Σ (x − m)²/n. What is its gradient
// at m?
//
// The matrices are m["…"] of x (1, n), m (1, 1). The layer is y = sum((x − m)²) / n.
func meanSlope(m Named) Matrix { return hole }

// differenceVariance finds variance. u and v are two lists with the mean 0 (the means have been subtracted). Write
// the variance of u − v by mean(u²), mean(v²) and mean(u∘v).
//
// The matrices are m["…"] of a (1, n), b (1, n), and u = a − mean(a), v = b − mean(b).
func differenceVariance(m Named) Matrix { return hole }

// threeFlips finds spread. With three seeds and the differences p, q and r there are eight sums ±p ± q ± r. Write
// the mean of their squares.
//
// The matrices are m["…"] of p (1, 1), q (1, 1), r (1, 1).
func threeFlips(m Named) Matrix { return hole }
