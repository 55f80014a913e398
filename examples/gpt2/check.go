package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// checking is a folder that is asked questions, and what is known of the answers.
type checking struct {
	report
	ctx    context.Context
	stderr io.Writer
	dir    string
	whole  gpt.Config // as the folder says
	model  *gpt.Model // of no more context than the questions need
	tok    text.Tokenizer
	source corpus.Source
	known  known
}

// check asks a folder all that is known of its model, and what holds of every model, one question a line.
func check(ctx context.Context, o options, list []known, stdout, stderr io.Writer) error {
	c := checking{report: report{out: stdout}, ctx: ctx, stderr: stderr, dir: o.model}
	var err error
	if c.model, c.tok, err = openAt(o.model, 0); err != nil {
		return err
	}
	base.NoteTokens(c.tok, stderr)
	c.whole = c.model.Config
	if k := recognise(list, c.whole); k != nil {
		c.known = *k
		fmt.Fprintf(stdout, "%s: by its sizes this is %s\n", o.model, k.name)
	} else {
		fmt.Fprintf(stdout, "%s: of a model of these sizes nothing is known here but what holds of every one\n", o.model)
	}
	if b := c.known.batch; b != nil && b.width < c.whole.BlockSize {
		if c.model, c.tok, err = openAt(o.model, b.width); err != nil {
			return err
		}
	}
	if c.source, err = corpus.Open(ctx, o.data, stderr); err != nil {
		return err
	}
	for _, ask := range []func(){c.files, c.parameters, c.encodings, c.corpus, c.comesBack, c.continuations, c.again, c.byHand, c.batch} {
		if ask(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return c.end()
}

// parameters compares how many numbers there are with what the sizes make, and with what is known.
func (c *checking) parameters() {
	there := int64(0)
	for _, p := range c.model.Params() {
		there += int64(p.Tensor().Len())
	}
	made, _ := c.model.Config.Count()
	c.say(there == made, "numbers in the model", program.Thousands(there), program.Thousands(made)+" by its sizes")
	if c.known.parameters > 0 {
		whole, _ := c.whole.Count()
		c.say(whole == c.known.parameters, "parameters", program.Thousands(whole), program.Thousands(c.known.parameters))
	}
}

// continuations compares what the model goes on with when it takes the likeliest token each time.
func (c *checking) continuations() {
	if len(c.known.greedy) == 0 {
		return
	}
	d, err := gpt.NewDecoder(c.model)
	if err != nil {
		c.failure("going on", err)
		return
	}
	for _, k := range c.known.greedy {
		what := fmt.Sprintf("going on with %q%v", k.prompt, k.ids)
		more, err := c.greedy(d, k)
		if err != nil {
			c.failure(what, err)
			continue
		}
		if k.text == "" {
			equal(&c.report, what, fmt.Sprint(more), fmt.Sprint(k.more))
			continue
		}
		s, err := c.tok.Decode(more)
		if err != nil {
			c.failure(what, err)
			continue
		}
		equal(&c.report, what, fmt.Sprintf("%q", s[:min(len(s), len(k.text))]), fmt.Sprintf("%q", k.text))
	}
}

// greedy draws as many tokens as are known, or as a text can have.
func (c *checking) greedy(d *gpt.Decoder, k continuation) (more []int, err error) {
	ids, n := k.ids, len(k.more)
	if k.text != "" {
		n = len(k.text)
		if ids, err = c.tok.Encode(k.prompt); err != nil {
			return nil, err
		}
	}
	likeliest := search.NewSampler(1)
	likeliest.Temperature = 0
	for id, err := range d.Generate(c.ctx, ids, min(n, c.model.Config.BlockSize-len(ids)), likeliest) {
		if err != nil {
			return nil, err
		}
		more = append(more, id)
	}
	return more, nil
}
