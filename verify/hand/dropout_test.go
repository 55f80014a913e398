package hand_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// The rows of a mask are ordered by sequence, head, query. A head outside of it is an error.
func TestDropoutHead(t *testing.T) {
	mask := hand.NewMatrix(2*3*4, 1, make([]float64, 24)...)
	for i := range mask.Data {
		mask.Data[i] = float64(i)
	}
	d := hand.Dropout[float64]{Mask: mask}
	if got := d.Head(1, 2, 3, 4); got.Mask.Err != nil || got.Mask.Rows != 4 || got.Mask.At(0, 0) != 20 {
		t.Errorf("got %v, want rows 20 … 23", got.Mask)
	}
	for _, at := range [][4]int{
		{-1, 0, 3, 4}, {2, 0, 3, 4}, {0, -1, 3, 4}, {0, 3, 3, 4}, {0, 0, 0, 4},
		{0, 0, 4, 4}, {0, 0, 3, 0}, {0, 0, 3, 5}, {0, 0, 7, 4}, {0, 0, 1, 25},
	} {
		want := fmt.Sprintf("%d queries of head %d of %d, sequence %d, in a mask (24, 1)", at[3], at[1], at[2], at[0])
		got := d.Head(at[0], at[1], at[2], at[3])
		if got.Mask.Err == nil || !strings.HasSuffix(got.Mask.Err.Error(), want) {
			t.Errorf("got %v, want %s", got.Mask, want)
		}
	}
}
