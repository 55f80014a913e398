package verdict

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
)

// arm is a configuration to train, under a name.
type arm struct {
	name    string
	config  gpt.Config
	version string // of the user's code in it
}

// named returns an arm of the baseline or of the idea, whose name ends with the given one.
func (j *judge) named(idea bool, name string, c gpt.Config) arm {
	if idea {
		return arm{j.idea.Name + ", " + name, c, j.idea.Version}
	}
	return arm{"baseline, " + name, c, ""}
}

// series is a number of seeds of arms on a text.
type series struct {
	stage string
	text  lab.Text
	arms  []arm
	first uint64 // the first seed
	seeds int
}

// tuningSeeds is the distance from the seeds of the comparison to the seeds that choose rates, and confirming the
// distance to the seeds that confirm accuracies.
const tuningSeeds, confirming = 1 << 32, 1 << 33

// run trains what is not kept yet, and returns the trials of each arm by its name, in the order of the seeds.
func (j *judge) run(s series) (map[string][]*lab.Trial, error) {
	study := &lab.Study{
		Name: "verdict", Base: s.arms[0].config, Texts: []lab.Text{s.text}, Seeds: s.seeds, Dir: j.Dir,
		Jobs: j.Jobs, NoVerdict: true,
	}
	study.Base.Seed, study.Base.Threads = s.first, j.Jobs
	for _, a := range s.arms {
		config := a.config
		config.Threads = j.Jobs // one for each trial
		study.Arms = append(study.Arms, lab.Arm{Name: a.name, Version: a.version,
			Change: func(c *gpt.Config) { *c = config }})
	}
	j.pace.begin(s)
	study.Watch = func(step lab.Step) { j.pace.step(step) }
	trials := map[string][]*lab.Trial{}
	for t, err := range study.Run(j.ctx) {
		if j.ctx.Err() != nil {
			return nil, context.Cause(j.ctx)
		}
		if err != nil {
			return nil, err
		}
		trials[t.Arm] = append(trials[t.Arm], t)
		if t.Reused {
			j.pace.skip(t)
		}
		if !slices.Contains(j.keys, t.Key) {
			j.keys = append(j.keys, t.Key)
		}
	}
	for _, list := range trials {
		slices.SortFunc(list, func(a, b *lab.Trial) int { return int(int64(a.Seed) - int64(b.Seed)) })
	}
	return trials, nil
}

// pace says how far the trials are, in FLOPs.
type pace struct {
	watch       func(Progress)
	began       time.Time // the first trial
	stage       string
	weight      float64 // of a step of the present series, the mean
	done, total float64 // trained in this call, and planned for it
}

// plan adds the work of n trials of some steps.
func (p *pace) plan(n, steps float64, c gpt.Config) { p.total += n * steps * weight(c) }

// weight returns the FLOPs of a step.
func weight(c gpt.Config) float64 {
	return gpt.FLOPsPerToken(c) * float64(c.BatchSize*c.GradientAccumulationSteps*c.BlockSize)
}

func (p *pace) begin(s series) {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	p.stage, p.weight = s.stage, 0
	for _, a := range s.arms {
		p.weight += weight(a.config) / float64(len(s.arms))
	}
}

func (p *pace) step(s lab.Step) {
	p.done += p.weight
	p.draw(fmt.Sprintf("%s: %s, seed %d, step %d of %d, loss %.3f", p.stage, s.Trial.Arm, s.Trial.Seed, s.Step,
		s.Steps, s.Loss))
}

// skip leaves out a trial that was kept.
func (p *pace) skip(t *lab.Trial) { p.total -= float64(t.Result.Steps) * p.weight }

// draw tells the caller.
func (p *pace) draw(stage string) {
	if p.watch == nil {
		return
	}
	g := Progress{Stage: stage}
	if p.done > 0 {
		p.total = max(p.total, p.done)
		g.Share = p.done / p.total
		g.left = time.Duration(float64(time.Since(p.began)) * (p.total - p.done) / p.done)
	}
	p.watch(g)
}
