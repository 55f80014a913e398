package main

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureRecall shows how well pairs of keys and values are read from a state of fixed size.
func figureRecall() (string, error) {
	const features, most, sheets = 16, 40, 20
	random := rand.New(rand.NewPCG(12, 0))
	draw := func() hand.Matrix[float64] {
		x := hand.Zeros[float64](1, features)
		for i := range x.Data {
			x.Data[i] = random.NormFloat64()
		}
		return x.Div(x.Square().Sum().Sqrt())
	}
	add, delta := curve{name: "adding"}, curve{name: "the delta rule"}
	for n := 1; n <= most; n++ {
		var errors [2]float64
		for range sheets {
			s := hand.Zeros[float64](features, features)
			t := s
			var keys, values []hand.Matrix[float64]
			for range n {
				k, v := draw(), draw()
				keys, values = append(keys, k), append(values, v)
				s = s.Add(k.Transpose().MatMul(v))
				t = t.Add(k.Transpose().MatMul(v.Sub(k.MatMul(t))))
			}
			k, v := hand.JoinTokens(keys...), hand.JoinTokens(values...)
			for i, state := range []hand.Matrix[float64]{s, t} {
				wrong := k.MatMul(state).Sub(v).Square().SumTokens().Sum()
				if wrong.Err != nil {
					return "", wrong.Err
				}
				errors[i] += wrong.At(0, 0) / float64(n*sheets)
			}
		}
		add.x, add.y = append(add.x, float64(n)), append(add.y, errors[0])
		delta.x, delta.y = append(delta.x, float64(n)), append(delta.y, errors[1])
	}
	return chart("pairs", "squared error", add, delta), nil
}
