package main

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// common is what every line has.
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

type trainingLine struct {
	common
	Steps         int     `json:"steps"`
	MsMin         float64 `json:"ms_min"`
	MsP10         float64 `json:"ms_p10"`
	MsMedian      float64 `json:"ms_median"`
	TokPerS       float64 `json:"tok_per_s"`
	GFLOPs        float64 `json:"gflops"`
	PeakGFLOPs    float64 `json:"peak_gflops"`
	PeakFraction  float64 `json:"peak_fraction"`
	BytesPerStep  float64 `json:"bytes_per_step"`
	AllocsPerStep float64 `json:"allocs_per_step"`
	PlannedMiB    float64 `json:"planned_mib"`
	FirstStepS    float64 `json:"first_step_s"` // from the start of building to the end of the first step
	LossLast      float64 `json:"loss_last"`
}

// training times steps: the median counts, and the peak is measured before and after, the better one.
func training(shape string, c gpt.Config, steps int) (line trainingLine, err error) {
	start := time.Now()
	t, err := newTrainer(c)
	if err != nil {
		return line, err
	}
	line.Steps, line.PeakGFLOPs = steps, graph.Peak(c.Threads)
	var before, after runtime.MemStats
	var ms []float64
	warm := min(10, 1+steps/10)
	for i := range warm + steps {
		if i == warm {
			runtime.ReadMemStats(&before)
		}
		p, err := t.Step()
		if err != nil {
			return line, err
		}
		if i == 0 {
			line.FirstStepS = round(time.Since(start).Seconds(), 3)
		}
		if i >= warm {
			ms = append(ms, p.Took.Seconds()*1e3)
			line.LossLast, line.GFLOPs, line.TokPerS = round(p.Loss, 4), p.FLOP, float64(p.Tokens)
		}
	}
	runtime.ReadMemStats(&after)
	line.PeakGFLOPs = round(max(line.PeakGFLOPs, graph.Peak(c.Threads)), 1)
	slices.Sort(ms)
	median := ms[len(ms)/2]
	line.common = describe(shape, c, t.Model.Graph.Threads())
	line.MsMin, line.MsP10, line.MsMedian = round(ms[0], 2), round(ms[len(ms)/10], 2), round(median, 2)
	line.TokPerS = math.Round(line.TokPerS / median * 1e3)
	line.GFLOPs = round(line.GFLOPs/median/1e6, 1)
	line.PeakFraction = round(line.GFLOPs/line.PeakGFLOPs, 3)
	line.BytesPerStep = math.Round(float64(after.TotalAlloc-before.TotalAlloc) / float64(steps))
	line.AllocsPerStep = math.Round(float64(after.Mallocs-before.Mallocs) / float64(steps))
	line.PlannedMiB = round(float64(t.Model.Graph.Bytes())/(1<<20), 1)
	return line, nil
}

type decodingLine struct {
	common
	Tokens          int     `json:"tokens"`
	FillingTokPerS  float64 `json:"filling_tok_per_s"` // while the window fills
	FullTokPerS     float64 `json:"full_tok_per_s"`    // with a full window that slides by halves
	WeightsGBPerS   float64 `json:"weights_gb_per_s"`  // every weight once a token, while the window fills
	BandwidthGBPerS float64 `json:"bandwidth_gb_per_s"`
	BandwidthPart   float64 `json:"bandwidth_fraction"`
	Batch8TokPerS   float64 `json:"batch8_tok_per_s"` // of 8 sequences together, while the window fills
	BytesPerToken   float64 `json:"bytes_per_token"`
	AllocsPerToken  float64 `json:"allocs_per_token"`
}

// decoding times tokens one by one, without the drawing of them.
func decoding(shape string, c gpt.Config, tokens int) (line decodingLine, err error) {
	c.BatchSize = 1
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	m, err := gpt.New(g, c, 1)
	if err != nil {
		return line, err
	}
	d, err := gpt.NewDecoder(m)
	if err != nil {
		return line, err
	}
	feed := func(n int) (time.Duration, error) {
		start := time.Now()
		for i := range n {
			if _, err := d.Feed(i % c.VocabSize); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
	if _, err := feed(min(8, c.BlockSize-1)); err != nil {
		return line, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var filling time.Duration
	count := 0
	for count < tokens {
		d.Reset()
		took, err := feed(c.BlockSize)
		if err != nil {
			return line, err
		}
		filling += took
		count += c.BlockSize
	}
	runtime.ReadMemStats(&after)
	full, err := feed(tokens)
	if err != nil {
		return line, err
	}
	if line.Batch8TokPerS, err = decodingBatch(m, 8, tokens); err != nil {
		return line, err
	}
	total, _ := c.Count()
	line.common = describe(shape, c, g.Threads())
	line.Tokens = count
	line.FillingTokPerS = math.Round(float64(count) / filling.Seconds())
	line.FullTokPerS = math.Round(float64(tokens) / full.Seconds())
	line.WeightsGBPerS = round(float64(total)*4*float64(count)/filling.Seconds()/1e9, 2)
	line.BandwidthGBPerS = round(bandwidth(g.Threads(), int(total)), 2)
	line.BandwidthPart = round(line.WeightsGBPerS/line.BandwidthGBPerS, 3)
	line.BytesPerToken = math.Round(float64(after.TotalAlloc-before.TotalAlloc) / float64(count))
	line.AllocsPerToken = math.Round(float64(after.Mallocs-before.Mallocs) / float64(count))
	return line, nil
}

// decodingBatch is how many tokens a second of so many sequences side by side, all together.
func decodingBatch(m *gpt.Model, batch, tokens int) (float64, error) {
	d, err := gpt.NewBatchDecoder(m, batch)
	if err != nil {
		return 0, err
	}
	rows := make([][]int, batch)
	for i := range rows {
		rows[i] = []int{i % m.Config.VocabSize}
	}
	var took time.Duration
	count := 0
	for round := 0; count < tokens; round++ {
		d.Reset()
		start := time.Now()
		for range m.Config.BlockSize {
			if _, err := d.Feed(rows); err != nil {
				return 0, err
			}
		}
		if round > 0 { // the first one warms up
			took, count = took+time.Since(start), count+batch*m.Config.BlockSize
		}
	}
	return math.Round(float64(count) / took.Seconds()), nil
}

func describe(shape string, c gpt.Config, threads int) common {
	total, _ := c.Count()
	return common{shape, threads, c.BlockSize, c.BatchSize, total, train.ThisBuild(), maxRSS(), round(pingPong(), 1)}
}

// pingPong is the round trip of a cache line between two threads: the median of several.
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
	slices.Sort(ns)
	return ns[len(ns)/2]
}

// bandwidth is how fast so many threads move n floats, in GB/s read and written together: the best of several passes.
func bandwidth(threads, n int) float64 {
	from, to := make([]float32, n), make([]float32, n)
	for i := range from { // pages that nobody has written are all the same one
		from[i] = 1
	}
	best := 0.0
	for range 20 {
		start := time.Now()
		var done sync.WaitGroup
		for i := range threads {
			done.Go(func() { copy(to[i*n/threads:(i+1)*n/threads], from[i*n/threads:]) })
		}
		done.Wait()
		best = max(best, float64(2*4*n)/time.Since(start).Seconds()/1e9)
	}
	return best
}

func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
