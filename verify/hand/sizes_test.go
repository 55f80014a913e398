package hand_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

type (
	matrix = hand.Matrix[float64]
	layer  = hand.Layer[float64]
)

// Impossible sizes of matrices, masks, waves and rotations are errors with both numbers.
func TestSizes(t *testing.T) {
	x := fixture.Random("x", 4, 6)
	rope := func(theta float64) matrix {
		return hand.RoPE[float64]{Positions: []int{0, 1, 2, 3}, Size: 2, Theta: theta}.Forward(x)
	}
	score := func(l layer) matrix { return l.Forward(x) }
	none, some := make([][]int, 3), make([]int, 4)
	checkShapes(t, []shapeCase{
		{"zeros (1073741825, 0)", hand.Zeros[float64](1<<30+1, 0)},
		{"zeros (0, 1073741825)", hand.Zeros[float64](0, 1<<30+1)},
		{"zeros (2, 536870913)", hand.Zeros[float64](2, 1<<29+1)},
		{"zeros (-1, 1)", hand.Zeros[float64](-1, 1)},
		{"zeros (1, -1)", hand.Zeros[float64](1, -1)},
		{"matrix (4294967296, 4294967296) from 0 values", matrix{Rows: 1 << 32, Cols: 1 << 32}.Exp()},
		{"", hand.Zeros[float64](1<<30, 0)},
		{"", hand.Zeros[float64](0, 1<<30)},
		{"a window of 0 tokens", hand.WindowMask(3, 0)},
		{"", hand.WindowMask(3, 1)},
		{"a window of 0 tokens", hand.BigBirdMask(3, 0, nil, none)},
		{"random keys of 3 queries, want 1 or more and 4", hand.BigBirdMask(4, 1, nil, none)},
		{"token -1, want 0 … 2", hand.BigBirdMask(3, 1, []int{-1}, none)},
		{"token 3, want 0 … 2", hand.BigBirdMask(3, 1, nil, [][]int{{0}, {3}, nil})},
		{"", hand.BigBirdMask(3, 1, []int{0, 2}, none)},
		{"a dilation of 0", hand.DilatedMask(3, 1, 0)},
		{"a window of 0 tokens", hand.DilatedMask(3, 0, 1)},
		{"", hand.DilatedMask(3, 1, 1)},
		{"token -1, want 0 … 2", hand.GlobalMask(3, []int{-1})},
		{"token 3, want 0 … 2", hand.GlobalMask(3, []int{3})},
		{"", hand.GlobalMask(3, []int{0, 2})},
		{"-1 of 3 keys are not padding", hand.SourceMask(2, 3, -1)},
		{"4 of 3 keys are not padding", hand.SourceMask(2, 3, 4)},
		{"", hand.SourceMask(2, 3, 0)},
		{"head 0, want 1 … 2", hand.ALiBiMask(3, 0, 2)},
		{"head 3, want 1 … 2", hand.ALiBiMask(3, 3, 2)},
		{"waves in 3 columns", hand.Sinusoids(2, 3, 10)},
		{"with base 0,", hand.Sinusoids(2, 2, 0)},
		{"with base +Inf,", hand.Sinusoids(2, 2, math.Inf(1))},
		{"with base NaN,", hand.Sinusoids(2, 2, math.NaN())},
		{"", hand.Sinusoids(2, 2, math.MaxFloat64)},
		{"", hand.Sinusoids(2, 2, 0.5)},
		{"rotate with base 0,", rope(0)},
		{"rotate with base +Inf,", rope(math.Inf(1))},
		{"", rope(math.MaxFloat64)},
		{"", rope(0.5)},
		{"reduction 2, want Mean or Sum", score(hand.CrossEntropy[float64]{Targets: some, Reduction: 2})},
		{"reduction -1, want Mean or Sum", score(hand.CrossEntropy[float64]{Targets: some, Reduction: -1})},
		{"2 targets, all of them ignored", score(hand.CrossEntropy[float64]{Targets: []int{hand.Ignore, hand.Ignore}})},
		{"", score(hand.CrossEntropy[float64]{Targets: some})},
	})
	for _, at := range [][2]int{{-1, 0}, {4, 0}, {0, -1}, {0, 6}, {1, -1}} {
		if got := x.At(at[0], at[1]); !math.IsNaN(got) {
			t.Errorf("at %v: got %g, want NaN", at, got)
		}
	}
	if got := hand.NewMatrix(2, 2, 1.0); got.Err == nil || got.Data != nil {
		t.Errorf("got %v", got)
	}
	if (matrix{Data: []float64{1}}).None() {
		t.Error("a number without a place is not nothing")
	}
	if got := hand.Positions(-1, 3); got != nil {
		t.Errorf("got %v", got)
	}
}

// shapeCase is a matrix and its expected error, or "" for none.
type shapeCase struct {
	want string
	got  matrix
}

func checkShapes(t *testing.T, cases []shapeCase) {
	t.Helper()
	for _, c := range cases {
		err := c.got.Err
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, hand.ErrShape) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
