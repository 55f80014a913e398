package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// Loss compares idea and baseline on text at a size and within a budget.
type Loss struct {
	Size       Size               `json:"size"`
	Budget     budget             `json:"budget"`
	Parameters [2]int64           `json:"parameters"` // of baseline and idea
	Steps      [2]int             `json:"steps"`
	Rates      [2]float64         `json:"rates"` // the better one of each
	Means      [2]float64         `json:"losses"`
	Diverged   [2]int             `json:"diverged"` // seeds
	Compared   *paired.Comparison `json:"compared,omitempty"`
	Judged     *paired.Judgement  `json:"judged,omitempty"` // nil if a seed diverged
	Edge       bool               `json:"edge,omitempty"`   // a rate is the first or the last of its grid

	differences map[uint64]float64
}

// matters is the smallest difference of two losses in nats per token that matters.
const matters = 0.01

// level is the size of a model at which a verdict is sought.
type level struct {
	pair
	rates  []float64 // that baseline and idea have chosen
	losses []*Loss
	ended  bool
}

// askText trains on text.
func (j *judge) askText() error {
	var levels []*level
	for _, size := range j.Report.Plan.Sizes {
		p, err := j.pair(size, j.Report.Plan.Steps)
		if err != nil {
			return err
		}
		l := &level{pair: p}
		for _, b := range p.budgets() {
			l.losses = append(l.losses, &Loss{Size: size, Budget: b})
		}
		for b, why := range p.left {
			j.leave("%v at equal %s: %s", size, b, why)
		}
		levels = append(levels, l)
	}
	for _, l := range levels {
		if err := j.tune(l); err != nil {
			return err
		}
	}
	for look, seeds := range j.Report.Plan.Looks {
		for _, l := range levels {
			if l.ended || len(l.losses) == 0 {
				continue
			}
			if err := j.compare(l, seeds); err != nil {
				return err
			}
		}
		if err := j.decide(levels, look); err != nil {
			return err
		}
	}
	for _, l := range levels {
		for _, loss := range l.losses {
			j.Losses = append(j.Losses, *loss)
		}
	}
	j.grow()
	return nil
}

// rate returns a rate of the plan for the baseline or the idea.
func (j *judge) rate(idea bool, rate float64) float64 {
	if idea {
		return rate * j.faster
	}
	return rate
}

// tune chooses the rates of baseline and idea by successive halving, on seeds of its own.
func (j *judge) tune(l *level) error {
	budgets := l.budgets()
	if len(budgets) == 0 {
		return nil
	}
	type candidate struct {
		arm
		rate float64
	}
	var sides [2][]candidate
	for side, c := range []gpt.Config{l.base, l.ideas[budgets[0]]} {
		for _, rate := range j.Report.Plan.Rates {
			c.LearningRate = j.rate(side == 1, rate)
			sides[side] = append(sides[side], candidate{j.named(side == 1, fmt.Sprintf("%v, rate %g", l.Size,
				c.LearningRate), c), rate})
		}
	}
	for _, round := range []struct{ divisor, seeds int }{{4, 1}, {2, 2}} {
		var arms []arm
		for _, list := range sides {
			for _, c := range list {
				short, err := lab.Budget{Steps: max(1, c.config.MaxIters/round.divisor)}.Apply(c.config)
				if err != nil {
					return err
				}
				short.EvalInterval = short.MaxIters
				arms = append(arms, arm{c.name, short, c.version})
			}
		}
		trials, err := j.run(series{fmt.Sprintf("rates, %v", l.Size), j.Protocol.Text, arms, j.Base.Seed + tuningSeeds,
			round.seeds})
		if err != nil {
			return err
		}
		for side, list := range sides {
			slices.SortStableFunc(list, func(a, b candidate) int {
				return cmp.Compare(mean(trials[a.name]), mean(trials[b.name]))
			})
			sides[side] = list[:max(1, (len(list)+1)/2)]
		}
	}
	for _, list := range sides {
		if rate := list[0].rate; !slices.Contains(l.rates, rate) {
			l.rates = append(l.rates, rate)
		}
	}
	return nil
}

// mean returns the mean loss of trials, +∞ if one diverged.
func mean(trials []*lab.Trial) float64 {
	sum := 0.0
	for _, t := range trials {
		if t.Result.Diverged > 0 {
			return math.Inf(1)
		}
		sum += t.Result.Loss
	}
	return sum / float64(len(trials))
}

// compare trains a number of seeds at a size, and compares each arm at its better rate.
func (j *judge) compare(l *level, seeds int) error {
	var arms []arm
	at := func(idea bool, what string, c gpt.Config) (list []arm) {
		for _, rate := range l.rates {
			c.LearningRate = j.rate(idea, rate)
			list = append(list, j.named(idea, fmt.Sprintf("%s, rate %g", what, c.LearningRate), c))
		}
		return list
	}
	base, ideas := at(false, l.Size.String(), l.base), map[budget][]arm{}
	arms = append(arms, base...)
	for _, loss := range l.losses {
		if !loss.told() {
			b := loss.Budget
			ideas[b] = at(true, fmt.Sprintf("%v, equal %s", l.Size, b), l.ideas[b])
			arms = append(arms, ideas[b]...)
		}
	}
	trials, err := j.run(series{fmt.Sprintf("text, %v", l.Size), j.Protocol.Text, arms, j.Base.Seed, seeds})
	if err != nil {
		return err
	}
	better := func(list []arm) (arm, []*lab.Trial) {
		a := slices.MinFunc(list, func(a, b arm) int { return cmp.Compare(mean(trials[a.name]), mean(trials[b.name])) })
		return a, trials[a.name]
	}
	for _, loss := range l.losses {
		if loss.told() {
			continue
		}
		b, theirs := better(base)
		a, mine := better(ideas[loss.Budget])
		if err := loss.set(j, [2]arm{b, a}, [2][]*lab.Trial{theirs, mine}); err != nil {
			return err
		}
	}
	return nil
}

// told reports whether a look has given a verdict.
func (l *Loss) told() bool { return l.Judged != nil && l.Judged.Verdict != paired.NotToldApart }

// set compares the trials of baseline and idea.
func (l *Loss) set(j *judge, arms [2]arm, trials [2][]*lab.Trial) (err error) {
	l.Compared, l.Judged, l.differences = nil, nil, map[uint64]float64{}
	var values [2][]float64
	for i, list := range trials {
		l.Rates[i], l.Steps[i], l.Diverged[i] = arms[i].config.LearningRate, arms[i].config.MaxIters, 0
		l.Parameters[i] = list[0].Result.Parameters
		for _, t := range list {
			values[i] = append(values[i], t.Result.Loss)
			if t.Result.Diverged > 0 {
				l.Diverged[i]++
			}
		}
		grid := j.Report.Plan.Rates
		l.Edge = l.Edge || l.Rates[i] == j.rate(i == 1, grid[0]) || l.Rates[i] == j.rate(i == 1, grid[len(grid)-1])
	}
	if l.Diverged != [2]int{} {
		return nil
	}
	for i, t := range trials[0] {
		l.differences[t.Seed] = values[1][i] - values[0][i]
	}
	l.Means = [2]float64{mean(trials[0]), mean(trials[1])}
	c, err := paired.Compare(values[1], values[0], j.Base.Seed)
	l.Compared = &c
	return err
}

// rule is the rule of the losses.
func (j *judge) rule() paired.Rule {
	return paired.Rule{Difference: matters, Plan: paired.Plan{Looks: j.Report.Plan.Looks, Boundary: paired.Pocock}}
}

// decide gives the verdicts of a look on all sizes and budgets.
func (j *judge) decide(levels []*level, look int) error {
	var list []*Loss
	var compared []paired.Comparison
	for _, l := range levels {
		for _, loss := range l.losses {
			if loss.Compared != nil {
				list, compared = append(list, loss), append(compared, *loss.Compared)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	judged, err := j.rule().Judge(look, compared)
	if err != nil {
		return err
	}
	for i, loss := range list {
		loss.Judged = &judged[i]
	}
	for _, l := range levels {
		l.ended = !slices.ContainsFunc(l.losses, func(l *Loss) bool { return l.Judged != nil && !l.told() })
	}
	return nil
}
