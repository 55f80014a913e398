package nn

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// The clip is the published one unless the caller changes it.
func TestPPOClipDefault(t *testing.T) {
	if l := NewPPOClip(graph.New(graph.Float64, 1).Root()); l.Clip != 0.2 {
		t.Errorf("got ε = %v, want 0.2", l.Clip)
	}
}
