package hand_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func TestMatrixErrorsStick(t *testing.T) {
	x, y := fixture.Random("x", 3, 4), fixture.Random("y", 5, 4)
	tests := map[string]hand.Matrix[float64]{
		"matmul (3, 4), (5, 4)":     x.MatMul(y),
		"add (3, 4), (5, 4)":        x.Add(y),
		"sub (3, 4), (2, 1)":        x.Sub(hand.Zeros[float64](2, 1)),
		"mul (3, 4), (1, 3)":        x.Mul(hand.Zeros[float64](1, 3)),
		"div (3, 4), (0, 0)":        x.Div(hand.Matrix[float64]{}),
		"columns 2 to 5 of (3, 4)":  x.Columns(2, 5),
		"tokens -1 to 2 of (3, 4)":  x.Tokens(-1, 2),
		"join: 3 columns below 4":   hand.JoinTokens(x, y.Transpose().Columns(0, 3)),
		"matrix (2, 2) from 3":      hand.NewMatrix(2, 2, 1.0, 2, 3),
		"columns 5 to 6 of (5, 4)":  x.Add(y.Columns(5, 6)),
		"matmul (4, 3), (4, 3)":     x.Transpose().MatMul(x.Transpose()),
		"delta (2, 4) for 1 tokens": hand.Embedding[float64]{Weight: x}.Backward([]int{1}, y.Tokens(0, 2)).Parameters()["weight"],
	}
	for want, m := range tests {
		after := hand.JoinColumns(m.Transpose().Softmax().Columns(0, 1), x).Mean().Exp().SumTokens().MatMul(x).Scale(2)
		if !errors.Is(after.Err, hand.ErrShape) || !strings.Contains(after.Err.Error(), want) {
			t.Errorf("got error %v, want %s", after.Err, want)
		}
	}
}

func TestMatrixBroadcast(t *testing.T) {
	x := hand.NewMatrix(2, 3, 1.0, 2, 3, 4, 5, 6)
	tests := map[string]struct{ got, want hand.Matrix[float64] }{
		"row":        {x.Add(hand.NewMatrix(1, 3, 10.0, 20, 30)), hand.NewMatrix(2, 3, 11.0, 22, 33, 14, 25, 36)},
		"column":     {x.Mul(hand.NewMatrix(2, 1, 2.0, 3)), hand.NewMatrix(2, 3, 2.0, 4, 6, 12, 15, 18)},
		"number":     {hand.NewMatrix(1, 1, 6.0).Div(x), hand.NewMatrix(2, 3, 6, 3, 2, 1.5, 1.2, 1)},
		"outer":      {hand.NewMatrix(2, 1, 1.0, 2).Sub(hand.NewMatrix(1, 3, 1.0, 2, 3)), hand.NewMatrix(2, 3, 0.0, -1, -2, 1, 0, -1)},
		"mean":       {x.Mean(), hand.NewMatrix(2, 1, 2.0, 5)},
		"tokens":     {x.SumTokens(), hand.NewMatrix(1, 3, 5.0, 7, 9)},
		"join":       {hand.JoinColumns(x.Columns(2, 3), x.Columns(0, 2)), hand.NewMatrix(2, 3, 3.0, 1, 2, 6, 4, 5)},
		"transposed": {x.Transpose(), hand.NewMatrix(3, 2, 1.0, 4, 2, 5, 3, 6)},
	}
	for name, test := range tests {
		d, err := verify.Compare(hand.Parameters[float64]{name: test.got}, hand.Parameters[float64]{name: test.want})
		if err != nil || d[0].Distance != 0 {
			t.Errorf("%s: got %v, want %v (%v)", name, test.got, test.want, err)
		}
	}
}
