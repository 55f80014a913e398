package gemm

import (
	"runtime"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Peak measures how many floating-point operations per nanosecond the pool's threads together can do in float32: the
// best of some runs of independent multiplications and additions in registers, some milliseconds in all.
func Peak(p *kernel.Pool) float64 {
	const runs, rounds = 8, 1 << 15
	peak := 0.
	loop, operations := peakLoop()
	for range runs {
		start := time.Now()
		p.For(p.Threads(), func(int) { loop(rounds) })
		flops := float64(p.Threads()) * rounds * operations
		peak = max(peak, flops/float64(time.Since(start).Nanoseconds()))
	}
	return peak
}

const plainPeakOps = 16

func plainPeak(n int) { runtime.KeepAlive(plainPeakLoop(n)) }

// plainPeakLoop is what the compiler makes of 8 independent multiplications and additions, n times.
func plainPeakLoop(n int) (sum float32) {
	var a, b, c, d, e, f, g, h float32
	x, y := float32(n), float32(1)/float32(n)
	for range n {
		a, b, c, d = a*x+y, b*x+y, c*x+y, d*x+y
		e, f, g, h = e*y+x, f*y+x, g*y+x, h*y+x
	}
	return a + b + c + d + e + f + g + h
}
