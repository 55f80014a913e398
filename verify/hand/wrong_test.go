package hand_test

import (
	"errors"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// What would compute something is an error where it is not what was asked for: another sequence's mask, queries without
// values, a window of no token.
func TestWrongSizesAreErrors(t *testing.T) {
	ones := func(rows, cols int) hand.Matrix[float64] { return hand.Zeros[float64](rows, cols).Shift(1) }
	drop := hand.Dropout[float64]{Mask: ones(8, 3)}
	scan := hand.LinearScan[float64]{Features: hand.ReLU[float64]{}}
	_, _, dv := scan.Backward(ones(3, 2), ones(2, 2), ones(2, 2), ones(2, 2))
	for name, m := range map[string]hand.Matrix[float64]{
		"head 2 of 2":                 drop.Head(0, 2, 2, 2).Mask,
		"head -1":                     drop.Head(1, -1, 2, 2).Mask,
		"sequence -1":                 drop.Head(-1, 1, 2, 2).Mask,
		"3 queries of 2 values":       scan.Forward(ones(3, 2), ones(2, 2), ones(2, 2)),
		"3 queries of 2 values, back": dv,
		"a window of 0":               hand.BigBirdMask(3, 0, nil, make([][]int, 3)),
	} {
		if !errors.Is(m.Err, hand.ErrShape) {
			t.Errorf("%s: got (%d, %d), error %v", name, m.Rows, m.Cols, m.Err)
		}
	}
}
