package gpt

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Trainer trains a model on batches that are sampled from a corpus. What it does next depends only on its state, which
// Files and Resume carry completely, so a resumed run is bit-identical. A Trainer is for one goroutine at a time: a
// call during a call of another goroutine is an error.
type Trainer struct {
	*train.Core
	Model     *Model         // the model that is trained; it must not be replaced
	Corpus    text.Corpus    // may be replaced by another one of the same tokenizer
	Tokenizer text.Tokenizer // written by Save; another vocabulary is an error

	built   *Trainer // holds the fields as NewTrainer set them, to compare with
	config  Config
	base    string    // the hash of the weights with which FineTune began
	batches *rand.PCG // draws the batches
}

// NewTrainer builds the model that c describes and everything needed to train it on the corpus. If c.VocabSize is 0,
// the tokenizer's size is used. A model with a user-defined part that looks at later tokens, or from one text of a
// batch into another, is an error that names the layer (package causal), unless its Registry is Bidirectional. Experts
// that nothing balances get the usual loss (parts.Stack.Begun).
func NewTrainer(c Config, corpus text.Corpus, tok text.Tokenizer) (*Trainer, error) {
	c.Stack = c.Stack.Begun()
	return trainerAt(c, corpus, tok, 0, nil)
}

// trainerAt is NewTrainer for a run of which done steps are done. It leaves parameters for which read(name) is true at
// zero; the caller fills them from a file.
func trainerAt(
	c Config, corpus text.Corpus, tok text.Tokenizer, done int, read func(name string) bool,
) (t *Trainer, err error) {
	if err := checkText(corpus, tok); err != nil {
		return nil, err
	}
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	c.DrawnTokens = tok.Size()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.VocabSize < tok.Size() {
		return nil, errors.Errorf("vocab_size: got %d, the text has %d different tokens", c.VocabSize, tok.Size())
	}
	if err := c.checkCausal(); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	if c.Carry { // its windows follow one another
		x, y := make([]int, c.BlockSize), make([]int, c.BlockSize)
		if err := text.Window(corpus.Train(), x, y, 0); err != nil {
			return nil, errors.Wrap(err, "carry: got true")
		}
	}
	t = &Trainer{Corpus: corpus, Tokenizer: tok, config: c, batches: rand.NewPCG(c.Seed, 0x6261746368657321)}
	task := train.Task{
		Carried: t.carried, Fill: t.fill, Optimizer: c.optimizer(), Schedules: c.Parts.Schedules, Hooks: c.Hooks,
		Blocks: c.blocks(), FLOPs: FLOPsPerToken(c), Done: done,
		Corpus: func() string { return t.Corpus.SHA256() }, Batches: t.batches,
		Certified: func() (certificate.Run, error) { return t.certified() },
		Facts:     append(c.NetworkFields().Lines(), fmt.Sprintf("carry %t", c.Carry)),
		Factor:    func(p graph.Expr) float64 { return t.Model.rate(p) },
		Evaluated: func() graph.Expr { return t.Model.Loss },
		Loads:     func() []nn.Load { return t.Model.balanced() },
	}
	task.Build = func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		g.SetBlank(read)
		defer g.SetBlank(nil)
		return t.build(g)
	}
	t.Core, err = train.New(c.Training, c.Run, task)
	t.built = &Trainer{Core: t.Core, Model: t.Model, Tokenizer: tok}
	return t, err
}

func (t *Trainer) build(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error) {
	if t.Model, err = New(g, t.config, t.config.BatchSize); err != nil {
		return loss, nil, err
	}
	return t.Model.Objective, t.Model.candidates(), nil
}

func (t *Trainer) fill(step, micro int) (tokens int, err error) {
	x, y := t.Model.Tokens.Ints(), t.Model.Targets.Ints()
	switch fill := t.config.Hooks.Fill; {
	case fill != nil:
		err = errors.Wrap(fill(step, micro, x, y), "hook: fill")
	case t.config.Carry:
		err = t.walk(step, micro)
	default:
		err = t.sample(t.Corpus.Train(), rand.New(t.batches))
	}
	if err != nil {
		return len(x), err
	}
	return len(x), t.checkFuture(y)
}

// checkFuture returns an error if a micro-batch has targets y, but none of them belongs to a token after the next one
// that the network predicts: the mean of its losses would be NaN.
func (t *Trainer) checkFuture(y []int) error {
	farthest, n := -1, t.config.BlockSize // the last place in a sequence that has a target
	for i, target := range y {
		if target != text.Ignore {
			farthest = max(farthest, i%n)
		}
	}
	if heads := t.config.FutureTokens; heads > 1 && 0 <= farthest && farthest < heads-1 {
		return errors.Errorf("n_future_tokens: got %d, want at most %d for a micro-batch of %d rows whose targets "+
			"are among the first %d tokens: head %d would have no target", heads, farthest+1, t.config.BatchSize,
			farthest+1, farthest+2)
	}
	return nil
}

// Step is like train.Core's. After an error the next Step draws the same batches.
func (t *Trainer) Step() (train.Progress, error) {
	if err := t.check(); err != nil {
		return train.Progress{}, err
	}
	return t.Core.Step()
}

// Run yields the Progress of each step until max_iters are done. It ends with an error when ctx ends or a step fails.
// If the caller breaks out of the loop, the yielded step is done, and the trainer continues from there, also in another
// Run. Inside the loop the trainer may evaluate and save.
func (t *Trainer) Run(ctx context.Context) iter.Seq2[train.Progress, error] {
	if t == nil {
		return new(Trainer).Run(ctx)
	}
	return t.Steps(ctx, t.config.MaxIters, t.Step)
}

// carried returns the states that the model hands on.
func (t *Trainer) carried() (list []train.Carried) {
	for _, s := range t.Model.carry.States() {
		list = append(list, train.Carried{Before: s.Before, After: s.After})
	}
	return list
}

// walk fills the model's batch for a step with Carry. Row r of all R rows of a step begins with block r·W/R of the W
// blocks of the training split, goes one further in each step, and after the last begins the text again.
func (t *Trainer) walk(step, micro int) error {
	c, s := t.config, t.Corpus.Train()
	blocks, all := max(1, text.Windows(s, c.BlockSize)), c.GradientAccumulationSteps*c.BatchSize
	if all > blocks {
		return errors.Errorf("carry: got %d rows in a step, batch_size × gradient_accumulation_steps, want at most "+
			"%d, the number of blocks of %d tokens in the training split", all, blocks, c.BlockSize)
	}
	return t.windows(s, false, func(row int) int {
		return ((micro*c.BatchSize+row)*blocks/all + step) % blocks
	})
}

// windows fills every row of the model's batch with the block of s that block returns, and clears the states of rows
// that begin a text: the rows of the first block, or all if fresh is true. A negative block leaves its row empty.
func (t *Trainer) windows(s text.Split, fresh bool, block func(row int) int) error {
	n := t.config.BlockSize
	for row := range t.config.BatchSize {
		x, y, i := t.Model.Tokens.Ints()[row*n:][:n], t.Model.Targets.Ints()[row*n:][:n], block(row)
		if i < 0 {
			clear(x)
			for j := range y {
				y[j] = text.Ignore
			}
			continue
		}
		if err := text.Window(s, x, y, i); err != nil {
			return err
		}
		if !fresh && i > 0 {
			continue
		}
		for _, state := range t.Model.carry.States() {
			clear(state.Before.Tensor().Row(row).F32)
		}
	}
	return nil
}

// sample fills the model's batch at random.
func (t *Trainer) sample(s text.Split, rng *rand.Rand) error {
	return text.Sample(s, rng, t.Model.Tokens.Ints(), t.Model.Targets.Ints(), t.config.BlockSize)
}

// Config returns the run's configuration with the size of the vocabulary filled in.
func (t *Trainer) Config() Config {
	if t == nil {
		return Config{}
	}
	return t.config
}

var (
	errNoTrainer = errors.New("trainer: nothing to train, want one from NewTrainer, Resume or FineTune")
	errNoCorpus  = errors.New("trainer: Corpus: got nil, want the text to train on")
)

// checkText returns an error unless there are a corpus and a tokenizer to train with.
func checkText(corpus text.Corpus, tok text.Tokenizer) error {
	switch {
	case corpus == nil:
		return errNoCorpus
	case tok == nil:
		return errors.New("trainer: Tokenizer: got nil, want the one of the corpus")
	case tok.Size() < 1:
		return errors.New("trainer: the tokenizer has no tokens")
	}
	return nil
}

// check returns an error if a field of t has been replaced by something that t does not train.
func (t *Trainer) check() error {
	switch {
	case t == nil || t.built == nil:
		return errNoTrainer
	case t.Core != t.built.Core:
		return errors.New("trainer: Core has been replaced: want the one from NewTrainer, Resume or FineTune")
	case t.Model != t.built.Model:
		return errors.New("trainer: Model has been replaced by one that this Trainer does not train: " +
			"FineTune and Resume build a Trainer for the weights of a checkpoint")
	case t.Corpus == nil:
		return errNoCorpus
	}
	return errors.WithMessage(made.Check(t.Model.built, t.Model.fields()), "trainer")
}

// checkTokenizer returns an error unless t has the vocabulary with which it was built.
func (t *Trainer) checkTokenizer() error {
	if err := checkText(t.Corpus, t.Tokenizer); err != nil {
		return err
	}
	data, err := json.Marshal(t.built.Tokenizer)
	if err == nil {
		err = text.Match(t.Tokenizer, data)
	}
	return errors.WithMessage(err, "trainer: Tokenizer has been replaced")
}
