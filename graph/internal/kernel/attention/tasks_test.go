package attention

import "testing"

// TestTasksForManyThreads: the forward pass has two tasks per thread if there are enough blocks.
func TestTasksForManyThreads(t *testing.T) {
	for _, c := range []struct{ heads, blocks, threads, want int }{
		{12, 4, 2, 4}, {12, 4, 8, 2}, {12, 4, 16, 1}, {12, 32, 64, 2}, {48, 2, 2, 4}, {1, 1, 64, 1},
	} {
		if got := perTask(c.heads, c.blocks, c.threads); got != c.want {
			t.Errorf(
				"%d heads of %d blocks on %d threads: got %d a task, want %d", c.heads, c.blocks, c.threads, got,
				c.want,
			)
		}
	}
}
