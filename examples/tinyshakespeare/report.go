package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/digits"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// report tells what happens: a progress bar on a terminal, a line a step elsewhere, and the files of out_dir.
type report struct {
	out     io.Writer
	bar     *progressbar.ProgressBar // nil where the output is no terminal
	config  gpt.Config
	metrics *metrics
	start   time.Time
	from    int     // the step at which this process began
	unit    string  // a token
	floor   float64 // nats per character of a text that knows
	peak    float64 // GFLOP/s of this processor
}

func newReport(t *gpt.Trainer, source corpus.Source, out io.Writer) (*report, error) {
	c := t.Config()
	m, err := openMetrics(filepath.Join(c.OutDir, "metrics.jsonl"), t.Done)
	if err != nil {
		return nil, err
	}
	r := &report{out: out, config: c, metrics: m, start: time.Now(), from: t.Done, unit: unit(t.Tokenizer), floor: source.Floor, peak: graph.Peak(c.Threads)}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		r.bar = progressbar.NewOptions(c.MaxIters, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20),
			progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond))
		if err := r.bar.Set(t.Done); err != nil {
			return nil, err
		}
	}
	total, trainable := c.Count()
	r.print("pedestrian | %s parameters, %s trainable | %s | %d threads | %s", digits.Thousands(total), digits.Thousands(trainable),
		train.ThisBuild(), t.Model.Graph.Threads(), map[bool]string{true: "kernels", false: "spelled"}[c.Kernels])
	tokens, held := t.Corpus.Train().Len(), t.Corpus.Val().Len()
	r.print("text: %s | %s tokens, %d different | %s to train on, %s to validate", source.Name,
		digits.Thousands(tokens+held), t.Tokenizer.Size(), digits.Thousands(tokens), digits.Thousands(held))
	if r.unit != "character" {
		r.floor = 0
	}
	if r.floor > 0 {
		r.print("this text has %.4f nats per character: no model gets below it for long", r.floor)
	}
	return r, base.WriteWhole(filepath.Join(c.OutDir, "config.json"), func(w io.Writer) error { return gpt.WriteConfig(w, c) })
}

// print writes a line, above the bar if there is one.
func (r *report) print(format string, args ...any) {
	if r.bar != nil {
		r.bar.Clear()
	}
	fmt.Fprintf(r.out, format+"\n", args...)
}

func (r *report) step(p train.Progress) error {
	ms := p.Took.Seconds() * 1e3
	speed := float64(p.Tokens) / p.Took.Seconds()
	gflops := p.FLOP / p.Took.Seconds() / 1e9
	done := p.Step - r.from
	eta := time.Duration(float64(time.Since(r.start)) / float64(done) * float64(r.config.MaxIters-p.Step)).Round(time.Second)
	line := fmt.Sprintf("loss %.6f | norm %.2f | lr %.1e | %.1f ms | %.1f GFLOP/s, %.0f%% of peak | %s tok/s | eta %s",
		p.Loss, p.Norm, p.LR, ms, gflops, 100*gflops/r.peak, digits.Thousands(int(speed)), eta)
	if r.bar != nil {
		r.bar.Describe(line)
		if err := r.bar.Set(p.Step); err != nil {
			return err
		}
	} else if p.Step%r.config.LogInterval == 0 {
		r.print("step %d/%d | %s", p.Step, r.config.MaxIters, line)
	}
	return r.metrics.add(stepLine{p.Step, p.Loss, p.LR, p.Norm, round(ms), round(speed), round(gflops)})
}

func (r *report) evaluation(step int, e gpt.Evaluation) error {
	r.print("step %d: train loss %.4f, val loss %.4f, %.4f bits per %s", step, e.Train, e.Val, e.BitsPerChar(), r.unit)
	if err := r.metrics.add(evalLine{step, e.Train, e.Val, e.BitsPerChar()}); err != nil {
		return err
	}
	return r.plot()
}

// evaluated says whether the evaluation at that step is on file: a run that was interrupted before it has it to do.
func (r *report) evaluated(step int) bool {
	n := len(r.metrics.evals)
	return n > 0 && r.metrics.evals[n-1].Step == step
}

func (r *report) fullProgress(done, total int) {
	if r.bar != nil {
		r.bar.Describe(fmt.Sprintf("validating: %s of %s blocks", digits.Thousands(done), digits.Thousands(total)))
	}
}

func (r *report) full(loss float64) error {
	r.print("val loss over the whole split: %.4f nats, %.4f bits per %s", loss, loss/math.Ln2, r.unit)
	if r.floor > 0 {
		r.print("%.4f nats above the text's own %.4f", loss-r.floor, r.floor)
	}
	r.print("saved to %s: checkpoints, metrics.jsonl, config.json, loss.png", r.config.OutDir)
	return r.metrics.add(fullLine{loss})
}

func (r *report) plot() error {
	return errors.Wrap(base.WriteWhole(filepath.Join(r.config.OutDir, "loss.png"), func(w io.Writer) error {
		return plotLosses(w, r.metrics.steps, r.metrics.evals, r.floor)
	}), "loss.png")
}

// Close ends the bar and the metrics file.
func (r *report) Close() error {
	if r.bar != nil {
		r.bar.Clear()
	}
	return r.metrics.Close()
}

func round(x float64) float64 { return math.Round(x*100) / 100 }
