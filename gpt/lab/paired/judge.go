package paired

import (
	"fmt"
	"strconv"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Verdict says how an arm compares with the baseline.
type Verdict string

// The verdicts.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NotToldApart Verdict = "not told apart"
	Same         Verdict = "equal for every seed"
	TooFew       Verdict = "too few seeds"
)

// A Rule turns the comparisons of a study into verdicts.
type Rule struct {
	Higher     bool    // higher is better, as for an accuracy; otherwise lower is, as for a loss
	Difference float64 // the smallest one that matters, for which a Judgement gives the number of seeds
	Fewest     int     // seeds below which no arm is better or worse; 0 means 2, and Confirming suits accuracies
	Plan       Plan
}

// A Judgement is the verdict on an arm.
type Judgement struct {
	Verdict    Verdict
	P          float64 // of the Comparison, adjusted for the looks and arms of the study
	Difference float64 // of the Rule
	Seeds      int     // find Difference with a power of 80 % in a study with as many arms; 0 for Same

	// Provisional marks an arm that is better or worse by Student's t, and not by the sign flips of this arm alone at
	// Level: with fewer seeds than Confirming they cannot confirm it.
	Provisional bool
	Low, High   float64 // the 95 % interval of the difference, adjusted for the looks and arms of the study
	Estimate    float64 // of the difference, without the bias of looks that may end the study early
}

// Validate returns an error that names the field if a field is wrong.
func (r Rule) Validate() error {
	if !(r.Difference > 0 && finite(r.Difference)) {
		return errors.Errorf("difference: got %g, want a positive finite number", r.Difference)
	}
	if r.Fewest < 0 || r.Fewest > latestLook {
		return errors.Errorf("fewest: got %d seeds, want 0 to %d", r.Fewest, latestLook)
	}
	return r.Plan.validate()
}

// Judge gives the verdicts on all arms of a study at a look, counted from 0. An arm has a verdict if its adjusted p is
// below Level. An arm whose verdict an earlier look gave remains in the study, with the comparison of that look.
//
// The intervals follow Jennison and Turnbull (1984), repeated at every look, for the share of Level that Bonferroni
// gives an arm. They leave out 0 if and only if the arm is better or worse: an interval ends at 0 where Holm's steps
// find more arms than Bonferroni, and reaches to 0 where sign flips find fewer than Student's t.
//
// The numbers of seeds assume the measured deviation of the differences, and the level of the plan's last look for the
// smallest p of the study. Earlier looks and other arms with a verdict only increase the power.
func (r Rule) Judge(look int, arms []Comparison) ([]Judgement, error) {
	if err := r.check(look, arms); err != nil {
		return nil, err
	}
	p := make([]float64, len(arms))
	for i, c := range arms {
		p[i] = r.Plan.adjust(look, c.P)
	}
	levels := r.Plan.levels(Level / float64(len(arms)))
	estimates, list := r.Plan.estimator(levels), make([]Judgement, len(arms))
	for i, adjusted := range holm(p) {
		c := arms[i]
		j := Judgement{Verdict: NotToldApart, P: adjusted, Difference: r.Difference}
		told := !c.Same && adjusted < Level && c.Seeds >= r.Fewest
		switch {
		case c.Same:
			j.Verdict = Same
		case told && c.Mean > 0 == r.Higher:
			j.Verdict = Better
		case told:
			j.Verdict = Worse
		case c.Seeds < r.Fewest:
			j.Verdict = TooFew
		}
		if !c.Same {
			j.Seeds = max(r.Fewest, seedsFor(r.Difference/c.SD, levels[len(levels)-1]))
		}
		j.Provisional = told && c.SignFlip >= Level
		at := r.Plan.lookOf(c.Seeds, look)
		j.Low, j.High = interval(c, levels[at], told)
		j.Estimate = estimates.estimate(c)
		list[i] = j
	}
	return list, nil
}

// interval returns the interval of a difference at a nominal level. It leaves out 0 if and only if the arm is told
// apart.
func interval(c Comparison, level float64, told bool) (low, high float64) {
	low, high = c.Mean, c.Mean
	if c.SE > 0 {
		half := c.SE * distuv.StudentsT{Sigma: 1, Nu: float64(c.Seeds - 1)}.Quantile(1-level/2)
		low, high = c.Mean-half, c.Mean+half
	}
	switch {
	case !told:
		return min(low, 0), max(high, 0)
	case c.Mean > 0:
		return max(low, 0), high
	}
	return low, min(high, 0)
}

// check returns an error if the rule, the look or a comparison is wrong.
func (r Rule) check(look int, arms []Comparison) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if looks := max(1, len(r.Plan.Looks)); look < 0 || look >= looks {
		return errors.Errorf("look: got %d, want 0 to %d", look, looks-1)
	}
	if len(arms) == 0 {
		return errors.New("arms: got none, want at least 1")
	}
	for i, c := range arms {
		switch {
		case c.Seeds < 2:
			return errors.Errorf("arms[%d]: seeds: got %d, want at least 2: one seed decides nothing", i, c.Seeds)
		case len(r.Plan.Looks) > 0 && c.Seeds > r.Plan.Looks[look]:
			return errors.Errorf("arms[%d]: seeds: got %d, want at most the %d of look %d",
				i, c.Seeds, r.Plan.Looks[look], look)
		case !(c.P >= 0 && c.P <= 1):
			return errors.Errorf("arms[%d]: p: got %g, want 0 to 1", i, c.P)
		case !(c.SD >= 0 && finite(c.SD)):
			return errors.Errorf("arms[%d]: deviation: got %g, want a finite number, 0 or more", i, c.SD)
		case !finite(c.Mean):
			return errors.Errorf("arms[%d]: mean: got %g, want a finite number", i, c.Mean)
		}
	}
	return nil
}

// String returns the verdict as reports print it, such as "not told apart (0.010 would need 15 seeds)".
func (j Judgement) String() string {
	switch {
	case j.Provisional:
		return string(j.Verdict) + " (provisional)"
	case j.Verdict != NotToldApart && j.Verdict != TooFew:
		return string(j.Verdict)
	}
	difference := strconv.FormatFloat(j.Difference, 'f', 3, 64)
	if x, err := strconv.ParseFloat(difference, 64); err != nil || x != j.Difference {
		difference = strconv.FormatFloat(j.Difference, 'g', -1, 64)
	}
	more := ""
	if j.Seeds >= mostSeeds {
		more = "more than "
	}
	return fmt.Sprintf("%s (%s would need %s%d seeds)", j.Verdict, difference, more, j.Seeds)
}
