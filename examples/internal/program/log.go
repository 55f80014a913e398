package program

import (
	"fmt"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Log reports on a run: it shows the progress and writes the metrics if they are kept.
type Log struct {
	*Bar
	*Metrics       // nil if they are not kept
	Trouble  error // the first error of a file next to the checkpoints; it does not end the run

	loads []train.Load // the sums over the steps since the last evaluation
}

// Step reports a step of training. The fields are shown before the progress.
func (l *Log) Step(p train.Progress, fields ...string) {
	seconds := p.Took.Seconds()
	speed, gflops := float64(p.Tokens)/seconds, p.FLOP/seconds/1e9
	fields = append(fields, fmt.Sprintf("loss %.6f", p.Loss), fmt.Sprintf("norm %.2f", p.Norm),
		fmt.Sprintf("lr %.1e", p.LR), fmt.Sprintf("%.1f ms", seconds*1e3))
	if p.FLOP > 0 {
		fields = append(fields, fmt.Sprintf("%.1f GFLOP/s", gflops))
	}
	l.Draw(p.Step, append(fields, Thousands(int(speed))+" tok/s")...)
	round := func(x float64) float64 { return Round(x, 2) }
	line := StepLine{Step: p.Step, MaxIters: l.total, ETA: math.Round(l.remaining().Seconds()),
		Loss: p.Loss, LR: p.LR, Norm: p.Norm, Ms: round(seconds * 1e3), TokPerS: round(speed), GFLOPs: round(gflops)}
	l.tally(p.Loads)
	for _, load := range p.Loads {
		own := LoadLine{Layer: load.Mixture, Imbalance: Round(load.Imbalance(), 4)}
		for _, share := range load.Shares {
			own.Load = append(own.Load, Round(share, 4))
		}
		line.Experts = append(line.Experts, own)
	}
	l.Add(line)
}

// tally adds the loads of a step.
func (l *Log) tally(loads []train.Load) {
	if len(l.loads) != len(loads) {
		l.loads = nil
		for _, load := range loads {
			l.loads = append(l.loads, train.Load{Mixture: load.Mixture, Shares: make([]float64, len(load.Shares))})
		}
	}
	for i, load := range loads {
		for e, share := range load.Shares {
			l.loads[i].Shares[e] += share
		}
	}
}

// Starving prints a warning for every mixture whose experts starve in the steps since the last call, and returns them
// for an EvalLine.
func (l *Log) Starving() (list []StarvingLine) {
	for _, load := range l.loads {
		experts := load.Starving()
		if len(experts) == 0 {
			continue
		}
		list = append(list, StarvingLine{Layer: load.Mixture, Experts: experts})
		l.Print("%s: %d of %d experts starve, with less than a tenth of the mean tokens since the last evaluation: "+
			"%s; a larger router_aux_loss_coef balances them", load.Mixture, len(experts), len(load.Shares),
			strings.Trim(fmt.Sprint(experts), "[]"))
	}
	l.loads = nil
	return list
}

// Add writes a line of metrics, if they are kept.
func (l *Log) Add(line any) {
	if l.Metrics != nil {
		l.Keep(l.Metrics.Add(line))
	}
}

// Keep records the error of a file next to the checkpoints, if any.
func (l *Log) Keep(err error) {
	if err != nil && l.Trouble == nil {
		l.Trouble = err
		l.Print("the run continues despite: %s", Shown(err))
	}
}

// Close removes the bar and closes the metrics.
func (l *Log) Close() error {
	l.Bar.Close()
	if l.Metrics == nil {
		return nil
	}
	return l.Metrics.Close()
}
