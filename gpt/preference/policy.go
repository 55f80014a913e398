package preference

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// policy is a model that is being tuned, with the logarithms of the probabilities that it gives to the tokens of a
// batch.
type policy struct {
	trainer *gpt.Trainer
	context int            // the number of tokens of a row
	forward *graph.Program // computes ln π(target) for each target that counts, and 0 for the others  (B, T)
	start   []graph.Tensor // the trained parameters before the tuning
}

// objective declares a loss and its inputs on the graph of logits.
type objective[Inputs any] func(logits, targets graph.Expr) (loss graph.Expr, in Inputs)

// newPolicy builds the trainer of an objective for the weights of a checkpoint. It returns the objective's inputs on
// the trainer's graph. fill fills each micro-batch. The texts are the data of the run.
func newPolicy[Inputs any](
	c gpt.Config, texts iter.Seq[text.Choice], tok text.Tokenizer, from gpt.Source, o objective[Inputs],
	fill func(step, micro int, x, y []int) error,
) (p *policy, in Inputs, err error) {
	if c.Hooks.Loss != nil || c.Hooks.Fill != nil {
		return nil, in, errors.New("hooks: got a Loss or a Fill, want neither: the objective has its own")
	}
	type declared struct {
		in       Inputs
		logProbs graph.Expr
	}
	on := map[*graph.Graph]declared{} // the trainer counts parameters and memory on graphs of their own
	c.Hooks.Fill = fill
	c.Hooks.Loss = func(logits, targets graph.Expr) graph.Expr {
		loss, in := o(logits, targets)
		if rows := logits.Shape(); len(rows) == 2 {
			on[logits.Graph()] = declared{in, nn.LogProbs(logits, targets).Reshape(c.BatchSize, rows[0]/c.BatchSize)}
		}
		return loss
	}
	none, err := text.Rows(func(yield func([]int, []int) bool) { yield([]int{0}, []int{text.Ignore}) }, 1)
	if err != nil {
		return nil, in, err
	}
	t, err := gpt.FineTune(c, text.Dataset{Training: none, Validation: none, Sum: digest(texts)}, tok, from)
	if err != nil {
		return nil, in, err
	}
	found := on[t.Model.Graph]
	p = &policy{trainer: t, context: t.Config().BlockSize}
	for _, w := range t.Model.Trainable() {
		p.start = append(p.start, w.Tensor().Clone())
	}
	p.forward, err = graph.Compile(found.logProbs)
	return p, found.in, err
}

// digest returns the SHA-256 of texts.
func digest(texts iter.Seq[text.Choice]) string {
	h := sha256.New()
	for c := range texts {
		fmt.Fprintln(h, c.Tokens, c.First)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// row returns the inputs and targets of row b of the model's batch.
func (p *policy) row(b int) (x, y []int) {
	m, from, to := p.trainer.Model, b*p.context, (b+1)*p.context
	return m.Tokens.Ints()[from:to], m.Targets.Ints()[from:to]
}

// logProbs calls f for each text, with ln π of its targets with the weights as they are, without dropout. The model
// reads as many texts at a time as its batch has rows.
func (p *policy) logProbs(ctx context.Context, texts []text.Choice, f func(i int, row graph.Tensor) error) error {
	rows := p.trainer.Config().BatchSize
	p.trainer.Model.Graph.SetTraining(false) // until the next step
	for from := 0; from < len(texts); from += rows {
		if ctx != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part := texts[from:min(from+rows, len(texts))]
		for b := range rows { // the rows that are left repeat the first text
			i := 0
			if b < len(part) {
				i = b
			}
			if _, err := part[i].Row(p.row(b)); err != nil {
				return errors.WithMessagef(err, "answer %d", from+i)
			}
		}
		if err := p.forward.Run(); err != nil {
			return err
		}
		for b := range part {
			if err := f(from+b, p.forward.Value().Row(b)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sums returns ln P(answer | prompt) of each text.
func (p *policy) sums(
	ctx context.Context, texts iter.Seq[text.Choice], progress func(done, total int),
) (list []float64, err error) {
	all := slices.Collect(texts)
	err = p.logProbs(ctx, all, func(i int, row graph.Tensor) error {
		var s float64
		for _, x := range row.Floats() {
			s += x
		}
		list = append(list, s)
		if progress != nil {
			progress(i+1, len(all))
		}
		return nil
	})
	return list, err
}

// before calls f while the model has the weights that it had before the tuning.
func (p *policy) before(f func() error) error {
	now := make([]graph.Tensor, len(p.start))
	for i, w := range p.trainer.Model.Trainable() {
		now[i] = w.Tensor().Clone()
	}
	set := func(to []graph.Tensor) (err error) {
		for i, w := range p.trainer.Model.Trainable() {
			if failed := w.Tensor().Copy(to[i]); err == nil {
				err = failed
			}
		}
		return err
	}
	err := set(p.start)
	if err == nil {
		err = f()
	}
	if failed := set(now); err == nil {
		err = failed
	}
	return err
}

// order holds the indices of n items in a new random order for every pass.
type order struct {
	seed uint64
	n    int
	list []int // of the pass
	pass int
}

// at returns the item at position i, counted over all passes. It depends on the seed and i alone.
func (o *order) at(i int) int {
	if pass := i / o.n; o.list == nil || pass != o.pass {
		o.list, o.pass = rand.New(rand.NewPCG(o.seed, uint64(pass))).Perm(o.n), pass
	}
	return o.list[i%o.n]
}
