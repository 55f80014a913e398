package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// checking compares the results of a folder with published ones.
type checking struct {
	report
	ctx    context.Context
	stderr io.Writer
	dir    string
	full   gpt.Config // as in the folder
	model  *gpt.Model // with no more context than the checks need
	tok    text.Tokenizer
	source corpus.Source
	known  known
}

// check compares a folder with everything that is known of its model and of every model, one result per line.
func check(ctx context.Context, o options, list []known, stdout, stderr io.Writer) error {
	c := checking{report: report{out: stdout}, ctx: ctx, stderr: stderr, dir: o.model}
	var err error
	if c.model, c.tok, err = openAt(o.model, 0); err != nil {
		return err
	}
	base.NoteTokens(c.tok, stderr)
	c.full = c.model.Config
	if k := recognise(list, c.full); k != nil {
		c.known = *k
		fmt.Fprintf(stdout, "%s: by its sizes this is %s\n", o.model, k.name)
	} else {
		fmt.Fprintf(stdout, "%s: no published results for a model of these sizes; "+
			"only the checks for every model run\n", o.model)
	}
	if b := c.known.batch; b != nil && b.width < c.full.BlockSize {
		if c.model, c.tok, err = openAt(o.model, b.width); err != nil {
			return err
		}
	}
	if c.source, err = corpus.Open(ctx, o.data, stderr); err != nil {
		return err
	}
	for _, check := range []func(){
		c.files, c.parameters, c.encodings, c.corpus, c.comesBack, c.continuations, c.again, c.byHand, c.batch,
	} {
		if check(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return c.end()
}

// parameters compares the number of parameters with that computed from the sizes and the published one.
func (c *checking) parameters() {
	there := int64(0)
	for _, p := range c.model.Params() {
		there += int64(p.Tensor().Len())
	}
	counted, _ := c.model.Config.Count()
	c.say(there == counted, "numbers in the model",
		program.Thousands(there), program.Thousands(counted)+" by its sizes")
	if c.known.parameters > 0 {
		full, _ := c.full.Count()
		c.say(full == c.known.parameters, "parameters",
			program.Thousands(full), program.Thousands(c.known.parameters))
	}
}

// continuations compares the model's continuations, with the likeliest token at each step, with the published ones.
func (c *checking) continuations() {
	if len(c.known.greedy) == 0 {
		return
	}
	d, err := gpt.NewDecoder(c.model, 1)
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

// greedy draws the known number of tokens, or as many as the known text can have.
func (c *checking) greedy(d *decode.Session, k continuation) (more []int, err error) {
	ids, n := k.ids, len(k.more)
	if k.text != "" {
		n = len(k.text)
		if ids, err = c.tok.Encode(k.prompt); err != nil {
			return nil, err
		}
	}
	likeliest := search.NewSampler(1)
	likeliest.Temperature = 0
	n = min(n, c.model.Config.BlockSize-len(ids))
	for token, err := range d.Generate(c.ctx, [][]int{ids}, n, []*search.Sampler{likeliest}) {
		if err != nil {
			return nil, err
		}
		more = append(more, token.ID)
	}
	return more, nil
}
