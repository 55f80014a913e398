package text

import (
	"iter"
	"slices"

	"github.com/pkg/errors"
)

// Until yields ids up to the first of the stop tokens, which it leaves out: the end of a text or of a turn. The
// decoder that yields the ids has already drawn the stop token, so Continue continues after it.
func Until(ids iter.Seq2[int, error], stop ...int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		if ids == nil {
			yield(0, errors.New("until: ids: got nil, want a sequence such as Generate's"))
			return
		}
		for id, err := range ids {
			if err == nil && slices.Contains(stop, id) || !yield(id, err) {
				return
			}
		}
	}
}
