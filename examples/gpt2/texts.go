package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// texts returns the tokens of -tune's file: of a text, or of pairs of prompts and answers. Adapters for such pairs are
// trained in windows of the longest pair, unless block_size is given: their model keeps its context.
func (o *options) texts(ctx context.Context, s source, stderr io.Writer) (c text.Corpus, name string, err error) {
	size := cmp.Or(o.config.BlockSize, s.Config.BlockSize)
	if !strings.HasSuffix(o.data, ".jsonl") {
		source, err := corpus.Open(ctx, o.data, stderr)
		if err != nil {
			return nil, "", err
		}
		c, err = source.Encode(s.tok, size)
		return c, source.Name, err
	}
	if o.config.BlockSize == 0 && !o.full {
		longest, err := chat.LongestExample(o.data, s.tok, s.template)
		if err != nil {
			return nil, "", err
		}
		size = min(size, longest)
		o.config.BlockSize = size
	}
	c, err = chat.LoadAnswers(o.data, s.tok, s.template, size)
	return c, o.data, err
}

// onText trains on a text, with a validation of the entire split before and after.
func onText(
	ctx context.Context, o options, t *gpt.Trainer, what objective, name string, from resumed, stdout, stderr io.Writer,
) error {
	c := t.Config()
	bytes, err := text.BytesPerToken(t.Corpus.Val(), t.Tokenizer)
	if err != nil {
		return err
	}
	units := func(loss float64) string {
		return fmt.Sprintf("%.4f, %.4f bits per byte", loss, text.BitsPerByte(loss, bytes))
	}
	// validate returns the loss over the entire validation split as a line.
	validate := func(ctx context.Context, step int) (string, error) {
		bar := program.NewBar(stderr, "validating", 0, (t.Corpus.Val().Len()-1)/c.BlockSize)
		defer bar.Close()
		loss, err := t.EvaluateAll(ctx, func(done, _ int) { bar.Draw(done) })
		return fmt.Sprintf("step %d: val loss %s\n", step, units(loss)), program.Cause(ctx, err)
	}
	what.about = fmt.Sprintf("%s: %s tokens, and %s to validate on", name,
		program.Thousands(t.Corpus.Train().Len()), program.Thousands(t.Corpus.Val().Len()))
	what.loss = "cross entropy, nats per token"
	what.step = func() (p train.Progress, fields []string, err error) {
		p, err = t.Step()
		return p, nil, err
	}
	what.begin = func(ctx context.Context) error {
		line, err := validate(ctx, 0)
		if err == nil {
			fmt.Fprint(stdout, line)
		}
		return err
	}
	what.measure = func(ctx context.Context) (evaluated, error) {
		e, err := t.Evaluate(ctx)
		line := fmt.Sprintf("step %d: train loss %.4f, val loss %s, by %d batches", t.Done, e.Train, units(e.Val),
			c.EvalIters)
		if c.EMA > 0 {
			line += fmt.Sprintf("; val loss of the averaged weights %.4f", e.ValEMA)
		}
		return evaluated{line, program.EvalLine{
			Step: t.Done, Train: e.Train, Val: e.Val, BitsPerChar: e.BitsPerChar(),
			BitsPerByte: text.BitsPerByte(e.Val, bytes), ValEMA: e.ValEMA,
		}}, err
	}
	what.end = validate
	return o.fit(ctx, t, what, from, bytes, stdout, stderr)
}
