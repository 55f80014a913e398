package verify

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestMatrixErrorsStick(t *testing.T) {
	x, y := Random("x", 3, 4), Random("y", 5, 4)
	tests := map[string]Matrix[float64]{
		"matmul (3, 4), (5, 4)":     x.MatMul(y),
		"add (3, 4), (5, 4)":        x.Add(y),
		"sub (3, 4), (2, 1)":        x.Sub(Zeros[float64](2, 1)),
		"mul (3, 4), (1, 3)":        x.Mul(Zeros[float64](1, 3)),
		"div (3, 4), (0, 0)":        x.Div(Matrix[float64]{}),
		"columns 2 to 5 of (3, 4)":  x.Columns(2, 5),
		"tokens -1 to 2 of (3, 4)":  x.Tokens(-1, 2),
		"join: 3 columns below 4":   JoinTokens(x, y.Transpose().Columns(0, 3)),
		"matrix (2, 2) from 3":      NewMatrix(2, 2, 1.0, 2, 3),
		"columns 5 to 6 of (5, 4)":  x.Add(y.Columns(5, 6)),
		"matmul (4, 3), (4, 3)":     x.Transpose().MatMul(x.Transpose()),
		"delta (2, 4) for 1 tokens": EmbeddingBackward(x, []int{1}, y.Tokens(0, 2)),
	}
	for want, m := range tests {
		after := JoinColumns(m.Transpose().Softmax().Columns(0, 1), x).Mean().Exp().SumTokens().MatMul(x).Scale(2)
		if !errors.Is(after.Err, ErrShape) || !strings.Contains(after.Err.Error(), want) {
			t.Errorf("got error %v, want %s", after.Err, want)
		}
	}
}

func TestMatrixBroadcast(t *testing.T) {
	x := NewMatrix(2, 3, 1.0, 2, 3, 4, 5, 6)
	tests := map[string]struct{ got, want Matrix[float64] }{
		"row":    {x.Add(NewMatrix(1, 3, 10.0, 20, 30)), NewMatrix(2, 3, 11.0, 22, 33, 14, 25, 36)},
		"column": {x.Mul(NewMatrix(2, 1, 2.0, 3)), NewMatrix(2, 3, 2.0, 4, 6, 12, 15, 18)},
		"number": {NewMatrix(1, 1, 6.0).Div(x), NewMatrix(2, 3, 6, 3, 2, 1.5, 1.2, 1)},
		"outer":  {NewMatrix(2, 1, 1.0, 2).Sub(NewMatrix(1, 3, 1.0, 2, 3)), NewMatrix(2, 3, 0.0, -1, -2, 1, 0, -1)},
		"mean":   {x.Mean(), NewMatrix(2, 1, 2.0, 5)},
		"tokens": {x.SumTokens(), NewMatrix(1, 3, 5.0, 7, 9)},
		"join":   {JoinColumns(x.Columns(2, 3), x.Columns(0, 2)), NewMatrix(2, 3, 3.0, 1, 2, 6, 4, 5)},
		"turn":   {x.Transpose(), NewMatrix(3, 2, 1.0, 4, 2, 5, 3, 6)},
	}
	for name, test := range tests {
		d, err := Compare(Parameters[float64]{name: test.got}, Parameters[float64]{name: test.want})
		if err != nil || d[0].Distance != 0 {
			t.Errorf("%s: got %v, want %v (%v)", name, test.got, test.want, err)
		}
	}
}

// What has failed has no size, so that no test takes it for zero.
func TestFrobeniusOfAFailure(t *testing.T) {
	if got := frobenius(ones(2, 3).MatMul(ones(2, 3))); !math.IsNaN(got) {
		t.Errorf("got %v, want NaN", got)
	}
}
