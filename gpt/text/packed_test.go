package text

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Ids are stored in two or four bytes, or unchanged if they do not fit, and are read back unchanged.
func TestPack(t *testing.T) {
	for want, ids := range map[string][]int{
		"text.Tokens":         {},
		"text.packed[uint16]": {0, math.MaxUint16, 7},
		"text.packed[int32]":  {math.MaxUint16 + 1, math.MaxInt32, 0},
	} {
		got := pack(ids)
		if kind := fmt.Sprintf("%T", got); kind != want || got.Len() != len(ids) {
			t.Errorf("%v: got %d tokens in a %s, want a %s", ids, got.Len(), kind, want)
		}
		read := make([]int, len(ids))
		if err := got.Read(read, 0); err != nil || !slices.Equal(read, ids) {
			t.Errorf("got %v, %v, want %v", read, err, ids)
		}
	}
	for _, ids := range [][]int{{-1, 5}, {math.MinInt32, math.MaxInt32}, {0, math.MaxInt}, {math.MinInt, 0}} {
		read := make([]int, 2)
		if err := pack(ids).Read(read, 0); err != nil || !slices.Equal(read, ids) {
			t.Errorf("got %v, %v, want %v", read, err, ids)
		}
	}
	for _, s := range []Split{Tokens{1, 2, 3}, pack([]int{1, 2, 3}), pack([]int{1, 2, 1 << 20})} {
		for _, at := range []int{-1, 2, math.MaxInt} {
			wantError(
				t, s.Read(make([]int, 2), at), fmt.Sprintf("got 2 from position %d on, want them within 0 … 3", at),
			)
		}
		if err := s.Read(make([]int, 4), 0); err == nil {
			t.Errorf("%T: reading 4 of 3 tokens: got no error", s)
		}
	}
}
