package search

import (
	"slices"
	"testing"
)

// A set of tokens holds each once, and after reset none.
func TestSeen(t *testing.T) {
	s := NewSeen(5)
	s.Add(3, 1, 3, -1, 5)
	if want := []int{3, 1}; !slices.Equal(s.IDs(), want) {
		t.Errorf("got %v, want %v", s.IDs(), want)
	}
	s.Reset()
	if s.Add(1); !slices.Equal(s.IDs(), []int{1}) || s.has[3] {
		t.Errorf("after reset: got %v and %v, want token 1 alone", s.IDs(), s.has)
	}
}
