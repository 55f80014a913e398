package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
)

// progress shows the trials of a study while they are run.
type progress struct {
	out  io.Writer
	most int // the largest number of trials that the study may need

	sync.Mutex
	bar          *program.Bar
	steps        map[string]int // of every trial that has begun
	done, reused int
}

// run runs the trials that have no result yet.
func (p *progress) run(ctx context.Context, s *lab.Study) error {
	s.Watch = p.step
	for t, err := range s.Run(ctx) {
		if ctx.Err() != nil {
			fmt.Fprintf(p.out, "interrupted: %d trials are finished, the others are saved in %s; "+
				"the same command continues\n", p.done, s.Dir)
			return context.Cause(ctx)
		}
		if err != nil {
			p.close()
			return err
		}
		p.trial(t)
	}
	p.close()
	return nil
}

// step shows a step of a trial.
func (p *progress) step(s lab.Step) {
	p.Lock()
	defer p.Unlock()
	if p.bar == nil {
		p.bar, p.steps = program.NewBar(p.out, "", 0, (p.most-p.done)*s.Steps), map[string]int{}
	}
	if _, begun := p.steps[s.Trial.Key]; !begun {
		p.steps[s.Trial.Key] = s.Steps
		p.bar.Of(p.total())
	}
	p.bar.Add(1, "trial %d of %d: %s, seed %d, step %d of %d, loss %.3f", p.done+1, p.most, s.Trial.Arm, s.Trial.Seed,
		s.Step, s.Steps, s.Loss)
}

// total returns the number of steps of the trials that have begun, and for every other one the mean of these.
func (p *progress) total() (sum int) {
	for _, steps := range p.steps {
		sum += steps
	}
	n := len(p.steps)
	return sum + max(0, p.most-p.reused-n)*sum/max(1, n)
}

// trial shows a finished trial.
func (p *progress) trial(t *lab.Trial) {
	p.Lock()
	defer p.Unlock()
	p.done++
	switch {
	case t.Reused && p.bar == nil:
		p.reused++
	case t.Reused || p.bar == nil: // run by another process
	case t.Result.Diverged > 0:
		p.bar.Print("%s, seed %d: diverged at step %d", t.Arm, t.Seed, t.Result.Diverged)
	default:
		p.bar.Print("%s, seed %d: %.4f nats per token, %.1f ms a step", t.Arm, t.Seed, t.Result.Loss, t.Timing.Ms)
	}
}

func (p *progress) close() {
	p.Lock()
	defer p.Unlock()
	if p.bar != nil {
		p.bar.Close()
	}
}
