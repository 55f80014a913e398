package verify

import (
	"errors"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Every missing parameter in a comparison is an error.
func TestCompareCoverage(t *testing.T) {
	full := func() hand.Parameters[float64] {
		return hand.Parameters[float64]{"w": fixture.Random("w", 2, 3), "b": fixture.Random("b", 1, 3)}
	}
	tests := map[string]func(got, want hand.Parameters[float64]){
		"missing": func(got, want hand.Parameters[float64]) { delete(got, "b") },
		"extra":   func(got, want hand.Parameters[float64]) { delete(want, "b") },
		"shape":   func(got, want hand.Parameters[float64]) { got["w"] = got["w"].Transpose() },
		"failed":  func(got, want hand.Parameters[float64]) { got["w"] = got["w"].MatMul(got["w"]) },
	}
	for name, break_ := range tests {
		got, want := full(), full()
		break_(got, want)
		if _, err := Compare(got, want); !errors.Is(err, ErrCoverage) {
			t.Errorf("%s: got error %v, want %v", name, err, ErrCoverage)
		}
	}
	if ds, err := Compare(full(), full()); err != nil || len(ds) != 2 || !ds[0].OK() || !ds[1].OK() {
		t.Errorf("equal gradients: got %v, %v", ds, err)
	}
}

func TestCompareTolerance(t *testing.T) {
	tests := map[string]struct {
		by float64 // added to one entry of b, with a largest gradient of 1
		ok bool
	}{
		"rounding":     {1e-16, true},
		"at the floor": {0.9e-13, true}, // b is 1e-9 everywhere: φG = 1e-3 is its scale
		"above":        {1.1e-13, false},
		"wrong":        {1e-9, false},
		"NaN":          {math.NaN(), false},
		"Inf":          {math.Inf(1), false},
	}
	for name, test := range tests {
		want := hand.Parameters[float64]{
			"w": hand.NewMatrix(1, 2, 1, -0.5), "b": hand.NewMatrix(1, 3, 1e-9, 1e-9, 1e-9),
		}
		got := hand.Parameters[float64]{"w": want["w"], "b": hand.NewMatrix(1, 3, 1e-9, 1e-9+test.by, 1e-9)}
		ds, err := Compare(got, want)
		if err != nil {
			t.Fatal(err)
		}
		if d := Worst(ds); d.OK() != test.ok {
			t.Errorf("%s: got distance %v, want OK %v", name, d.Distance, test.ok)
		} else if !test.ok && (d.Name != "b" || d.Col != 1) {
			t.Errorf("%s: got %s (%d, %d), want b (0, 1)", name, d.Name, d.Row, d.Col)
		}
	}
}

func TestStructuralZero(t *testing.T) {
	for v, want := range map[float64]bool{1e-16: true, -1e-10: false, math.NaN(): false} {
		if got := StructuralZero(hand.NewMatrix(1, 2, 0, v), 1); got != want {
			t.Errorf("%v: got %v, want %v", v, got, want)
		}
	}
}
