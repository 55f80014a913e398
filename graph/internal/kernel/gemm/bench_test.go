package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// BenchmarkGemm reports the fastest call: the machine may be shared.
func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct{ m, k, n int }{
		{768, 128, 384}, {768, 128, 512}, {768, 512, 128}, {768, 128, 65}, // GPT on characters
		{64, 32, 64}, {64, 64, 32}, {128, 128, 128}, {256, 128, 128}, // attention
		{2048, 384, 1536}, {1024, 1024, 1024},
		{1, 768, 3072}, {4, 768, 3072}, {8, 768, 3072}, {8, 128, 512}, {1, 768, 50257}, // decoding
		{1, 128, 8}, {1, 128, 172}, {1, 128, 344}, // a router, and experts
	} {
		for _, form := range []string{"NN", "NT", "TN"} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%dx%dx%d/%s/threads=%d", s.m, s.k, s.n, form, threads), func(b *testing.B) {
					benchmarkGemm(b, kernel.NewPool(threads), s.m, s.n, s.k, form)
				})
			}
		}
	}
}

func benchmarkGemm(b *testing.B, p *kernel.Pool, m, n, k int, form string) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := Mat(kerneltest.Random[float32](rng, m*k), k), Mat(kerneltest.Random[float32](rng, k*n), n)
	c := Mat(make([]float32, m*n), n)
	if form[0] == 'T' {
		x = Matrix[float32]{x.Data, m, true}
	}
	if form[1] == 'T' {
		y = Matrix[float32]{y.Data, k, true}
	}
	b.ReportAllocs()
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		Mul(p, m, n, k, 1, x, y, 0, c)
		best = min(best, time.Since(start))
	}
	b.ReportMetric(2*float64(m)*float64(n)*float64(k)/best.Seconds()*1e-9, "GFLOP/s-best")
}

// BenchmarkMulSymmetric reports the operations of a full product a second.
func BenchmarkMulSymmetric(b *testing.B) {
	for _, n := range []int{128, 384} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			x, c := Mat(kerneltest.Random[float32](rng, n*n), n), Mat(make([]float32, n*n), n)
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				MulSymmetric(n, n, 1, x, x, Matrix[float32]{}, c)
				best = min(best, time.Since(start))
			}
			b.ReportMetric(2*float64(n)*float64(n)*float64(n)/best.Seconds()*1e-9, "GFLOP/s-best")
		})
	}
}

func BenchmarkPeak(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p, best := kernel.NewPool(threads), 0.
			for b.Loop() {
				best = max(best, Peak(p))
			}
			b.ReportMetric(best, "GFLOP/s-best")
		})
	}
}
