package papers

import (
	"fmt"
	"testing"
)

// zeroReasons returns the reason for a distance of exactly 0 by the name of the test. INDEX.md explains the reasons.
func zeroReasons() map[string]string {
	out := map[string]string{}
	put := func(reason, paper string, equations ...int) {
		for _, i := range equations {
			out[fmt.Sprintf("Test%sEq%02d", paper, i)] = reason
		}
	}
	const moved, order, exact = "moved", "same order", "exact"
	put(moved, "Boue", 1, 2)
	put(order, "Boue", 3, 4, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 34, 37, 39, 47, 48, 50)
	put(exact, "Boue", 11)
	put(moved, "Xu", 22, 30, 52, 69)
	put(
		order, "Xu", 4, 8, 10, 11, 13, 15, 19, 20, 21, 25, 26, 28, 29, 33, 34, 35, 37, 45, 49, 53, 60, 61, 65, 67, 72,
		73, 75, 81,
	)
	put(exact, "Xu", 17)
	put(order, "Conti", 2, 5, 6, 12, 13, 14, 20, 23)
	put(moved, "Diab", 28, 38)
	put(order, "Diab", 1, 20, 26)
	put(moved, "Note", 9)
	put(order, "Note", 1, 5, 6, 12, 13, 17, 22, 23, 24, 32, 35)
	put(exact, "Note", 18, 20)
	return out
}

// withReason returns a distance in the format of INDEX.md, and its reason if it is 0.
func withReason(t *testing.T, test string, distance float64) string {
	t.Helper()
	if distance != 0 {
		return digits(distance)
	}
	reason, ok := zeroReasons()[test]
	if !ok && sameBits() {
		t.Errorf("%s: got a distance of exactly 0, want its reason in zeroReasons", test)
	}
	return "0, " + reason
}
