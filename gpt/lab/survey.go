package lab

import (
	"iter"
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pkg/errors"
)

// cell is an arm on a text, with its trials so far.
type cell struct {
	place
	edge           []string // fields whose chosen value is at the end of its grid
	tuning, trials []*Trial // finished
	missing        []*Trial
	compared       *paired.Comparison // with the baseline on the same text; nil for the baseline
	judged         *paired.Judgement
	ended          bool // needs no further seeds
}

// diverged returns the number of trials whose loss was not finite.
func (c *cell) diverged() (n int) {
	for _, t := range c.trials {
		if t.Result.Diverged > 0 {
			n++
		}
	}
	return n
}

// survey recalls the finished trials and lists the missing ones, as far as they are known: first those that choose
// settings, then those up to the first look, and for the arms without a verdict those up to the next look.
type survey struct {
	*plan
	cells   [][]*cell // by text and arm
	missing []*Trial
}

func (p *plan) survey() (*survey, error) {
	v := &survey{plan: p}
	for text := range p.Texts {
		var row []*cell
		for arm := range p.Arms {
			c := &cell{place: place{text: text, arm: arm}}
			if err := v.choose(c); err != nil {
				return nil, err
			}
			row = append(row, c)
		}
		v.cells = append(v.cells, row)
	}
	looks := p.Plan.Looks
	if len(looks) == 0 {
		looks = []int{p.Seeds}
	}
	for look, seeds := range looks {
		if err := v.extend(seeds); err != nil {
			return nil, err
		}
		if v.missing != nil {
			return v, v.compare()
		}
		if err := v.judge(look); err != nil || v.done() {
			return v, err
		}
	}
	return v, nil
}

// finished yields the trials with a result.
func (v *survey) finished() iter.Seq[*Trial] {
	return func(yield func(*Trial) bool) {
		for _, row := range v.cells {
			for _, c := range row {
				for _, t := range slices.Concat(c.tuning, c.trials) {
					if !yield(t) {
						return
					}
				}
			}
		}
	}
}

// done reports whether no arm needs further seeds.
func (v *survey) done() bool {
	for _, row := range v.cells {
		for _, c := range row {
			if !c.ended {
				return false
			}
		}
	}
	return true
}

// extend brings every cell that has not ended and whose setting is chosen to the given number of seeds.
func (v *survey) extend(seeds int) error {
	for _, row := range v.cells {
		for _, c := range row {
			if c.ended || len(c.missing) > 0 {
				continue
			}
			for i := len(c.trials); i < seeds; i++ {
				t, err := v.trial(c.place, v.Base.Seed+uint64(i))
				if err != nil {
					return err
				}
				if err := v.recallInto(&c.trials, c, t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// recallInto adds t to the finished trials in list, or to the missing ones.
func (v *survey) recallInto(list *[]*Trial, c *cell, t *Trial) error {
	found, err := v.recall(t)
	switch {
	case err != nil:
		return err
	case found:
		*list = append(*list, t)
	default:
		c.missing = append(c.missing, t)
		v.missing = append(v.missing, t)
	}
	return nil
}

// compare compares every arm with the baseline, by the seeds that both have.
func (v *survey) compare() error {
	for _, row := range v.cells {
		base := row[0].values(v.Outcome)
		for _, c := range row[1:] {
			if c.ended {
				continue
			}
			mine, theirs := pairs(c.values(v.Outcome), base)
			if len(mine) < 2 {
				continue
			}
			compared, err := paired.Compare(mine, theirs, v.Base.Seed)
			if err != nil {
				return errors.WithMessagef(err, "arm %q", v.Arms[c.arm].Name)
			}
			c.compared = &compared
		}
	}
	return nil
}

// judge gives the verdicts of a look. An arm that diverged, or whose baseline did, has none.
func (v *survey) judge(look int) error {
	if err := v.compare(); err != nil || v.Seeds == 1 || v.NoVerdict {
		return err
	}
	var cells []*cell
	var list []paired.Comparison
	for _, row := range v.cells {
		row[0].ended = true
		for _, c := range row[1:] {
			if c.diverged() > 0 || row[0].diverged() > 0 || c.compared == nil {
				c.ended = true
				continue
			}
			cells, list = append(cells, c), append(list, *c.compared)
		}
	}
	if len(list) == 0 {
		return nil
	}
	judged, err := v.rule().Judge(look, list)
	if err != nil {
		return err
	}
	for i, c := range cells {
		c.judged = &judged[i]
		c.ended = c.ended || judged[i].Verdict != paired.NotToldApart && judged[i].Verdict != paired.TooFew
		if !c.ended {
			v.cells[c.text][0].ended = false // the baseline goes on with it
		}
	}
	return nil
}

// values returns the outcome by seed.
func (c *cell) values(outcome string) map[uint64]float64 {
	list := map[uint64]float64{}
	for _, t := range c.trials {
		if x, ok := t.value(outcome); ok {
			list[t.Seed] = x
		}
	}
	return list
}

// pairs returns the values of the seeds that both have, in the order of the seeds.
func pairs(a, b map[uint64]float64) (mine, theirs []float64) {
	for _, seed := range slices.Sorted(maps.Keys(a)) {
		if y, ok := b[seed]; ok {
			mine, theirs = append(mine, a[seed]), append(theirs, y)
		}
	}
	return mine, theirs
}
