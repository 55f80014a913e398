package verdict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pkg/errors"
)

// Idea is a change of the baseline.
type Idea struct {
	lab.Arm
	Cases []verify.Case // optional: its layers, with their gradients by hand
}

// Protocol names the baseline of an idea, the text, and the time there is.
type Protocol struct {
	Text lab.Text // to train on
	Dir  string   // of the trials and of the report, which several ideas may share

	// These fields are optional.
	Base    gpt.Config     // the baseline; by default Baseline
	Minutes float64        // about the longest time that Judge takes; 0 means 60
	Plan    Plan           // what is trained; its fields that are 0 follow from Minutes and this machine
	Jobs    int            // the number of trials at once, with one thread each; 0 means one per processor
	Watch   func(Progress) // called after every step
}

// Progress says how far Judge is.
type Progress struct {
	Stage string        // such as "text, 64×3"
	Share float64       // of the trials, 0 to 1
	left  time.Duration // about
}

// String returns the progress in one line.
func (p Progress) String() string {
	return fmt.Sprintf("%3.0f %%, eta %v: %s", 100*p.Share, p.left.Round(time.Second), p.Stage)
}

// Baseline returns the best known recipe: gpt.Modern, which the studies of examples/lab have chosen.
func Baseline() gpt.Config { return gpt.Modern() }

// judge is a Judge under way.
type judge struct {
	Protocol
	ctx    context.Context
	idea   Idea
	faster float64 // learning_rate of the idea / of the baseline
	pace   pace
	*Report
}

// Judge asks all questions about an idea. An idea that is wrong is not trained: the report then says why. When ctx
// ends, Judge returns its cause, and another call with the same Protocol continues.
func Judge(ctx context.Context, idea Idea, p Protocol) (*Report, error) {
	j, err := newJudge(ctx, idea, p)
	if err != nil {
		return nil, err
	}
	for _, stage := range []func() error{j.recall, j.check, j.measure, j.settle, j.askTasks, j.askText} {
		if err := stage(); err != nil {
			return nil, errors.WithMessagef(err, "verdict on %s", idea.Name)
		}
		if j.Wrong() {
			break
		}
	}
	j.answer()
	return j.Report, errors.WithMessagef(j.keep(), "verdict on %s", idea.Name)
}

// newJudge checks what is asked.
func newJudge(ctx context.Context, idea Idea, p Protocol) (*judge, error) {
	if p.Base.NEmbd == 0 {
		p.Base = Baseline()
	}
	p.Minutes = cmp.Or(p.Minutes, 60)
	if p.Jobs == 0 {
		p.Jobs = runtime.GOMAXPROCS(0)
	}
	switch {
	case ctx == nil:
		return nil, errors.New("verdict: no context (nil)")
	case idea.Name == "":
		return nil, errors.New("verdict: name of the idea: empty, want a few words")
	case len(idea.Set) == 0 && idea.Change == nil:
		return nil, errors.Errorf("verdict on %s: got no change, want Set or Change", idea.Name)
	case p.Text.Corpus == nil || p.Text.Tokenizer == nil:
		return nil, errors.New("verdict: text: got no corpus or no tokenizer")
	case p.Dir == "":
		return nil, errors.New("verdict: dir: empty, want a directory for the trials")
	case !(p.Minutes > 0) || p.Minutes > 1e5:
		return nil, errors.Errorf("verdict: minutes: got %v, want more than 0, at most 100000", p.Minutes)
	case p.Jobs < 1:
		return nil, errors.Errorf("verdict: jobs: got %d, want 0 or more", p.Jobs)
	}
	p.Base.VocabSize = p.Text.Tokenizer.Size()
	p.Plan = p.Plan.filled(planned(p.Minutes, p.Base))
	if err := p.Plan.check(); err != nil {
		return nil, errors.WithMessage(err, "verdict")
	}
	j := &judge{Protocol: p, ctx: ctx, idea: idea, Report: &Report{
		Idea: idea.Name, Set: idea.Set, Version: idea.Version, Minutes: p.Minutes, Text: p.Text.Name,
		TextSHA256: p.Text.Corpus.SHA256(), Plan: p.Plan,
	}}
	j.pace.watch = p.Watch
	c, err := idea.Apply(p.Base)
	if err != nil {
		return nil, errors.WithMessagef(err, "verdict on %s", idea.Name)
	}
	j.possible()
	j.faster = c.LearningRate / p.Base.LearningRate
	if !(j.faster > 0) || math.IsInf(j.faster, 1) {
		return nil, errors.Errorf("verdict on %s: learning_rate: got %v, and %v of the baseline, want numbers above 0",
			idea.Name, c.LearningRate, p.Base.LearningRate)
	}
	return j, nil
}

// possible leaves out the sizes that the idea does not permit, such as a single block, if two others remain.
func (j *judge) possible() {
	var sizes []Size
	var refused []string
	for _, s := range j.Report.Plan.Sizes {
		c, err := j.idea.Apply(s.apply(j.Base))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			refused = append(refused, fmt.Sprintf("%v: %v", s, err))
			continue
		}
		sizes = append(sizes, s)
	}
	if len(sizes) < 2 {
		return // Judge will say why
	}
	j.Report.Plan.Sizes = sizes
	for _, reason := range refused {
		j.leave("%s", reason)
	}
}

// Folder returns the directory of the report on an idea, in the directory of a Protocol.
func Folder(dir, idea string) string {
	return filepath.Join(dir, "idea "+strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-=,*", r) {
			return r
		}
		return '_'
	}, idea))
}
