package hand_test

import (
	"errors"
	"fmt"
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
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, hand.ErrShape) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// Queries, keys, values, masks and parameters that do not fit one another, or the number of heads, are errors.
func TestShapesOfHeads(t *testing.T) {
	x := fixture.Random("x", 4, 6)
	flash := func(mask matrix) hand.Flash[float64] { return hand.Flash[float64]{Mask: mask, Queries: 2, Keys: 2} }
	wide, _, _ := flash(hand.Zeros[float64](5, 4)).Backward(x, x.Tokens(0, 0), x.Tokens(0, 0), x)
	scan := hand.LinearScan[float64]{Features: hand.EluPlusOne[float64]{}}
	short, _, _ := scan.Backward(x, x, x, x.Tokens(0, 3))
	absorbed := func(heads, qk, v, o int) layer {
		return hand.MLAAbsorbed[float64]{
			Wq: hand.Zeros[float64](4, qk), Down: hand.Zeros[float64](6, 6), UpK: hand.Zeros[float64](6, qk),
			UpV: hand.Zeros[float64](6, v), Wo: hand.Zeros[float64](o, 6), Batch: 1, Heads: heads,
		}
	}
	back, _ := absorbed(0, 6, 6, 6).Backward(x, x)
	rotary := func(count, q, qR, k int) matrix {
		to := func(width int) layer { return hand.Linear[float64]{Weight: hand.Zeros[float64](6, width)} }
		return hand.MLARoPE[float64]{
			to(6), to(q), to(qR), to(6), to(k), to(3), to(6), false, hand.ReLU[float64]{}, several(1, count),
			to(6), hand.Dropout[float64]{},
		}.Forward(x)
	}
	gathered, _ := hand.GatherTokens[float64]{}.Backward(x, x)
	half := hand.NewPartial(x, matrix{})
	row := x.Tokens(0, 1)
	keys, _ := hand.Cache[float64]{K: row}.Attend(row, row, row)
	values, _ := hand.Cache[float64]{V: row}.Attend(row, row, row)
	checkShapes(t, []shapeCase{
		{"(4, 6) for 0 sequences and 2 heads", several(0, 2).Forward(x, x, x)},
		{"(4, 6) for -1 sequences and 2 heads", several(-1, 2).Forward(x, x, x)},
		{"(4, 6) for 2 sequences and 0 heads", several(2, 0).Forward(x, x, x)},
		{"(0, 6) for 1 sequences and 2 heads", several(1, 2).Forward(x.Tokens(0, 0), x, x)},
		{"", several(4, 6).Forward(x, x, x)},
		{"queries (4, 5), keys (4, 6), values (4, 6), mask (0, 0)", flash(matrix{}).Forward(x.Columns(0, 5), x, x)},
		{"queries (4, 6), keys (4, 6), values (3, 6), mask (0, 0)", flash(matrix{}).Forward(x, x, x.Tokens(0, 3))},
		{"queries (4, 6), keys (4, 6), values (4, 6), mask (5, 4)", flash(hand.Zeros[float64](5, 4)).Forward(x, x, x)},
		{"queries (4, 6), keys (4, 6), values (4, 6), mask (4, 5)", flash(hand.Zeros[float64](4, 5)).Forward(x, x, x)},
		{"queries (4, 6), keys (0, 6), values (0, 6), mask (5, 4)", wide},
		{"", flash(hand.Zeros[float64](4, 4)).Forward(x, x, x)},
		{"3 queries, 4 keys, 4 values, 4 Δ", scan.Forward(x.Tokens(0, 3), x, x)},
		{"4 queries, 3 keys, 4 values, 4 Δ", scan.Forward(x, x.Tokens(0, 3), x)},
		{"4 queries, 4 keys, 3 values, 3 Δ", scan.Forward(x, x, x.Tokens(0, 3))},
		{"4 queries, 4 keys, 4 values, 3 Δ", short},
		{"(4, 5), (6, 6) and (6, 6) for 2 heads", absorbed(2, 5, 6, 6).Forward(x)},
		{"(4, 6), (6, 5) and (5, 6) for 2 heads", absorbed(2, 6, 5, 5).Forward(x)},
		{"(4, 6), (6, 6) and (4, 6) for 2 heads", absorbed(2, 6, 6, 4).Forward(x)},
		{"(4, 6), (6, 6) and (6, 6) for 0 heads", absorbed(0, 6, 6, 6).Forward(x)},
		{"(4, 6), (6, 6) and (6, 6) for 0 heads", back},
		{"heads: hand: shapes do not fit: (4, 6) for 0 heads", rotary(0, 6, 6, 6)},
		{"heads: hand: shapes do not fit: (4, 6) for 4 heads", rotary(4, 6, 6, 6)},
		{"(4, 6) beside (4, 5) in 2 heads", rotary(2, 6, 5, 6)},
		{"(4, 5) beside (4, 6) in 2 heads", rotary(2, 6, 6, 5)},
		{"(4, 6) for 0 sequences and 1 heads", hand.GatherTokens[float64]{}.Forward(x)},
		{"(4, 6) for 0 sequences and 1 heads", gathered},
		{"mul (0, 0), (4, 1)", half.Merge(hand.NewPartial(x, x.Transpose())).Out},
		{"mul (0, 0), (4, 1)", hand.NewPartial(x, x.Transpose()).Merge(half).Out},
		{"join: 6 columns below 0", keys},
		{"join: 6 columns below 0", values},
	})
}

func several(batch, count int) hand.Heads[float64] {
	return hand.Heads[float64]{Batch: batch, Count: count, Head: attention}
}

// Heads, groups and columns that do not divide one another are errors. An operand's own error is kept.
func TestShapesOfGroups(t *testing.T) {
	x, wide, torn := fixture.Random("x", 4, 6), fixture.Random("wide", 4, 12), hand.Zeros[float64](-1, 2)
	grouped := func(count, groups int) hand.Heads[float64] {
		l := several(1, count)
		l.Groups = groups
		return l
	}
	back := func(l hand.Heads[float64]) matrix {
		_, dk, _ := l.Backward(x, x, x, x)
		return dk
	}
	at := hand.Site[float64]{Parameters: hand.Parameters[float64]{
		"c_attn.weight": fixture.Random("c_attn", 6, 6), "c_proj.weight": fixture.Random("c_proj", 2, 6),
	}}
	checkShapes(t, []shapeCase{
		{"", grouped(6, 3).Forward(x, x.Columns(0, 3), x)},
		{"", grouped(6, 2).Forward(x, x.Columns(0, 2), x)},
		{"", grouped(6, 6).Forward(x, x, x)},
		{"(4, 12) in 6 heads, (4, 12) in 4 groups", grouped(6, 4).Forward(wide, wide, wide)},
		{"(4, 6) in 6 heads, (4, 6) in 12 groups", grouped(6, 12).Forward(x, x, x)},
		{"(4, 6) in 6 heads, (4, 6) in -1 groups", back(grouped(6, -1))},
		{"(4, 6) in 4 heads, (4, 6) in 2 groups", grouped(4, 2).Forward(x, x, x)},
		{"(4, 6) in 1099511627776 heads, (4, 6) in 2 groups", back(grouped(1<<40, 2))},
		{"(4, 6) in 6 heads, (4, 5) in 2 groups", grouped(6, 2).Forward(x, x, x.Columns(0, 5))},
		{"(4, 6) in 6 heads, (4, 1) in 2 groups", grouped(6, 2).Forward(x, x.Columns(0, 1), x)},
		{"(4, 6) in 0 heads, (4, 6) in 2 groups", grouped(0, 2).Forward(x, x, x)},
		{"(4, 2) in 0 heads, (4, 2) in 2 groups", at.SelfAttention(grouped(0, 2), 2, nil).Forward(x)},
		{"zeros (-1, 2)", grouped(6, 2).Forward(x, torn, x)},
		{"zeros (-1, 2)", grouped(6, 2).Forward(torn, x, x)},
	})
}

// Queries, keys and values have at least one column each.
func TestPackedWidths(t *testing.T) {
	at := hand.Site[float64]{Parameters: hand.Parameters[float64]{"weight": fixture.Random("weight", 4, 6)}}
	x := fixture.Random("x", 3, 4)
	var cases []shapeCase
	for _, w := range [][2]int{{1, 1}, {4, 1}, {1, 4}, {2, 2}} {
		cases = append(cases, shapeCase{"", at.Packed(w[0], w[1]).Forward(x)})
	}
	for _, w := range [][2]int{
		{0, 1}, {-1, 1}, {1, 0}, {1, -1}, {5, 1}, {1, 5}, {3, 3}, {6, 1}, {7, 1}, {1, math.MaxInt}, {math.MaxInt, 1},
	} {
		want := fmt.Sprintf("[q | k | v] of %d, %d and more columns in (4, 6)", w[0], w[1])
		cases = append(cases, shapeCase{want, at.Packed(w[0], w[1]).Forward(x)})
	}
	for _, w := range [][2]int{{0, 1}, {1, 0}, {5, 1}, {1, 5}, {3, 3}, {7, 1}} {
		l := hand.PackedQKV[float64]{Layer: hand.ReLU[float64]{}, Queries: w[0], Keys: w[1]}
		want := fmt.Sprintf("[q | k | v] of %d, %d and more columns in 6", w[0], w[1])
		cases = append(cases, shapeCase{want, l.Forward(fixture.Random("x", 3, 6))})
	}
	checkShapes(t, cases)
	err := at.At("nowhere").Packed(1, 1).Forward(x).Err
	if err == nil || !strings.Contains(err.Error(), "no parameter nowhere.weight") {
		t.Errorf("got %v", err)
	}
}
