package notation

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// function is a function of a formula. One with 0 arguments takes any number of them, at least one.
type function struct {
	arguments int
	of        func(p *point, x []matrix) matrix
}

// single is a function of one matrix.
func single(f func(x matrix) matrix) function {
	return function{1, func(_ *point, x []matrix) matrix { return f(x[0]) }}
}

// functions holds every function by its name.
var functions = map[string]function{
	"exp":     single(matrix.Exp),
	"log":     single(matrix.Log),
	"sqrt":    {1, root},
	"tanh":    single(matrix.Tanh),
	"erf":     single(matrix.Erf),
	"step":    single(matrix.Step), // 1 where x is positive, otherwise 0
	"relu":    single(func(x matrix) matrix { return x.Mul(x.Step()) }),
	"sigmoid": single(func(x matrix) matrix { return hand.Sigmoid[complex128]{}.Forward(x) }),
	"mean":    single(matrix.Mean),    // of the features of each token: (n, d) → (n, 1)
	"max":     single(matrix.RowMax),  // of each row
	"softmax": single(matrix.Softmax), // of each row
	// causal hides later keys with −∞, and lower with 0.
	"causal": single(func(x matrix) matrix { return x.Add(masked(x.Rows)) }),
	"lower":  single(func(x matrix) matrix { return x.Mul(masked(x.Rows).Shift(1).Step()) }),
	"d":      {1, func(p *point, x []matrix) matrix { return p.differential(x[0]) }},
	// columns(x, a, b) are the columns from a up to b, and tokens(x, a, b) the rows.
	"columns": {3, func(p *point, x []matrix) matrix { return between(p, x, matrix.Columns) }},
	"tokens":  {3, func(p *point, x []matrix) matrix { return between(p, x, matrix.Tokens) }},
	"join":    {0, func(_ *point, x []matrix) matrix { return hand.Join(x...) }},       // side by side
	"stack":   {0, func(_ *point, x []matrix) matrix { return hand.JoinTokens(x...) }}, // below one another
}

// root returns √x. The root of a square such as 4 is a number.
func root(p *point, x []matrix) matrix {
	list, err := x[0].Exact(p.draw)
	if err != nil {
		return matrix{Err: err}
	}
	if len(list) == 1 {
		if n, ok := whole(list[0]); ok && math.Sqrt(n) == math.Floor(math.Sqrt(n)) {
			return p.number(math.Sqrt(n))
		}
	}
	return x[0].Sqrt()
}

func functionNames() string { return strings.Join(slices.Sorted(maps.Keys(functions)), ", ") }

func masked(n int) matrix { return hand.Lift[complex128](hand.CausalMask(n)) }

// between returns a part of x[0] from x[1] up to x[2], which must be whole numbers.
func between(p *point, x []matrix, cut func(x matrix, from, to int) matrix) matrix {
	var ends [2]int
	for i := range ends {
		list, err := x[i+1].Exact(p.draw)
		if err != nil {
			return matrix{Err: err}
		}
		n, ok := 0.0, len(list) == 1
		if ok {
			n, ok = whole(list[0])
		}
		if !ok {
			return failed("got a matrix (%d, %d), want a whole number where a part begins or ends", x[i+1].Rows,
				x[i+1].Cols)
		}
		ends[i] = int(n)
	}
	return cut(x[0], ends[0], ends[1])
}

// whole returns a as a number, if it is one of 0, 1, …, 1000.
func whole(a exact.Number) (n float64, ok bool) {
	n = a.Real
	return n, n >= 0 && n <= 1000 && n == math.Floor(n) && a.Value == exact.Of(int64(n))
}
