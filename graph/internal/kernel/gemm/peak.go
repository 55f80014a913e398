package gemm

import (
	"runtime"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"gonum.org/v1/gonum/blas/gonum"
)

// Peak measures the number of floating-point operations per nanosecond that the pool's threads can do together in
// float32. It is the best of many runs of independent multiplications and additions in registers. A run takes about a
// millisecond, which is shorter than the time slices of other programs, and there are enough runs for the processor to
// reach its full speed. Peak makes two tries, of some 30 ms each on a quiet machine.
func Peak(p *kernel.Pool) float64 {
	const tries, rounds = 2, 1 << 18
	peak := 0.
	for range tries {
		for _, loop := range peakLoops() {
			peak = max(peak, best(func() float64 {
				start := time.Now()
				p.For(p.Threads(), func(int) { loop.run(rounds) })
				flops := float64(p.Threads()) * rounds * loop.operations
				return flops / float64(time.Since(start).Nanoseconds())
			}))
		}
	}
	return peak
}

// best returns the largest result of run, once many runs in a row have not improved it by a thousandth.
func best(run func() float64) (most float64) {
	const enough = 32
	for vain := 0; vain < enough; vain++ {
		if speed := run(); speed > 1.001*most {
			most, vain = speed, -1
		}
	}
	return most
}

// peakLoop repeats its multiplications and additions n times; operations is their number in one repetition.
type peakLoop struct {
	run        func(n int)
	operations float64
}

// plainPeaks returns the inner loops of products without our own assembly: plain Go, and gonum, which on amd64 has
// assembly for vectors of 4.
func plainPeaks() []peakLoop { return []peakLoop{{plainPeak, 16}, {dots, 2 * dotSize / dotEvery}} }

func plainPeak(n int) { runtime.KeepAlive(plainPeakLoop(n)) }

const (
	dotSize  = 512 // numbers in a vector, two of which stay in the first cache
	dotEvery = 16  // rounds
)

// dots computes one product of vectors for dotEvery rounds.
func dots(n int) {
	var x, y [dotSize]float32
	for range n / dotEvery {
		x[0] += gonum.Implementation{}.Sdot(dotSize, x[:], 1, y[:], 1)
	}
	runtime.KeepAlive(x)
}

// plainPeakLoop does 8 independent multiplications and additions n times, as compiled by Go.
func plainPeakLoop(n int) (sum float32) {
	var a, b, c, d, e, f, g, h float32
	x, y := float32(n), float32(1)/float32(n)
	for range n {
		a, b, c, d = a*x+y, b*x+y, c*x+y, d*x+y
		e, f, g, h = e*y+x, f*y+x, g*y+x, h*y+x
	}
	return a + b + c + d + e + f + g + h
}
