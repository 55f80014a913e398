package verdict

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pkg/errors"
)

// Size is the size of a model.
type Size struct {
	NEmbd  int `json:"n_embd"`
	NLayer int `json:"n_layer"`
}

// String returns the width and the number of blocks.
func (s Size) String() string { return fmt.Sprintf("%d×%d", s.NEmbd, s.NLayer) }

// apply returns c in a size. The inner width of the MLPs and the width of the heads follow the width.
func (s Size) apply(c gpt.Config) gpt.Config {
	if c.NInner > 0 {
		c.NInner = max(1, c.NInner*s.NEmbd/c.NEmbd)
	}
	c.NEmbd, c.NLayer = s.NEmbd, s.NLayer
	return c
}

// A budget says what idea and baseline have in common.
type budget string

const (
	parameters budget = "parameters"
	work       budget = "FLOPs"
	combined   budget = "parameters and FLOPs"
)

// budgets lists the budgets in the order of a report.
func budgets() []budget { return []budget{combined, parameters, work} }

// holds reports whether a comparison within a budget holds b equal.
func (b budget) holds(within budget) bool { return within == b || b != combined && within == combined }

// question returns the question whether an idea helps within the budget.
func (b budget) question() string { return fmt.Sprintf("Does it help on text at equal %s?", b) }

// pair is the baseline at a size, and the idea within the budgets of the baseline.
type pair struct {
	Size
	base  gpt.Config
	plain gpt.Config // the idea in the sizes of the baseline
	ideas map[budget]gpt.Config
	left  map[budget]string // why a budget cannot be held
}

// pair returns the configurations of a size for a number of steps.
func (j *judge) pair(s Size, steps int) (p pair, err error) {
	p = pair{Size: s, ideas: map[budget]gpt.Config{}, left: map[budget]string{}}
	base := s.apply(j.Base)
	base.Threads, base.EvalInterval, base.EvalIters = 1, steps, 1
	if err := base.Validate(); err != nil {
		return p, errors.WithMessagef(err, "baseline, %v", s)
	}
	if p.base, err = (lab.Budget{Steps: steps}).Apply(base); err != nil {
		return p, err
	}
	if p.plain, err = j.idea.Apply(base); err == nil {
		err = p.plain.Validate()
	}
	if err != nil {
		return p, errors.WithMessagef(err, "%v", s)
	}
	tokens := float64(base.BatchSize * base.BlockSize * base.GradientAccumulationSteps)
	count, _ := p.base.Count()
	for b, limit := range map[budget]lab.Budget{
		parameters: {Steps: steps, Parameters: count},
		// a little more, so that equal work is the same number of steps
		work: {FLOPs: float64(steps) * tokens * gpt.FLOPsPerToken(p.base) * (1 + 1e-9)},
	} {
		c, err := limit.Apply(p.plain)
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			p.left[b] = err.Error()
			continue
		}
		p.ideas[b] = c
	}
	a, held := p.ideas[parameters]
	b, also := p.ideas[work]
	if held && also && a.Resolved().NInner == b.Resolved().NInner && a.MaxIters == b.MaxIters {
		p.ideas = map[budget]gpt.Config{combined: a}
	}
	return p, nil
}

// budgets lists the budgets of a pair in their order.
func (p pair) budgets() (list []budget) {
	for _, b := range budgets() {
		if _, ok := p.ideas[b]; ok {
			list = append(list, b)
		}
	}
	return list
}
