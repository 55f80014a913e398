package small

import (
	"slices"
	"testing"
)

func TestSum(t *testing.T) {
	if got := sum([]int{1, 2, 9}, 5); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestPower(t *testing.T) {
	if got := power(9); got != 8 {
		t.Errorf("got %d, want 8", got)
	}
}

func TestClamp(t *testing.T) {
	if clamp(-1) != 0 || clamp(2) != 2 || clamp(0) != 0 {
		t.Errorf("got %d, %d and %d, want 0, 2 and 0", clamp(-1), clamp(2), clamp(0))
	}
}

func TestDifference(t *testing.T) {
	if got := difference(Vector{5}, Vector{3}, Vector{0}); !slices.Equal(got, Vector{2}) {
		t.Errorf("got %v, want 2", got)
	}
}

func TestFails(t *testing.T) { t.Error("is left out") }
