package text

import (
	"slices"
	"strings"
	"testing"
)

// A row that is too short loses the beginning of its prompt, never a token of the answer.
func TestChoiceRow(t *testing.T) {
	c := Choice{Tokens: []int{5, 6, 7, 8, 9}, First: 3, Bytes: 2}
	for n, want := range map[int]struct {
		x, y []int
		cut  int
	}{
		6: {[]int{5, 6, 7, 8, 0, 0}, []int{Ignore, Ignore, 8, 9, Ignore, Ignore}, 0},
		4: {[]int{5, 6, 7, 8}, []int{Ignore, Ignore, 8, 9}, 0},
		2: {[]int{7, 8}, []int{8, 9}, 2},
	} {
		x, y := slices.Repeat([]int{3}, n), slices.Repeat([]int{3}, n)
		if cut, err := c.Row(x, y); err != nil || cut != want.cut || !slices.Equal(x, want.x) ||
			!slices.Equal(y, want.y) {
			t.Errorf("%d: got %v and %v with %d cut (%v), want %v", n, x, y, cut, err, want)
		}
	}
	for want, f := range map[string]func() (int, error){
		"got 2 tokens, want at most block_size 1": func() (int, error) { return c.Row(make([]int, 1), make([]int, 1)) },
		"got a row of 3 tokens and 2 targets":     func() (int, error) { return c.Row(make([]int, 3), make([]int, 2)) },
		"got 0 tokens of a prompt and 1 of its": func() (int, error) {
			return Choice{Tokens: []int{1}}.Row(nil, nil)
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
