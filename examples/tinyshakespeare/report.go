package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// report tells what happens: a progress bar on a terminal, a line a step elsewhere, and the files of out_dir.
type report struct {
	*program.Bar
	config  gpt.Config
	source  corpus.Source
	metrics *metrics
	trouble error   // the first with these files, none of which is worth the run
	unit    string  // a token
	floor   float64 // nats per character, 0 where unknown
}

func newReport(t *gpt.Trainer, source corpus.Source, out io.Writer) (*report, error) {
	c := t.Config()
	m, err := openMetrics(filepath.Join(c.OutDir, "metrics.jsonl"), t.Done)
	if err != nil {
		return nil, err
	}
	r := &report{Bar: program.NewBar(out, "", t.Done, c.MaxIters), config: c, source: source, metrics: m,
		unit: unit(t.Tokenizer)}
	total, trainable := c.Count()
	mode := map[bool]string{true: "kernels", false: "reference"}[c.Kernels]
	r.Print("pedestrian | %s parameters, %s trainable | %s | %d threads | %s", program.Thousands(total),
		program.Thousands(trainable), train.ThisBuild(), t.Model.Graph.Threads(), mode)
	tokens, held := t.Corpus.Train().Len(), t.Corpus.Val().Len()
	r.Print("text: %s | %s tokens, %d different | %s to train on, %s to validate", source.Name,
		program.Thousands(tokens+held), t.Tokenizer.Size(), program.Thousands(tokens), program.Thousands(held))
	if r.unit == "character" && source.Floor > 0 {
		r.floor = source.Floor
		r.Print("this text has %.4f nats per character: no model gets below it for long", r.floor)
	}
	return r, program.WriteWhole(filepath.Join(c.OutDir, "config.json"),
		func(w io.Writer) error { return gpt.WriteConfig(w, c) })
}

// keep is told what became of a file beside the checkpoints.
func (r *report) keep(err error) {
	if err != nil && r.trouble == nil {
		r.trouble = err
		r.Print("the run goes on without: %s", program.Shown(err))
	}
}

func (r *report) step(p train.Progress) {
	seconds := p.Took.Seconds()
	speed, gflops := float64(p.Tokens)/seconds, p.FLOP/seconds/1e9
	line := fmt.Sprintf("loss %.6f | norm %.2f | lr %.1e | %.1f ms | %.1f GFLOP/s | %s tok/s | eta %s",
		p.Loss, p.Norm, p.LR, seconds*1e3, gflops, program.Thousands(int(speed)), r.ETA(p.Step))
	if !r.Draw(p.Step, line) && p.Step%r.config.LogInterval == 0 {
		r.Print("step %d/%d | %s", p.Step, r.config.MaxIters, line)
	}
	round := func(x float64) float64 { return program.Round(x, 2) }
	r.keep(r.metrics.add(stepLine{p.Step, p.Loss, p.LR, p.Norm, round(seconds * 1e3), round(speed), round(gflops)}))
}

func (r *report) evaluation(step int, e gpt.Evaluation) {
	r.Print("step %d: train loss %.4f, val loss %.4f, %.4f bits per %s", step, e.Train, e.Val, e.BitsPerChar(), r.unit)
	r.keep(r.metrics.add(evalLine{step, e.Train, e.Val, e.BitsPerChar()}))
	r.keep(r.plot())
}

// evaluated is whether the evaluation at that step is on file: a run that was interrupted before it still has to do it.
func (r *report) evaluated(step int) bool {
	n := len(r.metrics.evals)
	return n > 0 && r.metrics.evals[n-1].Step == step
}

func (r *report) fullProgress(done, total int) {
	n, of := program.Thousands(done), program.Thousands(total)
	r.Draw(r.config.MaxIters, fmt.Sprintf("validating: %s of %s blocks", n, of))
}

func (r *report) full(loss float64) {
	r.Print("val loss over the whole split: %.4f nats, %.4f bits per %s", loss, loss/math.Ln2, r.unit)
	if r.floor > 0 {
		r.Print("%.4f nats above the text's own %.4f", loss-r.floor, r.floor)
	}
	r.Print("saved to %s: checkpoints, metrics.jsonl, config.json, loss.png", r.config.OutDir)
	r.keep(r.metrics.add(fullLine{loss}))
}

func (r *report) plot() error {
	return errors.Wrap(program.WriteWhole(filepath.Join(r.config.OutDir, "loss.png"), func(w io.Writer) error {
		return plotLosses(w, r.metrics.steps, r.metrics.evals, r.floor)
	}), "loss.png")
}

// Close takes the bar away and closes the metrics.
func (r *report) Close() error {
	r.Bar.Close()
	return r.metrics.file.Close()
}
