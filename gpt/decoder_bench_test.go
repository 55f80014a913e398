package gpt

import (
	"fmt"
	"testing"
)

// BenchmarkDecodeBatch decodes into a window that fills and slides. For a batch it counts the tokens of all sequences.
func BenchmarkDecodeBatch(b *testing.B) {
	for _, batch := range []int{1, 8} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("batch=%d/threads=%d", batch, threads), func(b *testing.B) {
				d := newBatchDecoderOf(b, model32(b, threads, 64), batch)
				rows := make([][]int, batch)
				for i := range rows {
					rows[i] = []int{i}
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Feed(rows...); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}
