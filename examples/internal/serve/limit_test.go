package serve

import "testing"

// TestConnections checks that most of the descriptors are left to the run.
func TestConnections(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		0: 1, 3: 1, 20: 5, 256: 64, 4096: 1024, 1 << 20: 2048, 1<<64 - 1: 2048,
	} {
		if got := connections(descriptors); got != want {
			t.Errorf("%d descriptors: got %d connections, want %d", descriptors, got, want)
		}
	}
}
