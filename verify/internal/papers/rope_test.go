package papers

import (
	"errors"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// TestI08IsAnOrthogonalMatrix checks that the layer is linear in the row of a token, y = xQ with QQᵗ the identity, and
// its backward pass is Δ Qᵗ.
func TestI08IsAnOrthogonalMatrix(t *testing.T) {
	const width, at = 10, 7 // two groups of 4, and 2 columns that pass
	identity := permutation(natural(width)...)
	r := rotary{Groups: 2, Size: 4, Theta: 100}
	for range width {
		r.Positions = append(r.Positions, at)
	}
	q := ropeForward(identity, r)
	near(t, "QQᵗ", q.MatMul(q.Transpose()), identity)
	x, delta := fixture.Random("x", width, width), fixture.Random("delta", width, width)
	near(t, "y", ropeForward(x, r), x.MatMul(q))
	near(t, "Δx", ropeBackward(r, delta), delta.MatMul(q.Transpose()))
	for i, want := range map[int]float64{0: math.Cos(at), 2: math.Cos(at / 10.), 6: math.Cos(at / 10.), 8: 1} { // φ = t·100^(−2i/4)
		if got := q.At(i, i); !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("entry %d of the diagonal: got %v, want %v", i, got, want)
		}
	}
}

// TestI08Shapes checks that wrong shapes are errors.
func TestI08Shapes(t *testing.T) {
	x := fixture.Random("x", 3, 8)
	for name, r := range map[string]rotary{
		"odd":       {Positions: []int{0, 1, 2}, Groups: 1, Size: 3, Theta: 100},
		"positions": {Positions: []int{0, 1}, Groups: 1, Size: 4, Theta: 100},
		"groups":    {Positions: []int{0, 1, 2}, Groups: 3, Size: 4, Theta: 100},
	} {
		if y := ropeForward(x, r); !errors.Is(y.Err, hand.ErrShape) {
			t.Errorf("%s: got %v, want %v", name, y.Err, hand.ErrShape)
		}
	}
}
