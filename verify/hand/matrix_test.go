package hand_test

import (
	"errors"
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
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
		"columns -1 to 2 of (3, 4)": x.Columns(-1, 2),
		"columns 3 to 2 of (3, 4)":  x.Columns(3, 2),
		"tokens -1 to 2 of (3, 4)":  x.Tokens(-1, 2),
		"tokens 2 to 1 of (3, 4)":   x.Tokens(2, 1),
		"tokens 2 to 4 of (3, 4)":   x.Tokens(2, 4),
		"matrix (-1, -1) from 1":    hand.NewMatrix(-1, -1, 1.0),
		"matrix (-2, 0) from 0":     hand.NewMatrix[float64](-2, 0),
		"matrix (0, -2) from 0":     hand.NewMatrix[float64](0, -2),
		"token -1 at 0":             hand.Embedding[float64]{Weight: x}.Forward([]int{-1, 2}),
		"token 3 at 1":              hand.Embedding[float64]{Weight: x}.Forward([]int{0, 3}),
		"delta (2, 3) for 2 tokens": hand.Embedding[float64]{Weight: x}.Backward(
			[]int{1, 1}, hand.Zeros[float64](2, 3),
		).Parameters()["weight"],
		"target 4 at 2":            hand.CrossEntropy[float64]{Targets: []int{0, 1, 4}}.Forward(x),
		"target -2 at 0":           hand.CrossEntropy[float64]{Targets: []int{-2, 1, 3}}.Forward(x),
		"2 targets for logits":     hand.CrossEntropy[float64]{Targets: []int{1, 3}}.Forward(x),
		"(3, 4) for 2 sequences":   hand.Heads[float64]{Batch: 2, Count: 2, Head: attention}.Forward(x, x, x),
		"for 1 sequences and 3":    hand.Heads[float64]{Batch: 1, Count: 3, Head: attention}.Forward(x, x, x),
		"tiles of 0 queries and 1": hand.Flash[float64]{Keys: 1}.Forward(x, x, x),
		"tiles of 1 queries and 0": hand.Flash[float64]{Queries: 1}.Forward(x, x, x),
		"3 tokens in 0 sequences":  hand.Elman[float64]{Input: hand.ReLU[float64]{}}.Forward(x),
		"3 tokens in 2 sequences":  hand.Elman[float64]{Input: hand.ReLU[float64]{}, Batch: 2}.Forward(x),
		"1 tokens at 2 positions": hand.LearnedPositions[float64]{
			Weight: x, Positions: []int{0, 1},
		}.Forward(x.Tokens(0, 1)),
		"rotate (3, 4) at 2": hand.RoPE[float64]{Positions: []int{0, 1}, Size: 2}.Forward(x),
		"in groups of 0":     hand.RoPE[float64]{Positions: []int{0, 1, 2}}.Forward(x),
		"in groups of 1":     hand.RoPE[float64]{Positions: []int{0, 1, 2}, Size: 1}.Forward(x),
		"in groups of 3": hand.RoPE[float64]{Positions: []int{0, 1, 2}, Size: 3}.Forward(
			hand.Zeros[float64](3, 6),
		),
		"in groups of 6":           hand.RoPE[float64]{Positions: []int{0, 1, 2}, Size: 6}.Forward(x),
		"join: 3 columns below 4":  hand.JoinTokens(x, y.Transpose().Columns(0, 3)),
		"matrix (2, 2) from 3":     hand.NewMatrix(2, 2, 1.0, 2, 3),
		"columns 5 to 6 of (5, 4)": x.Add(y.Columns(5, 6)),
		"matmul (4, 3), (4, 3)":    x.Transpose().MatMul(x.Transpose()),
		"delta (2, 4) for 1 tokens": hand.Embedding[float64]{Weight: x}.Backward(
			[]int{1}, y.Tokens(0, 2),
		).Parameters()["weight"],
	}
	for want, m := range tests {
		after := hand.Join(m.Transpose().Softmax().Columns(0, 1), x).Mean().Exp().SumTokens().MatMul(x).Scale(2)
		if !errors.Is(after.Err, hand.ErrShape) || !strings.Contains(after.Err.Error(), want) {
			t.Errorf("got error %v, want %s", after.Err, want)
		}
	}
}

func attention(_, _ int) hand.Head[float64] { return hand.Attention[float64]{} }

// The first error is carried through every operation, from either side.
func TestMatrixFirstError(t *testing.T) {
	type matrix = hand.Matrix[float64]
	bad := matrix{Err: errors.New("bad")}
	x, row := fixture.Random("x", 3, 4), fixture.Random("row", 1, 4)
	_, _, dv := hand.LinearScan[float64]{Features: hand.ReLU[float64]{}}.Backward(x, x, bad, x)
	for i, m := range []matrix{dv,
		bad.Exp(), bad.Log(), bad.Sqrt(), bad.Tanh(), bad.Erf(), bad.Step(), bad.RowMax(), bad.Softmax(),
		bad.LogSumExp(),
		bad.Scale(2), bad.Shift(2), bad.Square(), bad.SumTokens(), bad.Sum(), bad.Mean(), bad.Transpose(),
		bad.Columns(0, 3), bad.Tokens(0, 3), hand.Lift[float64](bad), bad.MatMul(x), x.MatMul(bad), bad.Add(x),
		x.Add(bad),
		bad.Sub(row.Add(hand.Zeros[float64](2, 5))), hand.JoinTokens(x, bad), hand.Join(x, bad),
		hand.JoinTokens(bad, x),
		hand.Heads[float64]{Batch: 2, Count: 3, Head: attention}.Forward(bad.SumTokens(), bad, bad),
		hand.Flash[float64]{Queries: 1, Keys: 1}.Forward(x, x, bad),
		hand.LinearScan[float64]{Features: hand.ReLU[float64]{}}.Forward(x, x, bad),
		hand.Embedding[float64]{Weight: bad}.Forward([]int{0}), x.Transpose().MatMul(x.MatMul(bad)),
		bad.MatMul(x.Columns(3, 9)),
	} {
		if m.Err != bad.Err {
			t.Errorf("%d: got error %v", i, m.Err)
		}
	}
	if bad.None() || x.None() || hand.Zeros[float64](0, 4).None() || hand.Zeros[float64](4, 0).None() ||
		!(matrix{}).None() {
		t.Error("None is the zero matrix alone")
	}
}

func TestMatrixBroadcast(t *testing.T) {
	x := hand.NewMatrix(2, 3, 1.0, 2, 3, 4, 5, 6)
	tests := map[string]struct{ got, want hand.Matrix[float64] }{
		"row":    {x.Add(hand.NewMatrix(1, 3, 10.0, 20, 30)), hand.NewMatrix(2, 3, 11.0, 22, 33, 14, 25, 36)},
		"column": {x.Mul(hand.NewMatrix(2, 1, 2.0, 3)), hand.NewMatrix(2, 3, 2.0, 4, 6, 12, 15, 18)},
		"number": {hand.NewMatrix(1, 1, 6.0).Div(x), hand.NewMatrix(2, 3, 6, 3, 2, 1.5, 1.2, 1)},
		"outer": {
			hand.NewMatrix(2, 1, 1.0, 2).Sub(hand.NewMatrix(1, 3, 1.0, 2, 3)),
			hand.NewMatrix(2, 3, 0.0, -1, -2, 1, 0, -1),
		},
		"mean":    {x.Mean(), hand.NewMatrix(2, 1, 2.0, 5)},
		"tokens":  {x.SumTokens(), hand.NewMatrix(1, 3, 5.0, 7, 9)},
		"join":    {hand.Join(x.Columns(2, 3), x.Columns(0, 2)), hand.NewMatrix(2, 3, 3.0, 1, 2, 6, 4, 5)},
		"step":    {hand.NewMatrix(1, 3, -1.0, 0, 1).Step(), hand.NewMatrix(1, 3, 0.0, 0, 1)},
		"largest": {hand.NewMatrix(2, 2, -3.0, -2, -5, -7).RowMax(), hand.NewMatrix(2, 1, -2.0, -5)},
		"no overflow": {
			hand.NewMatrix(2, 2, -999.0, -999, 999, 999).Softmax(), hand.NewMatrix(2, 2, 0.5, 0.5, 0.5, 0.5),
		},
		"empty":      {hand.NewMatrix[float64](0, 3), hand.Zeros[float64](0, 3)},
		"no tokens":  {x.Tokens(1, 1), hand.Zeros[float64](0, 3)},
		"narrow":     {hand.NewMatrix[float64](3, 0), hand.Zeros[float64](3, 0)},
		"positions":  {hand.Sinusoids(2, 2, 100), hand.NewMatrix(2, 2, 0, 1, math.Sin(1), math.Cos(1))},
		"transposed": {x.Transpose(), hand.NewMatrix(3, 2, 1.0, 4, 2, 5, 3, 6)},
	}
	for name, test := range tests {
		d, err := verify.Compare(hand.Parameters[float64]{name: test.got}, hand.Parameters[float64]{name: test.want})
		if err != nil || d[0].Distance != 0 {
			t.Errorf("%s: got %v, want %v (%v)", name, test.got, test.want, err)
		}
	}
}

// The error function of a complex number follows its derivative along the imaginary axis, also for an imaginary part of
// 1.
func TestErfOfComplex(t *testing.T) {
	for _, b := range []float64{1, 1e-30} {
		got := hand.NewMatrix(1, 1, complex(0.5, b)).Erf().At(0, 0)
		want := complex(math.Erf(0.5), b*2/math.SqrtPi*math.Exp(-0.25))
		if d := cmplx.Abs(got - want); !(d <= 1e-15*math.Abs(imag(want))) {
			t.Errorf("erf(0.5 + %gi): got %v, want %v", b, got, want)
		}
	}
}

// On the exact road the largest entry of a row is the largest of the real numbers, although no softmax depends on it. A
// matrix that was read joins no other one.
func TestRowsInTheField(t *testing.T) {
	d := exact.NewDraw(1)
	list := []exact.Number{d.Variable(-3), d.Variable(-1), d.Variable(2), d.Variable(5)}
	x := hand.NewExact[float64](d, 2, 2, list)
	if got, err := x.RowMax().Exact(d); err != nil || got[0].Value != list[1].Value || got[1].Value != list[3].Value {
		t.Errorf("got %v, %v, want %d and %d", got, err, list[1].Value, list[3].Value)
	}
	if y := hand.JoinTokens(x, hand.NewMatrix(1, 2, 0, math.NaN())); !errors.Is(y.Err, hand.ErrReadsData) {
		t.Errorf("got %v, want the error for entries that were read", y.Err)
	}
}
