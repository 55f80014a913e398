package seq2seq

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Trainer trains a model on random batches of pairs. The effect of a step depends only on its number, the Config, the
// pairs, and the state of weights and optimizer, so a run that is resumed on the same pairs is bit-identical. Its
// Progress counts the tokens of sources and targets with their ends, but no padding.
type Trainer struct {
	*train.Core
	Model  *Model // must not be replaced
	SHA256 string // hash of the pairs, in hexadecimal; a resumed run must use the same pairs

	original *Trainer // the fields as NewTrainer set them, to compare with
	config   Config
	pairs    Pairs
	batch    []Pair
	draws    *rand.PCG // draws pairs, seeded with the seed and the step
	busy     sync.Mutex
}

// NewTrainer builds the model that c describes and everything needed to train it on the pairs. It reads each pair
// once; one that is too long for the model is an error.
func NewTrainer(c Config, pairs Pairs) (*Trainer, error) { return trainerAt(c, pairs, 0) }

// trainerAt returns a Trainer like NewTrainer for a run that has done the given number of steps.
func trainerAt(c Config, pairs Pairs, done int) (*Trainer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if pairs == nil {
		return nil, errors.New("trainer: no pairs (nil)")
	}
	sum, err := survey(c, pairs)
	if err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	throwaway := graph.New(graph.Float32, c.Seed)
	throwaway.Kernels = c.Kernels
	if err := c.checkCausal(throwaway, true); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	t := &Trainer{SHA256: sum, config: c, pairs: pairs, batch: make([]Pair, c.BatchSize), draws: new(rand.PCG)}
	task := train.Task{Build: t.build, Fill: t.fill, Done: done, Blocks: c.blocks(), Facts: t.facts}
	task.Optimizer = c.optimizer()
	t.Core, err = train.New(c.scheduled(), c.Run, task)
	t.original = &Trainer{Core: t.Core, Model: t.Model, SHA256: t.SHA256}
	return t, err
}

func (t *Trainer) build(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error) {
	if t.Model, err = New(g, t.config, t.config.BatchSize); err != nil {
		return loss, nil, err
	}
	return t.Model.Loss, t.Model.Params(), nil
}

func (t *Trainer) fill(step, micro int) (tokens int, err error) {
	if micro == 0 {
		t.draws.Seed(t.config.Seed, uint64(step))
	}
	rng := rand.New(t.draws)
	for i := range t.batch {
		if t.batch[i], err = t.pairs.Pair(rng.IntN(t.pairs.Len())); err != nil {
			return 0, err
		}
		tokens += len(t.batch[i].Source) + len(t.batch[i].Target) + 1
	}
	return tokens, t.Model.Fill(t.batch)
}

// facts returns the network and the pairs, on which the machines of a Group must agree.
func (t *Trainer) facts() []string {
	return append(t.config.networkFields().Lines(), "corpus_sha256 "+t.SHA256)
}

// Step does one step, as train.Core does.
func (t *Trainer) Step() (train.Progress, error) {
	if err := t.begin(); err != nil {
		return train.Progress{}, err
	}
	defer t.busy.Unlock()
	return t.Core.Step()
}

// Run yields the progress of each step until max_iters are done. It ends with an error when ctx is done or a step
// fails. After a break out of the loop the yielded step is done, and the trainer can continue from there, also in
// another Run.
func (t *Trainer) Run(ctx context.Context) iter.Seq2[train.Progress, error] {
	if t == nil {
		return new(Trainer).Run(ctx)
	}
	return t.Steps(ctx, t.config.MaxIters, t.Step)
}

// Evaluate returns the mean loss over all tokens of the targets of pairs, such as held-out ones, and updates Best. All
// machines of a Group must call it; they share the work.
func (t *Trainer) Evaluate(ctx context.Context, pairs Pairs) (loss float64, err error) {
	if pairs == nil {
		return 0, errors.New("evaluate: no pairs (nil)")
	}
	if err := t.begin(); err != nil {
		return 0, err
	}
	defer t.busy.Unlock()
	total, size := 0, t.config.TargetSize
	var losses, counts []float64
	for first := 0; first < pairs.Len(); first += len(t.batch) {
		n := 0
		for i := range t.batch {
			if t.batch[i], err = pairs.Pair(min(first+i, pairs.Len()-1)); err != nil {
				return 0, err
			}
			if first+i < pairs.Len() {
				n += len(t.batch[i].Target) + 1
			}
		}
		counts, losses, total = append(counts, float64(n)), append(losses, 0), total+n
		if !t.Mine(len(losses) - 1) {
			continue
		}
		if err := t.Model.Fill(t.batch); err != nil {
			return 0, err
		}
		beyond := t.Model.Targets.Ints()[min(len(t.batch), pairs.Len()-first)*size:] // the last pair once more
		for i := range beyond {
			beyond[i] = text.Ignore
		}
		if losses[len(losses)-1], err = t.Loss(ctx); err != nil {
			return 0, err
		}
	}
	if total == 0 {
		return 0, errors.New("evaluate: no pairs")
	}
	if err := t.Gather(losses); err != nil {
		return 0, err
	}
	for i, mean := range losses {
		loss += mean * counts[i]
	}
	loss /= float64(total)
	t.Best = min(t.Best, loss)
	return loss, nil
}
