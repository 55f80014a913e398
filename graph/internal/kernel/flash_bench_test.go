package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"slices"
)

func causalMask[T Float](n int) []T {
	m := make([]T, n*n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			m[i*n+j] = T(math.Inf(-1))
		}
	}
	return m
}

func BenchmarkFlash(b *testing.B) {
	for _, sh := range []Heads{{12, 64, 4, 32, 32}, {32, 64, 4, 32, 32}, {8, 256, 4, 32, 32}, {2, 1024, 4, 32, 32}, {1, 2048, 4, 32, 32}, {8, 256, 6, 64, 64}} {
		for _, threads := range []int{1, 2} {
			h := sh
			p := NewPool(threads)
			rng := rand.New(rand.NewPCG(1, 2))
			tokens := h.Batch * h.Context
			qkv, dqkv := random[float32](rng, tokens*h.Width()), make([]float32, tokens*h.Width())
			y, dy := make([]float32, tokens*h.Heads*h.V), random[float32](rng, tokens*h.Heads*h.V)
			mask := causalMask[float32](h.Context)
			lse := make([]float32, 2*tokens*h.Heads)
			weights, sc2 := make([]float32, h.Batch*h.Heads*h.Context*h.Context), make([]float32, h.Batch*h.Heads*h.Context*h.Context)
			name := fmt.Sprintf("%dx%d/threads=%d", h.Batch, h.Context, threads)
			run := func(kind string, f func()) {
				b.Run(name+"/"+kind, func(b *testing.B) {
					f()
					var all []time.Duration
					b.ReportAllocs()
					for b.Loop() {
						start := time.Now()
						f()
						all = append(all, time.Since(start))
					}
					slices.Sort(all)
					b.ReportMetric(float64(all[0].Nanoseconds())/float64(tokens), "ns/token-best")
					b.ReportMetric(float64(all[len(all)/4].Nanoseconds())/float64(tokens), "ns/token-p25")
				})
			}
			run("dense-fwd", func() { Attention(p, h, y, qkv, mask, weights, Dropping{}) })
			run("dense-bwd", func() { AttentionBackward(p, h, dqkv, qkv, weights, dy, sc2, Dropping{}) })
			for _, q := range []int{16, 24, 32, 48, 64} {
				for _, k := range []int{64, 128, 256, 512} {
					if k > max(64, h.Context) { continue }
					tag := fmt.Sprintf("-%d-%d", q, k)
					var seen Spans
					queries, keys = q, k
					scratch := make([]float32, AttentionScratch(p, h))
					run("fwd"+tag, func() { queries, keys = q, k; FlashAttention(p, h, &seen, y, qkv, mask, lse, scratch, Dropping{}) })
					run("bwd"+tag, func() { queries, keys = q, k; FlashAttentionBackward(p, h, &seen, dqkv, qkv, mask, y, dy, lse, scratch, Dropping{}) })
				}
			}
		}
	}
}
