package decode

import (
	"slices"
	"testing"
)

// A set of tokens holds each once, and after reset none.
func TestSeen(t *testing.T) {
	s := newSeen(5)
	s.add(3, 1, 3)
	if want := []int{3, 1}; !slices.Equal(s.ids, want) {
		t.Errorf("got %v, want %v", s.ids, want)
	}
	s.reset()
	if s.add(1); !slices.Equal(s.ids, []int{1}) || s.has[3] {
		t.Errorf("after reset: got %v and %v, want token 1 alone", s.ids, s.has)
	}
}
