package seq2seq

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Trainer trains a model on pairs: random batches, clipping, AdamW, a warm-up and half a cosine. What a step does depends
// on its number, the Config, the pairs, and the state of weights and optimizer alone, so a run that is resumed on the same
// pairs goes on bit for bit.
type Trainer struct {
	Model  *Model
	Done   int    // steps done
	SHA256 string // of the pairs, in hexadecimal: a resumed run has to use the same

	pairs     Pairs
	batch     []Pair
	optimizer *optim.AdamW
	program   *graph.Program
}

// Progress is what one step did.
type Progress struct {
	Step   int           // its number, from 1
	Loss   float64       // in nats per token of the targets
	Norm   float64       // of the gradient before clipping
	LR     float64       // learning rate
	Took   time.Duration // wall-clock time
	Tokens int           // of sources and targets with their ends, padding not counted
}

// NewTrainer builds the model that c describes and all that is needed to train it on the pairs. It looks at each of them
// once: one that is too long for the model is an error.
func NewTrainer(c Config, pairs Pairs) (*Trainer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	sum, err := survey(c, pairs)
	if err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	t := &Trainer{SHA256: sum, pairs: pairs, batch: make([]Pair, c.BatchSize)}
	g := graph.New(graph.Float32, c.Seed)
	g.Kernels = c.Kernels
	g.SetThreads(c.Threads)
	if err := distinct(g, func(g *graph.Graph) error { return t.build(g, c) }); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	return t, nil
}

func (t *Trainer) build(g *graph.Graph, c Config) (err error) {
	if t.Model, err = New(g, c, c.BatchSize); err != nil {
		return err
	}
	if t.program, err = graph.Compile(t.Model.Loss, t.Model.Params()...); err != nil {
		return err
	}
	if t.optimizer, err = optim.NewAdamW(t.Model.Params()); err != nil {
		return err
	}
	o := t.optimizer
	o.Beta1, o.Beta2, o.Decay, o.Clip = c.Beta1, c.Beta2, c.WeightDecay, c.GradClip
	return nil
}

// Step trains on the next batch. A loss or gradient that is not finite is an error, graph.ErrNotFinite, and the weights
// stay as they were.
func (t *Trainer) Step() (Progress, error) {
	start, c := time.Now(), t.Model.Config
	p := Progress{Step: t.Done + 1, LR: LearningRate(c, t.Done)}
	rng := rand.New(rand.NewPCG(c.Seed, uint64(t.Done)))
	for i := range t.batch {
		var err error
		if t.batch[i], err = t.pairs.Pair(rng.IntN(t.pairs.Len())); err != nil {
			return p, errors.Wrapf(err, "step %d", p.Step)
		}
		p.Tokens += len(t.batch[i].Source) + len(t.batch[i].Target) + 1
	}
	if err := t.Model.Fill(t.batch); err != nil {
		return p, errors.Wrapf(err, "step %d", p.Step)
	}
	t.Model.Graph.SetTraining(true)
	t.Model.Graph.SetStep(uint64(t.Done))
	if err := t.program.Run(); err != nil {
		return p, errors.Wrapf(err, "step %d", p.Step)
	}
	if p.Loss = t.program.Loss(); math.IsNaN(p.Loss) || math.IsInf(p.Loss, 0) {
		return p, errors.Wrapf(graph.ErrNotFinite, "step %d: the loss is %v", p.Step, p.Loss)
	}
	var err error
	if p.Norm, err = t.optimizer.Update(t.program, p.LR); err != nil {
		return p, errors.Wrapf(err, "step %d", p.Step)
	}
	t.Done++
	p.Took = time.Since(start)
	return p, nil
}

// LearningRate is that of iteration it, counted from 0: a linear warm-up, then half a cosine from learning_rate down to
// min_lr at max_iters.
func LearningRate(c Config, it int) float64 {
	if it < c.WarmupIters {
		return c.LearningRate * float64(it+1) / float64(c.WarmupIters+1)
	}
	ratio := min(1, float64(it-c.WarmupIters)/float64(max(1, c.MaxIters-c.WarmupIters)))
	return c.MinLR + (c.LearningRate-c.MinLR)*(1+math.Cos(math.Pi*ratio))/2
}
