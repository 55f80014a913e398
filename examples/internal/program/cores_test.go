package program

import "testing"

func TestCores(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-1": 2, "0-3,8,10-11": 7, "": 0, "none": 0} {
		if got := coresIn(list); got != want {
			t.Errorf("%q: got %d, want %d", list, got, want)
		}
	}
}
