package main

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// common holds the fields of every line.
type common struct {
	Shape      string      `json:"shape"`
	Threads    int         `json:"threads"`
	Context    int         `json:"block_size"`
	Batch      int         `json:"batch_size"`
	Params     int64       `json:"params"`
	Build      train.Build `json:"build"`
	RSS        int64       `json:"rss_mib"`
	PingPongNs float64     `json:"pingpong_ns"`
}

func describe(shape string, c gpt.Config, threads int) common {
	total, _ := c.Count()
	return common{shape, threads, c.BlockSize, c.BatchSize, total, train.ThisBuild(), maxRSS(),
		program.Round(pingPong(), 1)}
}

// allocated returns the bytes and objects that run allocates, divided by n.
func allocated(n int, run func() error) (bytes, objects float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = run()
	runtime.ReadMemStats(&after)
	bytes, objects = float64(after.TotalAlloc-before.TotalAlloc), float64(after.Mallocs-before.Mallocs)
	return math.Round(bytes / float64(n)), math.Round(objects / float64(n)), err
}

// pingPong returns the round-trip time of a cache line between two threads, the median of several.
func pingPong() float64 {
	const trips = 2000
	if runtime.GOMAXPROCS(0) < 2 {
		return 0
	}
	var ns []float64
	for range 15 {
		var ball atomic.Int32
		var done sync.WaitGroup
		done.Go(func() {
			runtime.LockOSThread()
			for i := range int32(trips) {
				for ball.Load() != 2*i+1 {
				}
				ball.Store(2*i + 2)
			}
		})
		start := time.Now()
		for i := range int32(trips) {
			ball.Store(2*i + 1)
			for ball.Load() != 2*i+2 {
			}
		}
		ns = append(ns, float64(time.Since(start).Nanoseconds())/trips)
		done.Wait()
	}
	return program.Median(ns)
}

// bandwidth returns the rate at which the threads copy n floats, in GB/s read and written: the best of several passes.
func bandwidth(threads, n int) float64 {
	from, to := make([]float32, n), make([]float32, n)
	for i := range from { // pages that were never written all map to one page
		from[i] = 1
	}
	return 2 * 4 * float64(n) / passes(threads, n, func(a, z int) { copy(to[a:z], from[a:z]) })
}

// triad returns the rate at which the threads compute z = x + a·y with vectors larger than any cache, in GB/s read and
// written.
func triad(threads int) float64 {
	const n = 1 << 25
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i], z[i] = 1, 1, 1
	}
	return 3 * 4 * n / passes(threads, n, func(a, e int) {
		x, y, z := x[a:e], y[a:e], z[a:e]
		for i, v := range x {
			z[i] = v + 0.5*y[i]
		}
	})
}

// passes returns the nanoseconds that the threads need for 0 … n−1, the best of several times.
func passes(threads, n int, body func(from, to int)) float64 {
	best := math.Inf(1)
	for range 20 {
		start := time.Now()
		var done sync.WaitGroup
		for i := range threads {
			done.Go(func() { body(i*n/threads, (i+1)*n/threads) })
		}
		done.Wait()
		best = min(best, float64(time.Since(start).Nanoseconds()))
	}
	return best
}
