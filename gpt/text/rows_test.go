package text

import (
	"iter"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows have their own targets, and short ones are padded. Other lengths and ids are refused with the row.
func TestRows(t *testing.T) {
	list := func(rows ...[]int) iter.Seq2[[]int, []int] { // tokens, targets, tokens, …
		return func(yield func(_, _ []int) bool) {
			for i := 0; i < len(rows) && yield(rows[i], rows[i+1]); i += 2 {
			}
		}
	}
	s, err := Rows(list([]int{3, 1, 4}, []int{Ignore, 5, 9}, []int{2, 6}, []int{8, Ignore}), 3)
	if err != nil || s.Len() != 7 {
		t.Fatalf("got %v (%v), want 7 tokens", s, err)
	}
	x, y := make([]int, 6), make([]int, 6)
	for rows, err := range Blocks(s, x, y, 3) {
		if err != nil || rows != 2 {
			t.Errorf("got %d rows (%v), want 2", rows, err)
		}
	}
	if diff := cmp.Diff([][]int{x, y}, [][]int{{3, 1, 4, 2, 6, 0}, {Ignore, 5, 9, 8, Ignore, Ignore}}); diff != "" {
		t.Error(diff)
	}
	for name, rows := range map[string][][]int{
		"rows: row 1: got 4 tokens and 4 targets, want the same number, 1 to block_size 3": {
			{1}, {1}, {1, 2, 3, 4}, {1, 2, 3, 4},
		},
		"rows: row 0: got 0 tokens and 0 targets, want the same number, 1 to block_size 3":           {{}, {}},
		"rows: row 0: got 2 tokens and 1 targets, want the same number, 1 to block_size 3":           {{1, 2}, {1}},
		"rows: row 0: position 1: got token -1 and target 2, want 0 to 2147483647, or the target -1": {{1, -1}, {1, 2}},
		"rows: row 0: position 0: got token 1 and target -2, want 0 to 2147483647, or the target -1": {{1}, {-2}},
	} {
		if _, err := Rows(list(rows...), 3); err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	for _, s := range []int{0, -1, math.MaxInt} {
		if _, err := Rows(list(), s); err == nil {
			t.Errorf("block_size %d: got no error", s)
		}
	}
	if _, err := Rows(nil, 3); err == nil {
		t.Error("got rows of nil")
	}
}
