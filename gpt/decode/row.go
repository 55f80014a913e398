package decode

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// row is a text of a Session.
type row struct {
	waiting []int // tokens that are not fed yet, such as the one drawn last
	left    int   // number of tokens to draw
	seen    search.Seen
}

func (r row) open() bool { return r.left > 0 }

func (r *row) reset() {
	r.waiting, r.left = r.waiting[:0], 0
	r.seen.Reset()
}

// wait appends tokens that are to be fed. Only the last size of them fit into the context.
func (r *row) wait(tokens []int, size int) {
	r.waiting = append(r.waiting, tokens...)
	r.fed(len(r.waiting) - size)
}

// token returns the i-th token to feed, or any token after the text has ended.
func (r row) token(i int) int {
	if i < len(r.waiting) {
		return r.waiting[i]
	}
	return 0
}

// fed removes the first n of the tokens that wait, if there are as many. They are part of the text.
func (r *row) fed(n int) {
	n = max(0, min(n, len(r.waiting)))
	r.seen.Add(r.waiting[:n]...)
	r.waiting = slices.Delete(r.waiting, 0, n)
}
