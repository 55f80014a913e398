package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// errBusy is the error for a trial that another process, or another goroutine, runs.
var errBusy = errors.New("run by another process")

// stateFile is the file of a trial's checkpoint with what the trainer does not keep.
const stateFile = "lab.json"

// state is the content of stateFile.
type state struct {
	Steps  int     `json:"steps"` // of the trial, which a budget of seconds measures at its start
	Curve  []Point `json:"curve"`
	Timing Timing  `json:"timing"`
}

// one is a trial that is being run.
type one struct {
	study *Study
	*Trial
	*gpt.Trainer
	Steps  int
	Curve  []Point
	Timing Timing
	dir    *checkpoint.Dir
	watch  func(Step)
	at     int // the step whose numbers are being computed
}

// run runs t from its last checkpoint to its end, and keeps its result. When ctx ends, it saves a checkpoint.
func (s *Study) run(ctx context.Context, t *Trial, watch func(Step)) error {
	dir, err := checkpoint.Open(s.trialOf(t))
	if errors.Is(err, checkpoint.ErrLocked) || errors.Is(err, fs.ErrNotExist) { // another process is clearing it
		return errBusy
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if found, err := s.recall(t); found || err != nil { // another process has just finished it
		t.Reused = found
		return cmp.Or(err, s.clear(t))
	}
	o := &one{study: s, Trial: t, dir: dir, watch: watch}
	err = o.whole(ctx)
	switch {
	case errors.Is(err, graph.ErrNotFinite):
		t.Result.Diverged, err = max(o.at, 1), nil
	case err != nil && ctx.Err() != nil && o.Trainer != nil:
		err = cmp.Or(o.save(), err)
	}
	if err != nil {
		return errors.WithMessagef(err, "arm %q, seed %d", t.Arm, t.Seed)
	}
	o.summarise()
	if err := s.keep(t); err != nil {
		return err
	}
	return s.clear(t)
}

// whole trains and measures.
func (o *one) whole(ctx context.Context) error {
	if err := o.open(ctx); err != nil {
		return err
	}
	if err := o.train(ctx); err != nil {
		return err
	}
	if err := o.certify(); err != nil {
		return err
	}
	return o.measure(ctx)
}

// open builds the trainer, in the state of the last checkpoint if there is one.
func (o *one) open(ctx context.Context) error {
	c, corpus, tok := o.config, o.text.Corpus, o.text.Tokenizer
	c.Context = ctx
	cp, err := o.dir.Load(gpt.Fits(c.Parts))
	if errors.Is(err, checkpoint.ErrNone) {
		if err := Causal(ctx, c); err != nil {
			return err
		}
		if o.Steps = c.MaxIters; o.study.Budget.Timed() {
			if c, err = o.timed(c); err != nil {
				return err
			}
		}
		trainer, err := gpt.NewTrainer(c, corpus, tok)
		return o.begin(trainer, err)
	}
	if err != nil {
		return err
	}
	defer cp.Close()
	data, err := cp.File(stateFile)
	if err == nil {
		var was state
		err = field.Unmarshal(data, &was)
		o.Steps, o.Curve, o.Timing = was.Steps, was.Curve, was.Timing
	}
	if err != nil {
		return errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if o.study.Budget.Timed() {
		if c, err = lasting(c, float64(o.Steps)); err != nil {
			return err
		}
	}
	trainer, err := gpt.Resume(c, corpus, tok, cp)
	return o.begin(trainer, err)
}

// begin sets the trainer, unless it could not be built.
func (o *one) begin(t *gpt.Trainer, err error) error {
	if err == nil {
		o.Trainer = t
	}
	return err
}

// timed returns c with the number of steps that the budget's seconds allow, from the time of a few steps of a trainer
// that is thrown away. The first, which is slower, is not timed.
func (o *one) timed(c gpt.Config) (gpt.Config, error) {
	trainer, err := gpt.NewTrainer(c, o.text.Corpus, o.text.Tokenizer)
	if err != nil {
		return c, err
	}
	const few = 5
	var took time.Duration
	for i := range 1 + few {
		p, err := trainer.Step()
		if err != nil {
			return c, err
		}
		if i > 0 {
			took += p.Took
		}
	}
	c, err = lasting(c, o.study.Budget.Seconds*few/took.Seconds())
	o.Steps = c.MaxIters
	return c, err
}

// train does the remaining steps, with the evaluations of the curve. Whenever it stops, a checkpoint of the present
// step continues it: an evaluation that is due and missing is done first.
func (o *one) train(ctx context.Context) error {
	every, saved := cmp.Or(o.study.every, time.Minute), time.Now()
	for first := true; ; first = false {
		if err := o.evaluate(ctx); err != nil || o.Done >= o.Steps {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Since(saved) >= every {
			if err := o.save(); err != nil {
				return err
			}
			saved = time.Now()
		}
		o.at = o.Done + 1
		p, err := o.Step()
		if err != nil {
			return err
		}
		o.Timing.Seconds += p.Took.Seconds()
		if !first {
			n := float64(o.Timing.Steps)
			o.Timing.Ms = (o.Timing.Ms*n + p.Took.Seconds()*1e3) / (n + 1)
			o.Timing.Steps++
		}
		if o.watch != nil {
			o.watch(Step{o.Trial, o.Steps, p})
		}
	}
}

// evaluate adds a point to the curve if one is due.
func (o *one) evaluate(ctx context.Context) error {
	due := o.Done > 0 && (o.Done%o.config.EvalInterval == 0 || o.Done == o.Steps)
	if n := len(o.Curve); !due || n > 0 && o.Curve[n-1].Step == o.Done {
		return nil
	}
	o.at = o.Done
	e, err := o.Evaluate(ctx)
	if err == nil {
		o.Curve = append(o.Curve, Point{o.Done, e.Train, e.Val})
	}
	return err
}

// measure computes the loss and the measures at the end of the trial.
func (o *one) measure(ctx context.Context) (err error) {
	o.at = o.Done
	if o.Result.Loss, err = o.EvaluateAll(ctx, nil); err != nil {
		return err
	}
	for _, m := range o.study.measures(*o.text) {
		v, err := m.Of(ctx, o.Trainer)
		if err != nil {
			return errors.Wrapf(err, "measure %q", m.Name)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.Errorf("measure %q: got %v, want a finite number", m.Name, v)
		}
		list := &o.Result.Measures
		if m.Timed {
			list = &o.Timing.Measures
		}
		if *list == nil {
			*list = map[string]float64{}
		}
		(*list)[m.Name] = v
	}
	return nil
}

// summarise completes the result of a trial that has ended or diverged.
func (o *one) summarise() {
	r, c := &o.Result, o.config
	r.Parameters, _ = c.Count()
	r.Curve, o.Trial.Timing = o.Curve, o.Timing
	r.Steps = o.Steps
	if r.Diverged > 0 {
		r.Loss, r.Measures, r.Steps, r.Chain = 0, nil, r.Diverged, ""
	}
	r.Tokens = float64(r.Steps) * float64(c.BatchSize*c.GradientAccumulationSteps) * float64(c.BlockSize)
	r.FLOPs = r.Tokens * gpt.FLOPsPerToken(c)
}

// certify writes the certificate of the steps into the study.
func (o *one) certify() error {
	files, err := o.Files()
	if err != nil {
		return err
	}
	c, err := train.Certify(files)
	if err != nil {
		return err
	}
	data, err := c.Encode()
	if err != nil {
		return err
	}
	o.Result.Chain = c.Last().Digest
	if o.study.Dir == "" { // a trial that is repeated
		return nil
	}
	return file.Replace(o.study.certificateOf(o.Trial), func(w io.Writer) error { _, err := w.Write(data); return err })
}

// save writes a checkpoint of the present step.
func (o *one) save() error {
	files, err := o.Files()
	if err != nil {
		return err
	}
	data, err := json.Marshal(state{o.Steps, o.Curve, o.Timing})
	if err != nil {
		return err
	}
	own := checkpoint.File{Name: stateFile, Write: func(w io.Writer) error { _, err := w.Write(data); return err }}
	return o.dir.Save(o.Done, append(files, own))
}
