package session_test

import (
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}
