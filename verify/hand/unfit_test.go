package hand_test

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

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
