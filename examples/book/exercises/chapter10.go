package exercises

// chapter10 holds the exercises of the chapter "Positions".
var chapter10 = answers{
	"position-table":    positionTable,
	"rotation-gradient": rotationGradient,
	"rotation-score":    rotationScore,
	"alibi-slope":       alibiSlope,
}

// positionTable finds Δp. Two sequences of n tokens stand one below the other. Both add the table p. What is its
// gradient?
//
// The matrices are m["…"] of x (2·n, d), Δ (2·n, d), p (n, d). The layer is y = x + stack(p, p).
func positionTable(m Named) Matrix { return hole }

// rotationGradient finds Δq. Every row of q is turned by R. What is the gradient at q?
//
// The matrices are m["…"] of q (n, 2), Δ (n, 2), u (1, 1), and c = (1 − u²) / (1 + u²), s = 2∘u / (1 + u²), R =
// stack(join(c, s), join(−s, c)). The layer is y = q·R.
func rotationGradient(m Named) Matrix { return hole }

// rotationScore finds score. R turns a row by the angle of one place. The query q stands at place 4, so it is
// turned four times; the key k stands at place 1. Write their score, with as few R as possible.
//
// The matrices are m["…"] of q (1, 2), k (1, 2), u (1, 1), and c = (1 − u²) / (1 + u²), s = 2∘u / (1 + u²), R =
// stack(join(c, s), join(−s, c)).
func rotationScore(m Named) Matrix { return hole }

// alibiSlope finds Δa. Suppose the slope a were learned. D holds the distances of queries and keys. What is the
// gradient of a?
//
// The matrices are m["…"] of s (n, m), D (n, m), Δ (n, m), a (1, 1). The layer is y = s − a∘D.
func alibiSlope(m Named) Matrix { return hole }
