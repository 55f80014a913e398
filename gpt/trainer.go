package gpt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Trainer trains a model on a text: sampled batches, accumulated gradients, clipping, the optimizer, and nanoGPT's schedule of
// the learning rate. What it does next depends on its state alone, and Files and Resume carry all of that, so a resumed
// run goes on bit for bit.
type Trainer struct {
	Model     *Model
	Corpus    *text.Corpus
	Tokenizer *text.Tokenizer
	Done      int     // steps done
	Best      float64 // the lowest val loss of an evaluation so far, +∞ before the first

	config    Config
	optimizer optim.Optimizer
	train     *graph.Program // loss and gradients
	forward   *graph.Program // loss alone
	source    *rand.PCG      // of the batches
	flop      float64        // of a token
}

// Progress is what one step did.
type Progress struct {
	Step   int           // its number, from 1
	Loss   float64       // mean over the micro-batches, in nats per token
	Norm   float64       // of the gradient before clipping
	LR     float64       // learning rate
	Took   time.Duration // wall-clock time
	Tokens int           // trained on in this step
	FLOP   float64       // of the matrix products, forward and backward
}

// NewTrainer builds the model that c describes and all that is needed to train it on the corpus. c.VocabSize may be 0 and
// is then the tokenizer's.
func NewTrainer(c Config, corpus *text.Corpus, tok *text.Tokenizer) (*Trainer, error) {
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.VocabSize < tok.Size() {
		return nil, errors.Errorf("vocab_size: got %d, the text has %d different tokens", c.VocabSize, tok.Size())
	}
	t := &Trainer{Corpus: corpus, Tokenizer: tok, Best: math.Inf(1), config: c, flop: FLOPsPerToken(c)}
	if err := t.build(); err != nil {
		return nil, err
	}
	t.source = rand.NewPCG(c.Seed, 0x6261746368657321)
	return t, nil
}

// build makes the graph, again with other hashes in the rare case that two nodes share one.
func (t *Trainer) build() (err error) {
	g := graph.New(graph.Float32, t.config.Seed)
	t.config.Configure(g)
	for {
		t.Model, err = New(g, t.config, t.config.BatchSize)
		if errors.Is(err, graph.ErrCollision) {
			g = g.Salted()
			continue
		}
		if err != nil {
			return err
		}
		if t.config.Recompute {
			var blocks []string
			for i := range t.config.NLayer {
				blocks = append(blocks, fmt.Sprintf("h.%d", i))
			}
			g.Recompute(blocks...)
		}
		t.train, err = graph.Compile(t.Model.Loss, t.Model.Trainable()...)
		if !errors.Is(err, graph.ErrCollision) {
			break
		}
		g = g.Salted()
	}
	if err != nil {
		return errors.Wrap(err, "trainer")
	}
	if t.forward, err = graph.Compile(t.Model.Loss); err != nil {
		return errors.Wrap(err, "trainer")
	}
	t.optimizer, err = t.config.NewOptimizer(t.config.known().Optimizers, t.Model.Trainable(), 0)
	return errors.Wrap(err, "trainer")
}

// Config is the run's configuration with the size of the vocabulary filled in.
func (t *Trainer) Config() Config { return t.config }

// Step trains on the next batch. A loss or gradient that is not finite is an error, graph.ErrNotFinite, that names the
// tensor, and the weights stay as they were.
func (t *Trainer) Step() (Progress, error) {
	start := time.Now()
	c := t.config
	p := Progress{Step: t.Done + 1, LR: LearningRate(c, t.Done)}
	rng := rand.New(t.source)
	g := t.Model.Graph
	g.SetTraining(true)
	for micro := range c.GradientAccumulationSteps {
		if err := t.Corpus.Train.Sample(rng, t.Model.Tokens.Ints(), t.Model.Targets.Ints(), c.BlockSize); err != nil {
			return p, err
		}
		g.SetStep(uint64(t.Done*c.GradientAccumulationSteps + micro))
		if err := t.train.Run(); err != nil {
			return p, errors.Wrapf(err, "step %d", p.Step)
		}
		loss := t.train.Loss()
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return p, errors.Wrapf(t.blame(loss), "step %d", p.Step)
		}
		p.Loss += loss / float64(c.GradientAccumulationSteps)
		if micro < c.GradientAccumulationSteps-1 {
			if err := t.optimizer.Accumulate(t.train); err != nil {
				return p, err
			}
		}
	}
	var err error
	if p.Norm, err = t.optimizer.Update(t.train, p.LR); err != nil {
		return p, errors.Wrapf(err, "step %d", p.Step)
	}
	t.Done++
	p.Took = time.Since(start)
	p.Tokens = c.BatchSize * c.BlockSize * c.GradientAccumulationSteps
	p.FLOP = t.flop * float64(p.Tokens)
	return p, nil
}

// blame looks for what made the loss what it is: a weight, or else the loss itself.
func (t *Trainer) blame(loss float64) error {
	for _, p := range t.Model.Params() {
		if err := p.Tensor().Finite(p.Name()); err != nil {
			return err
		}
	}
	return errors.Wrapf(graph.ErrNotFinite, "the loss is %v, all weights are finite", loss)
}
