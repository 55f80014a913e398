package verify

import (
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// CheckAlong is Check whose complex step takes a random direction, which contains every entry, but no entry alone.
func CheckAlong(m Subject) (*Report, error) {
	s, err := m.subject()
	if err != nil {
		return nil, err
	}
	return check(unwatched(), s, sampling{})
}

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}
