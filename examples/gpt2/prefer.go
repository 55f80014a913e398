package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/preference"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// scores holds the functions that score an answer, by name: 1 for a right one, otherwise 0.
var scores = map[string]func(want, got string) bool{
	"equal":    func(want, got string) bool { return strings.TrimSpace(want) == strings.TrimSpace(got) },
	"contains": func(want, got string) bool { return strings.Contains(got, strings.TrimSpace(want)) },
}

// scoreNames lists the scores.
func scoreNames() []string { return slices.Sorted(maps.Keys(scores)) }

// dpoFlags adds the flags of the command dpo.
func (o *options) dpoFlags(fs *program.FlagSet) {
	o.dataFlag(fs, "JSON lines of pairs of answers to tune on, by direct preference optimization: "+
		`{"prompt": "…", "chosen": "…", "rejected": "…"}`)
	o.tuningFlags(fs, unjudged()...)
	fs.Group("preferences", "pairs of answers", func(fs *flag.FlagSet) {
		fs.Float64Var(&o.beta, "beta", o.beta, "how closely the model stays to the one before")
	})
	fs.Often(often + " beta")
}

// grpoFlags adds the flags of the command grpo.
func (o *options) grpoFlags(fs *program.FlagSet) {
	o.dataFlag(fs, "JSON lines of prompts with right answers to tune on, by group relative policy optimization of the "+
		`model's own answers: {"prompt": "…", "answer": "…"}`)
	o.tuningFlags(fs, append(unjudged(), "dropout")...)
	fs.Group("preferences", "answers and their scores", func(fs *flag.FlagSet) {
		fs.Float64Var(&o.beta, "beta", o.beta, "weight of the penalty for leaving the model before; 0 is none")
		fs.IntVar(&o.group, "group", o.group, "number of answers to a prompt")
		fs.IntVar(&o.length, "tokens", o.length, "largest number of tokens of an answer")
		fs.StringVar(&o.score, "score", o.score, "when an answer is right: equal, or contains the right one")
		fs.IntVar(&o.updates, "updates", o.updates, "number of steps with the same answers")
		fs.Float64Var(&o.clip, "clip", o.clip, "limit of the change of a token's probability in these steps")
	})
	fs.Old("length", "tokens")
	fs.Often(often + " beta group tokens score updates clip")
}

// often names the flags of tuning on preferences that are used often.
const often = "model data full template block_size batch_size gradient_accumulation_steps max_iters learning_rate " +
	"lora_r " +
	"seed threads out_dir resume"

// unjudged names the fields that tuning on preferences does not read: it is judged at the end, by other numbers than
// the loss.
func unjudged() []string { return []string{"eval_iters", "patience", "label_smoothing", "z_loss"} }

// dpo tunes a model on pairs of answers, and compares it with the one before on pairs that are held out.
func dpo(ctx context.Context, o options, s source, from resumed, stdout, stderr io.Writer) error {
	pairs, held, err := heldOut(s, o.data, chat.LoadPairs)
	if err != nil {
		return err
	}
	bar := program.NewBar(stderr, "reading", 0, 2*len(pairs))
	defer bar.Close()
	d, err := preference.NewDPO(o.config, o.beta, pairs, s.tok, s.Source, func(done, _ int) { bar.Draw(done) })
	if err != nil {
		return program.Cause(ctx, err)
	}
	bar.Close()
	if d.Cut > 0 {
		fmt.Fprintf(stdout, "prompts cut at their beginning to a context of %d tokens: before %s answers\n",
			d.Config().BlockSize, program.Thousands(d.Cut))
	}
	what := o.tuned(s, from, d.Trainer)
	what.loss = "objective of DPO"
	what.step = func() (p train.Progress, fields []string, err error) {
		p, err = d.Step()
		return p, nil, err
	}
	judge := func(draw func(done, total int)) (string, error) {
		list, err := d.Judge(ctx, held, draw)
		if err != nil {
			return "", err
		}
		var before, now, likelier, likely []float64
		for _, j := range list {
			before, now = append(before, j.Loss(0)), append(now, j.Loss(o.beta))
			likely, likelier = append(likely, share(j.Before > 0)), append(likelier, share(j.Now > 0))
		}
		return fmt.Sprintf("loss %s\nthe chosen answer is the likelier one: %s\n", compared(before, now, o.config.Seed),
			compared(likely, likelier, o.config.Seed)), nil
	}
	run := preferred{what, "pairs", o.data, len(pairs), len(held), judge}
	return run.fit(ctx, o, d.Trainer, from, stdout, stderr)
}

// grpo tunes a model on its own answers to prompts, and compares it with the one before on prompts that are held out.
func grpo(ctx context.Context, o options, s source, from resumed, stdout, stderr io.Writer) error {
	prompts, held, err := heldOut(s, o.data, chat.LoadPrompts)
	if err != nil {
		return err
	}
	group := preference.Group{
		Size: o.group, Length: o.length, Updates: o.updates, Clip: o.clip, Beta: o.beta,
		Score: func(p text.Prompt, answer string) (float64, error) {
			if p.Answer == "" {
				return 0, errors.Errorf("the prompt %.64q has no answer to compare with", p.Text)
			}
			return share(scores[o.score](p.Answer, answer)), nil
		},
	}
	if group.Stop, err = folder.Ends(s.Checkpoint, s.tok); err != nil {
		return err
	}
	g, err := preference.NewGRPO(o.config, group, prompts, s.tok, s.Source)
	if err != nil {
		return program.Cause(ctx, err)
	}
	what := o.tuned(s, from, g.Trainer)
	what.loss = "objective of GRPO"
	what.files = func() ([]checkpoint.File, error) { return g.TuningFiles(s.Checkpoint.Path) }
	what.restore = func(cp *checkpoint.Checkpoint) error { return g.Restore(ctx, cp) }
	what.step = func() (train.Progress, []string, error) {
		p, r, err := g.Step(ctx)
		return p, []string{fmt.Sprintf("reward %.3f", r.Reward), fmt.Sprintf("%.1f tokens", r.Length),
			fmt.Sprintf("%.0f %% ended", 100*r.Ended)}, err
	}
	judge := func(draw func(done, total int)) (string, error) {
		before, now, err := g.Judge(ctx, held, draw)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("mean reward %s\n", compared(before, now, o.config.Seed)), nil
	}
	run := preferred{what, "prompts", o.data, len(prompts), len(held), judge}
	return run.fit(ctx, o, g.Trainer, from, stdout, stderr)
}

// heldOut reads the lines of a file: the first nine tenths are to train on, the rest is held out.
func heldOut[T any](
	s source, path string, load func(path string, tok text.Tokenizer, t chat.Template) ([]T, error),
) (train, held []T, err error) {
	list, err := load(path, s.tok, s.template)
	if err != nil {
		return nil, nil, err
	}
	n := len(list) * 9 / 10
	if n < 1 {
		return nil, nil, errors.Errorf("%s: got %d lines, want at least 2: one to train on, one to hold out",
			path, len(list))
	}
	return list[:n], list[n:], nil
}

// share returns 1 for yes, and 0 for no: its mean is the share of yes.
func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// compared describes the means of two lists, and the mean of their differences by Student's paired t.
func compared(before, now []float64, seed uint64) string {
	mean := func(list []float64) (m float64) {
		for _, x := range list {
			m += x / float64(len(list))
		}
		return m
	}
	s := fmt.Sprintf("%.4f before, %.4f now", mean(before), mean(now))
	c, err := paired.Compare(now, before, seed)
	if err != nil { // fewer than two
		return s
	}
	return s + fmt.Sprintf(": %+.4f, 95 %% from %+.4f to %+.4f, p = %.2g", c.Mean, c.Low, c.High, c.P)
}

// preferred is a tuning on preferences.
type preferred struct {
	objective
	what, name    string // of the data
	trained, held int
	judge         func(draw func(done, total int)) (string, error)
}

// fit trains, and compares the model with the one before.
func (p preferred) fit(ctx context.Context, o options, t *gpt.Trainer, from resumed, stdout, stderr io.Writer) error {
	p.about = fmt.Sprintf("%s: %s %s, and %s held out", p.name, program.Thousands(p.trained), p.what,
		program.Thousands(p.held))
	p.end = func(_ context.Context, step int) (string, error) {
		bar := program.NewBar(stderr, "judging", 0, 2*p.held)
		defer bar.Close()
		said, err := p.judge(func(done, total int) { bar.Of(total); bar.Draw(done) })
		return fmt.Sprintf("step %d, on the %s held out:\n%s", step, p.what, said), err
	}
	return o.fit(ctx, t, p.objective, from, 0, stdout, stderr)
}
