package scaling

import (
	"math"

	"github.com/pkg/errors"
)

// A Law is a formula for the loss of a model with N parameters after D tokens: L(N, D) = E + A·N^−α + B·D^−β.
type Law struct {
	E, A, B     float64
	Alpha, Beta float64
}

// At returns the loss at n parameters and d tokens.
func (l Law) At(n, d float64) float64 {
	return l.E + l.A*math.Pow(n, -l.Alpha) + l.B*math.Pow(d, -l.Beta)
}

// Best returns the parameters and tokens with the smallest loss among those that cost 6·N·D FLOPs.
func (l Law) Best(flops float64) (n, d float64, err error) {
	for _, v := range []quantity{{"flops", flops}, {"A", l.A}, {"B", l.B}, {"alpha", l.Alpha}, {"beta", l.Beta}} {
		if err := v.check(); err != nil {
			return 0, 0, err
		}
	}
	product := math.Log(flops / 6)
	// The loss at log N = x and log D = product − x is smallest where α·A·N^−α = β·B·D^−β.
	ratio := math.Log(l.Alpha) + math.Log(l.A) - math.Log(l.Beta) - math.Log(l.B)
	x := (ratio + l.Beta*product) / (l.Alpha + l.Beta)
	return math.Exp(x), math.Exp(product - x), nil
}

// A quantity is a number with the name that errors give it.
type quantity struct {
	name  string
	value float64
}

// check returns an error unless the value is positive and finite.
func (q quantity) check() error {
	if !(q.value > 0 && !math.IsInf(q.value, 1)) {
		return errors.Errorf("%s: got %g, want a positive finite number", q.name, q.value)
	}
	return nil
}
