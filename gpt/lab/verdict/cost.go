package verdict

import (
	"context"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pkg/errors"
)

// Cost holds the costs of baseline and idea at a size, in this order.
type Cost struct {
	Size       Size       `json:"size"`
	Parameters [2]int64   `json:"parameters"`
	FLOPs      [2]float64 `json:"flops_per_token"` // of training
	Ms         [2]float64 `json:"ms_per_step"`     // medians, with one thread
	Ratio      float64    `json:"ratio"`           // the median of the ratios of two steps in turn
	Memory     [2]float64 `json:"memory_mib"`      // of training
	State      [2]float64 `json:"state_kib"`       // that a decoder stores for block_size tokens; 0 without a decoder
}

// measure measures the costs at each size, unless they are known from a run before.
func (j *judge) measure() error {
	if len(j.Costs) > 0 {
		return nil
	}
	for _, size := range j.Report.Plan.Sizes {
		j.pace.draw("costs: " + size.String())
		p, err := j.pair(size, 100)
		if err != nil {
			return err
		}
		c, err := j.cost(p)
		if err != nil {
			return err
		}
		j.Costs = append(j.Costs, c)
	}
	return nil
}

// cost times the steps of idea and baseline in turn.
func (j *judge) cost(p pair) (c Cost, err error) {
	c.Size = p.Size
	var trainers [2]*gpt.Trainer
	for i, config := range []gpt.Config{p.base, p.plain} {
		config.Context = j.ctx
		config.LearningRate, config.MinLR = 1e-6, 0 // an idea that diverges has costs, too
		c.Parameters[i], _ = config.Count()
		c.FLOPs[i] = gpt.FLOPsPerToken(config)
		if trainers[i], err = gpt.NewTrainer(config, j.Protocol.Text.Corpus, j.Protocol.Text.Tokenizer); err != nil {
			return c, err
		}
		if c.Memory[i], err = lab.Memory().Of(j.ctx, trainers[i]); err != nil {
			return c, err
		}
		if state, err := lab.State().Of(j.ctx, trainers[i]); err == nil { // no decoder is no error
			c.State[i] = state
		}
	}
	const warm, timed = 2, 9
	var ms [2][]float64
	var ratios []float64
	for n := range warm + timed {
		var took [2]float64
		for i, t := range trainers {
			if j.ctx.Err() != nil {
				return c, context.Cause(j.ctx)
			}
			step, err := t.Step()
			if err != nil {
				return c, errors.WithMessagef(err, "%v: step %d", p.Size, n+1)
			}
			took[i] = step.Took.Seconds() * 1e3
		}
		if n >= warm {
			ratios = append(ratios, took[1]/took[0])
			ms[0], ms[1] = append(ms[0], took[0]), append(ms[1], took[1])
		}
	}
	c.Ms, c.Ratio = [2]float64{median(ms[0]), median(ms[1])}, median(ratios)
	return c, nil
}

// median returns the median of an odd number of numbers.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
