package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/verify/known"
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
	known  known.Model
}

// checkFlags adds the flags of the command check.
func (o *options) checkFlags(fs *program.FlagSet) {
	o.modelFlags(fs, false)
	o.dataFlag(fs, "text; by default tinyshakespeare, which the results are for, downloaded once")
	fs.Old("check", "")
}

// checkKnown is check with the models of verify/known.
func checkKnown(ctx context.Context, o options, stdout, stderr io.Writer) error {
	return check(ctx, o, known.Models(), stdout, stderr)
}

// check compares a folder with everything that is known of its model and of every model, one result per line.
func check(ctx context.Context, o options, list []known.Model, stdout, stderr io.Writer) error {
	c := checking{report: report{out: stdout}, ctx: ctx, stderr: stderr, dir: o.model}
	var err error
	if c.model, c.tok, err = openAt(o.model, 0); err != nil {
		return err
	}
	c.full = c.model.Config
	if k := recognise(list, c.full); k != nil {
		c.known = *k
		fmt.Fprintf(stdout, "%s: by its sizes this is %s\n", o.model, k.Name)
	} else {
		fmt.Fprintf(stdout, "%s: no published results for a model of these sizes; "+
			"only the checks for every model run\n", o.model)
	}
	if b := c.known.Batch; b != nil && b.Width < c.full.BlockSize {
		if c.model, c.tok, err = openAt(o.model, b.Width); err != nil {
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
	if c.known.Parameters > 0 {
		full, _ := c.full.Count()
		c.say(full == c.known.Parameters, "parameters",
			program.Thousands(full), program.Thousands(c.known.Parameters))
	}
}

// continuations compares the model's continuations, with the likeliest token at each step, with the published ones.
func (c *checking) continuations() {
	if len(c.known.Greedy) == 0 {
		return
	}
	d, err := gpt.NewDecoder(c.model, 1)
	if err != nil {
		c.failure("going on", err)
		return
	}
	for _, k := range c.known.Greedy {
		what := fmt.Sprintf("going on with %q%v", k.Prompt, k.IDs)
		more, err := c.greedy(d, k)
		if err != nil {
			c.failure(what, err)
			continue
		}
		if k.Text == "" {
			equal(&c.report, what, fmt.Sprint(more), fmt.Sprint(k.More))
			continue
		}
		s, err := c.tok.Decode(more)
		if err != nil {
			c.failure(what, err)
			continue
		}
		equal(&c.report, what, fmt.Sprintf("%q", s[:min(len(s), len(k.Text))]), fmt.Sprintf("%q", k.Text))
	}
}

// greedy draws the known number of tokens, or as many as the known text can have.
func (c *checking) greedy(d *decode.Session, k known.Continuation) (more []int, err error) {
	ids, n := k.IDs, len(k.More)
	if k.Text != "" {
		n = len(k.Text)
		if ids, err = c.tok.Encode(k.Prompt); err != nil {
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

// recognise returns the published model with the sizes of c, or nil if none has them.
func recognise(list []known.Model, c gpt.Config) *known.Model {
	for _, k := range list {
		if k.Layers == c.NLayer && k.Heads == c.NHead && k.Embedding == c.NEmbd && k.Vocab == c.VocabSize {
			return &k
		}
	}
	return nil
}
