package gpt

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Trainer trains a model on batches that are sampled from a corpus. What it does next depends on its state alone, and
// Files and Resume carry all of that, so a resumed run is bit-identical. It is for one goroutine at a time: a call that
// comes while another goroutine is in one is an error.
type Trainer struct {
	*train.Core
	Model     *Model         // the one that is trained; another one is an error
	Corpus    text.Corpus    // may be replaced by another one of the same tokenizer
	Tokenizer text.Tokenizer // the one that Save writes; another vocabulary is an error

	made    *Trainer // as NewTrainer made it, to compare with
	config  Config
	batches *rand.PCG // draws the batches
	busy    sync.Mutex
}

// NewTrainer builds the model that c describes and all that is needed to train it on the corpus. c.VocabSize may be 0
// and is then the tokenizer's. A model with a part of the program's own that looks at later tokens, or from one text of
// a batch into another, is an error that names the layer (package causal), unless its Registry is Bidirectional.
func NewTrainer(c Config, corpus text.Corpus, tok text.Tokenizer) (*Trainer, error) {
	return trainerAt(c, corpus, tok, 0, nil)
}

// trainerAt is NewTrainer of a run of which so many steps are done, where parameters whose names are read are at 0:
// their numbers are to come from a file.
func trainerAt(c Config, corpus text.Corpus, tok text.Tokenizer, done int, read func(name string) bool) (t *Trainer, err error) {
	if err := checkText(corpus, tok); err != nil {
		return nil, err
	}
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.VocabSize < tok.Size() {
		return nil, errors.Errorf("vocab_size: got %d, the text has %d different tokens", c.VocabSize, tok.Size())
	}
	if err := c.checkCausal(); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	t = &Trainer{Corpus: corpus, Tokenizer: tok, config: c, batches: rand.NewPCG(c.Seed, 0x6261746368657321)}
	task := train.Task{Fill: t.fill, Hooks: c.Hooks, FLOPs: FLOPsPerToken(c), Done: done, Facts: t.facts}
	task.Optimizer = parts.Find(c.known().Optimizers, c.Resolved().Optimizer).New
	task.Blocks = c.blocks()
	task.Build = func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		g.SetBlank(read)
		defer g.SetBlank(nil)
		return t.build(g)
	}
	t.Core, err = train.New(c.Training, c.Run, task)
	t.made = &Trainer{Core: t.Core, Model: t.Model, Tokenizer: tok}
	return t, err
}

func (t *Trainer) build(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error) {
	if t.Model, err = New(g, t.config, t.config.BatchSize); err != nil {
		return loss, nil, err
	}
	return t.Model.Loss, t.Model.candidates(), nil
}

func (t *Trainer) fill(int, int) (tokens int, err error) {
	return len(t.Model.Tokens.Ints()), t.sample(t.Corpus.Train(), rand.New(t.batches))
}

// facts returns what the machines of a Group have to agree on: the network, the text, and which batches come next.
func (t *Trainer) facts() []string {
	generator, _ := t.batches.MarshalBinary() // which has no error
	return append(t.config.networkFields().Lines(), "corpus_sha256 "+t.Corpus.SHA256(), fmt.Sprintf("batches %x", generator))
}

// Step is train.Core's. After an error the next one draws the same batches.
func (t *Trainer) Step() (train.Progress, error) {
	if err := t.begin(); err != nil {
		return train.Progress{}, err
	}
	defer t.busy.Unlock()
	before := *t.batches
	p, err := t.Core.Step()
	if err != nil {
		*t.batches = before
	}
	return p, err
}

// Run yields what each step did until max_iters are done. It ends with an error when ctx does, and with that of a step.
// Whoever breaks out of the loop has done the step that was yielded; the trainer goes on where it is, in another Run
// too. In the loop the trainer may evaluate and save.
func (t *Trainer) Run(ctx context.Context) iter.Seq2[train.Progress, error] {
	if t == nil {
		return new(Trainer).Run(ctx)
	}
	return t.Steps(ctx, t.config.MaxIters, t.Step)
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
