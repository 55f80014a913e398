package main

import (
	"context"
	"io"
	"runtime"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// study trains the rows in turns.
type study struct {
	rows   []*row
	data   text.Corpus
	tok    text.Tokenizer
	rounds int
	stderr io.Writer
	runs   []*training
}

// training is a row with one seed.
type training struct {
	*gpt.Trainer
	row  *row
	seed uint64
	ms   []float64 // of the steps
}

// train does all steps of all rows in turns, and then computes their losses.
func (s *study) train(ctx context.Context) (threads int, err error) {
	steps := s.rows[0].config.MaxIters
	total := 0
	for _, r := range s.rows {
		total += r.seeds * steps
	}
	bar := program.NewBar(s.stderr, "training", 0, total)
	defer bar.Close()
	for _, r := range s.rows {
		for i := range r.seeds {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			s.start(ctx, r, uint64(i))
			bar.Add(1, "%s begins", r.Variant)
		}
	}
	for round := range s.rounds {
		for _, t := range s.runs {
			for to := 1 + (steps-1)*(round+1)/s.rounds; t.Done < to && t.row.Error == ""; {
				if ctx.Err() != nil {
					return 0, context.Cause(ctx)
				}
				p, err := t.Step()
				if err != nil {
					t.row.Error = err.Error() // such as a loss that is not finite
					break
				}
				t.ms = append(t.ms, p.Took.Seconds()*1e3)
				bar.Add(1, "%s, step %d, loss %.3f", t.row.Variant, p.Step, p.Loss)
			}
		}
	}
	for _, t := range s.runs {
		threads = t.Model.Graph.Threads()
		if t.row.Error != "" {
			continue
		}
		loss, err := t.EvaluateAll(ctx, nil)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err != nil {
			t.row.Error = err.Error()
			continue
		}
		t.row.Losses = append(t.row.Losses, loss)
		if len(t.row.Losses) == 1 {
			t.row.Ms = program.Median(t.ms)
		}
		bar.Print("%s, seed %d: %.4f nats per character, %.1f ms a step", t.row.Variant, t.seed, loss,
			program.Median(t.ms))
	}
	return threads, nil
}

// start builds a row with the i-th seed and does its first step, which is the slowest. The growth of the heap up to
// then, with all of Gorgonia's values, is the memory.
func (s *study) start(ctx context.Context, r *row, i uint64) {
	if r.Error != "" {
		return
	}
	c := r.config
	c.Seed += i
	c.Context = ctx
	before := heap()
	trainer, err := gpt.NewTrainer(c, s.data, s.tok)
	if err == nil {
		_, err = trainer.Step()
	}
	if err != nil {
		r.Error = err.Error()
		return
	}
	if i == 0 {
		r.MiB = float64(heap()-before) / (1 << 20)
		r.Parameters, _ = c.Count()
	}
	s.runs = append(s.runs, &training{Trainer: trainer, row: r, seed: c.Seed})
}

// heap returns the number of bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees objects with finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
