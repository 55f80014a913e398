package hand_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

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
	checkShapes(t, cases)
	err := at.At("nowhere").Packed(1, 1).Forward(x).Err
	if err == nil || !strings.Contains(err.Error(), "no parameter nowhere.weight") {
		t.Errorf("got %v", err)
	}
}
