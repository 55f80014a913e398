package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

type trainingLine struct {
	common
	Precision     string  `json:"precision"`
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

// training times steps. The median counts; the peak is measured before and after, and the better one is used.
func training(shape string, c gpt.Config, steps int) (line trainingLine, err error) {
	start := time.Now()
	t, err := newTrainer(c)
	if err != nil {
		return line, err
	}
	line.Steps, line.PeakGFLOPs = steps, graph.Peak(c.Threads)
	ms := make([]float64, 0, min(10+steps, 1<<16))
	take := func(n int) error {
		for range n {
			p, err := t.Step()
			if err != nil {
				return err
			}
			if p.Step == 1 {
				line.FirstStepS = program.Round(time.Since(start).Seconds(), 3)
			}
			ms = append(ms, p.Took.Seconds()*1e3)
			line.LossLast, line.GFLOPs, line.TokPerS = program.Round(p.Loss, 4), p.FLOP, float64(p.Tokens)
		}
		return nil
	}
	if err := take(min(10, 1+steps/10)); err != nil { // warm up
		return line, err
	}
	ms = ms[:0]
	if line.BytesPerStep, line.AllocsPerStep, err = allocated(steps, func() error { return take(steps) }); err != nil {
		return line, err
	}
	line.PeakGFLOPs = program.Round(max(line.PeakGFLOPs, graph.Peak(c.Threads)), 1)
	median := program.Median(ms)
	line.Precision = t.Model.Graph.Precision()
	line.common = describe(shape, c, t.Model.Graph.Threads())
	line.MsMin, line.MsP10 = program.Round(slices.Min(ms), 2), program.Round(program.Quantile(ms, 0.1), 2)
	line.MsMedian = program.Round(median, 2)
	line.TokPerS = math.Round(line.TokPerS / median * 1e3)
	line.GFLOPs = program.Round(line.GFLOPs/median/1e6, 1)
	line.PeakFraction = program.Round(line.GFLOPs/line.PeakGFLOPs, 3)
	line.PlannedMiB = program.Round(float64(t.Model.Graph.Bytes())/(1<<20), 1)
	return line, nil
}

// newTrainer returns a trainer on random tokens, which cost the same time as others.
func newTrainer(c gpt.Config) (*gpt.Trainer, error) {
	tok, err := text.NewCharacters("ab")
	if err != nil {
		return nil, err
	}
	ids := make(text.Tokens, 200_000)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range ids {
		ids[i] = rng.IntN(c.VocabSize)
	}
	return gpt.NewTrainer(c, text.Dataset{Training: ids, Validation: ids}, tok)
}
