package seq2seq

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Trainer trains a model on random batches of pairs. The effect of a step depends only on its number, the Config, the
// pairs, and the state of weights and optimizer, so a run that is resumed on the same pairs is bit-identical. Its
// Progress counts the tokens of sources and targets with their ends, but no padding.
type Trainer struct {
	*train.Core
	Model *Model // must not be replaced

	built  *Trainer // holds the fields as NewTrainer set them, to compare with
	config Config
	pairs  Pairs
	batch  []Pair
	draws  *rand.Rand // draws the pairs of a step
}

// NewTrainer builds the model that c describes and everything needed to train it on the pairs. It reads each pair
// once; one that is too long for the model is an error.
func NewTrainer(c Config, pairs Pairs) (*Trainer, error) {
	c.Stack = c.Stack.Begun()
	return newTrainer(c, pairs)
}

// newTrainer is NewTrainer with the Stack as it is.
func newTrainer(c Config, pairs Pairs) (*Trainer, error) {
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
	t := &Trainer{config: c, pairs: pairs, batch: make([]Pair, c.BatchSize)}
	t.Core, err = train.New(c.scheduled(), c.Run, train.Task{
		Build: t.build, Fill: t.fill, Check: t.check,
		Optimizer: c.optimizer(), Schedules: c.Parts.Schedules, Blocks: c.blocks(),
		Evaluated: func() graph.Expr { return t.Model.Loss },
		Loads:     func() []nn.Load { return t.Model.loads },
		Corpus:    func() string { return sum }, Facts: c.networkFields().Lines(),
		Certified: func() (certificate.Run, error) { return c.certified() },
	})
	t.built = &Trainer{Core: t.Core, Model: t.Model}
	return t, err
}

// certified describes a run of c in its certificate, whose text is the tokens of the pairs.
func (c Config) certified() (r certificate.Run, err error) {
	c = c.Resolved()
	c.Run = train.Run{MaxIters: c.MaxIters, EvalInterval: c.EvalInterval, EvalIters: c.EvalIters, LogInterval: 1}
	r = certificate.Run{
		Kind: certificate.Pairs, Code: c.Parts.Code(c.Stack, "", c.Optimizer, c.Schedule),
	}
	r.Config, err = json.Marshal(c)
	return r, err
}

func (t *Trainer) build(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error) {
	if t.Model, err = New(g, t.config, t.config.BatchSize); err != nil {
		return loss, nil, err
	}
	return t.Model.objective, t.Model.trained(), nil
}

func (t *Trainer) fill(step, micro int) (tokens int, err error) {
	if micro == 0 {
		t.draws = rand.New(rand.NewPCG(t.config.Seed, uint64(step)))
	}
	for i := range t.batch {
		if t.batch[i], err = t.pairs.Pair(t.draws.IntN(t.pairs.Len())); err != nil {
			return 0, err
		}
		tokens += len(t.batch[i].Source) + len(t.batch[i].Target) + 1
	}
	return tokens, t.Model.Fill(t.batch)
}

// check returns an error if a field of t has been replaced by one that t does not train.
func (t *Trainer) check() error {
	switch {
	case t.Core != t.built.Core:
		return errors.New("trainer: Core has been replaced: want the one of NewTrainer or Resume")
	case t.Model != t.built.Model:
		return errors.New("trainer: Model has been replaced, which this Trainer does not train: " +
			"Resume makes one for the weights of a checkpoint")
	}
	return errors.WithMessage(t.Model.check((*Model).fields), "trainer")
}

// core returns the Core with which t was built, or nil if it was not.
func (t *Trainer) core() *train.Core {
	if t == nil || t.built == nil {
		return nil
	}
	return t.built.Core
}

// Step does one step, as train.Core does.
func (t *Trainer) Step() (train.Progress, error) { return t.core().Step() }

// Run is train.Core's, until max_iters are done.
func (t *Trainer) Run(ctx context.Context) iter.Seq2[train.Progress, error] { return t.core().Run(ctx) }

// Evaluate returns the mean loss over all tokens of the targets of pairs, such as held-out ones, and updates Best and
// Since. All machines of a Group must call it; they share the work.
func (t *Trainer) Evaluate(ctx context.Context, pairs Pairs) (loss float64, err error) {
	if pairs == nil || pairs.Len() < 1 {
		return 0, errors.New("evaluate: no pairs")
	}
	batches := func(yield func(float64, error) bool) {
		for first := 0; first < pairs.Len(); first += len(t.batch) {
			if !yield(t.fillFrom(pairs, first)) {
				return
			}
		}
	}
	err = t.core().Losses(ctx, batches, func(_ []float64, mean float64) {
		loss = mean
		t.Record(mean)
	})
	return loss, err
}

// fillFrom fills the model's batch with the pairs that begin with the given one, and returns the number of their
// tokens that count. Rows after the last pair repeat it and do not count.
func (t *Trainer) fillFrom(pairs Pairs, first int) (counted float64, err error) {
	last := pairs.Len() - 1
	for i := range t.batch {
		if t.batch[i], err = pairs.Pair(min(first+i, last)); err != nil {
			return 0, err
		}
		if first+i <= last {
			counted += float64(len(t.batch[i].Target) + 1)
		}
	}
	if err := t.Model.Fill(t.batch); err != nil {
		return 0, err
	}
	beyond := t.Model.Targets.Ints()[min(len(t.batch), last+1-first)*t.config.TargetSize:]
	for i := range beyond {
		beyond[i] = text.Ignore
	}
	return counted, nil
}

// Averaged returns a model of its own whose trained weights are the averages of EMA, to translate with. It is an error
// if EMA is 0.
func (t *Trainer) Averaged() (m *Model, err error) {
	err = t.core().Averaged(func(g *graph.Graph) (params []graph.Expr, err error) {
		m, err = New(g, t.config, 1)
		g.SetTraining(false)
		return m.Params(), err
	})
	return m, err
}
