package main

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureLowRank shows a change of a matrix, and what adapters of two ranks learn of it.
func figureLowRank() (string, error) {
	const d, steps, rate = 6, 2000, 0.05
	strong := hand.NewMatrix(d, 1, 1., -1, 1, -1, 1, -1).MatMul(hand.NewMatrix(1, d, 1., 1, 1, -1, -1, -1))
	weak := hand.NewMatrix(d, 1, 0., 0, 0, 0, 1, 1).MatMul(hand.NewMatrix(1, d, 0.8, 0, 0, 0, 0, 0.8))
	want := strong.Add(weak)
	list := []heat{{"wanted", want, nil, nil, 1}}
	var err error
	for _, rank := range []int{1, 2} {
		x := hand.Zeros[float64](d, d)
		for i := range d {
			x.Data[i*d+i] = 1
		}
		down, up := hand.Sinusoids(d, 2, 10).Columns(0, rank), hand.Zeros[float64](rank, d)
		l := hand.LoRA[float64]{Down: down, Up: up, Scale: 1, To: d}
		for range steps {
			_, g := l.Backward(x, l.Forward(x).Sub(want))
			l.Down, l.Up = l.Down.Sub(g[0].Value.Scale(rate)), l.Up.Sub(g[1].Value.Scale(rate))
		}
		title := []string{"rank 1", "rank 2"}[rank-1]
		y := l.Forward(x)
		if list, err = append(list, heat{title, y, nil, nil, 1}), y.Err; err != nil {
			return "", err
		}
	}
	return heats(list...), nil
}
