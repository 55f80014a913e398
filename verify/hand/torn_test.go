package hand_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// torn is an invalid literal: it has fewer entries than its size requires.
var torn = matrix{Rows: 4, Cols: 6, Data: make([]float64, 5)}

// Invalid literals are errors of everything that reads them, on either side.
func TestTorn(t *testing.T) {
	x := fixture.Random("x", 4, 6)
	intact := hand.Embedding[float64]{Weight: x}
	flash := hand.Flash[float64]{Queries: 2, Keys: 2}
	places := hand.LearnedPositions[float64]{Weight: x, Positions: []int{0, 1, 2, 3}}
	left, _ := places.Backward(x, torn)
	for i, m := range []matrix{
		torn.Exp(), torn.RowMax(), torn.Transpose(), torn.Columns(0, 2), torn.Tokens(0, 2),
		torn.SumTokens(), torn.SumFeatures(), torn.Scale(2),
		hand.Lift[float64](torn), hand.JoinTokens(torn), hand.JoinTokens(x, torn), hand.JoinColumns(x, torn),
		torn.MatMul(x.Transpose()), x.Transpose().MatMul(torn), torn.Add(x), x.Add(torn),
		hand.Embedding[float64]{Weight: torn}.Forward([]int{0}), hand.Embedding[float64]{Weight: torn}.Forward(nil),
		intact.Backward([]int{0, 1, 2, 3}, torn)[0].Value, places.Forward(torn), left,
		hand.CrossEntropy[float64]{Targets: make([]int, 4)}.Forward(torn),
		flash.Forward(torn, x, x), flash.Forward(x, torn, x), flash.Forward(x, x, torn),
		hand.Flash[float64]{Queries: 2, Keys: 2, Mask: torn}.Forward(x, x, x),
		hand.RoPE[float64]{Positions: []int{0, 1, 2, 3}, Size: 2, Theta: 10}.Forward(torn),
		several(2, 2).Forward(torn, x, x),
	} {
		if m.Err == nil || m.Err.Error() != "hand: shapes do not fit: matrix (4, 6) from 5 values" || len(m.Data) != 0 {
			t.Errorf("%d: got %v", i, m)
		}
	}
	square := x.Columns(0, 4)
	at := hand.Site[float64]{Parameters: hand.Parameters[float64]{
		"c_attn.weight": x.Transpose(), "c_proj.weight": x.Tokens(0, 2), "e.weight": square, "f.weight": square,
	}}
	for i, want := range []string{"e.weight", "f.weight"} { // no memory is allocated for the sizes
		at.Parameters = maps.Clone(at.Parameters)
		at.Parameters[want] = matrix{Rows: -1, Cols: 4}
		_, g := at.Linformer(1, 1, 1).Backward(x, x)
		err := g[len(g)-3+i].Value.Err
		if err == nil || !strings.Contains(err.Error(), "matrix (-1, 4) from 0 values") {
			t.Errorf("%s: got %v", want, err)
		}
		at.Parameters[want] = square
	}
	bad := errors.New("bad")
	if y := (matrix{2, 1, []float64{1, 2}, bad}).Exp(); y.Err != bad || y.Rows != 0 || len(y.Data) != 0 {
		t.Errorf("got %v, want the error alone", y)
	}
	if y := (matrix{2, 1, nil, bad}).Exp(); y.Err != bad {
		t.Errorf("got %v, want the first error", y)
	}
	none := hand.Zeros[float64](0, 1)
	flash.Mask = matrix{Cols: 4, Data: []float64{1}}
	if y := flash.Forward(x.Tokens(0, 0), x, x); y.Err == nil {
		t.Error("a mask without queries is no error")
	}
	scan := hand.LinearScan[float64]{Features: hand.ReLU[float64]{}}
	if y := scan.Forward(none, none, matrix{Cols: 1, Data: []float64{1}}); y.Err == nil {
		t.Error("values without places are no error")
	}
	g := hand.Gradients[float64]{{Name: "a", Value: torn}, {Name: "b", Value: torn}, {Name: "c", Value: x}}
	if err := g.Err(); err == nil || err.Error() != "b: hand: shapes do not fit: matrix (4, 6) from 5 values" {
		t.Errorf("got %v", err)
	}
}
