package lab

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Tuning gives every arm the same settings to choose from. An arm is trained with every setting on the tuning seeds,
// which are not the seeds of the study; the setting of the lowest mean loss is then trained on the seeds of the study.
// So the choice adds no bias to the reported losses.
type Tuning struct {
	Grid  []Values // every combination of their values is a setting
	Seeds int      // the number of tuning seeds of each setting; 0 means 1
}

// Values lists the values that tuning tries for a field, in ascending order.
type Values struct {
	Field  string // such as "learning_rate"
	Values []string
}

// tuningSeeds is the distance from the seeds of the study to the seeds of its tuning.
const tuningSeeds = 1 << 32

func (u Tuning) check(s *Study) error {
	if u.Seeds < 0 {
		return errors.Errorf("seeds: got %d, want at least 0", u.Seeds)
	}
	for _, v := range u.Grid {
		if len(v.Values) == 0 {
			return errors.Errorf("%s: got no values", v.Field)
		}
		for _, value := range v.Values {
			c := s.Base
			if v.Field == "seed" {
				return errors.New("seed: the seeds are the study's")
			}
			if err := apply(&c, []string{v.Field + "=" + value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// settings returns every combination of the values, such as "learning_rate=0.001,weight_decay=0.1", or "" alone.
func (u Tuning) settings() []string {
	list := []string{""}
	for _, v := range u.Grid {
		var longer []string
		for _, s := range list {
			for _, value := range v.Values {
				longer = append(longer, strings.TrimPrefix(s+","+v.Field+"="+value, ","))
			}
		}
		list = longer
	}
	return list
}

// choose sets the setting of a cell, once all trials that choose it are finished.
func (v *survey) choose(c *cell) error {
	settings := v.Tuning.settings()
	if len(settings) == 1 {
		c.setting = settings[0]
		return nil
	}
	for _, setting := range settings {
		for i := range max(v.Tuning.Seeds, 1) {
			t, err := v.trial(place{c.text, c.arm, setting}, v.Base.Seed+tuningSeeds+uint64(i))
			if err != nil {
				return err
			}
			t.Tuning = true
			if err := v.recallInto(&c.tuning, c, t); err != nil {
				return err
			}
		}
	}
	if len(c.missing) == 0 {
		c.setting, c.edge = v.best(c.tuning)
	}
	return nil
}

// best returns the setting of the lowest mean loss, and the fields whose value is the first or the last of its grid. A
// setting that diverged with any seed comes last.
func (p *plan) best(trials []*Trial) (setting string, edge []string) {
	sums, order := map[string]float64{}, []string{}
	for _, t := range trials {
		loss, ok := t.value("loss")
		if !ok {
			loss = math.Inf(1)
		}
		if _, seen := sums[t.Setting]; !seen {
			order = append(order, t.Setting)
		}
		sums[t.Setting] += loss
	}
	setting = slices.MinFunc(order, func(a, b string) int { return cmp.Compare(sums[a], sums[b]) })
	for i, part := range strings.Split(setting, ",") {
		grid := p.Tuning.Grid[i]
		_, value, _ := strings.Cut(part, "=")
		if n := len(grid.Values); n > 1 && (value == grid.Values[0] || value == grid.Values[n-1]) {
			edge = append(edge, grid.Field)
		}
	}
	return setting, edge
}
