package gemm

import "testing"

// TestChunksForManyThreads: of the products of a step of GPT-2's sizes with one sequence, forward and backward, no thread
// of 16 or 64 has much less to do than the others.
func TestChunksForManyThreads(t *testing.T) {
	const tokens, d, vocabulary = 256, 768, 50257
	for threads, most := range map[int]float64{16: 0.15, 64: 0.3} {
		for _, out := range []int{d, 3 * d, 4 * d, vocabulary} {
			for _, s := range [][3]int{{tokens, out, d}, {tokens, d, out}, {d, out, tokens}, {out, d, tokens}} {
				rows, cols := chunk(s[0], s[1], s[2], threads)
				chunks := (s[0] + rows - 1) / rows * ((s[1] + cols - 1) / cols)
				turns := (chunks + threads - 1) / threads
				if idle := 1 - float64(chunks)/float64(turns*threads); idle > most {
					t.Errorf("%d threads, %v in %d chunks of %d × %d: %.0f %% idle, want at most %.0f %%", threads, s, chunks,
						rows, cols, 100*idle, 100*most)
				}
			}
		}
	}
}
