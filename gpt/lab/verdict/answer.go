package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// answer answers every question in one sentence.
func (r *Report) answer() {
	r.Answers = nil
	r.Answers = append(r.Answers, r.rightness())
	if len(r.Costs) > 0 {
		r.Answers = append(r.Answers, r.costs())
	}
	for _, a := range r.Tasks {
		if a.Compared != nil || a.Diverged != [2]int{} {
			r.Answers = append(r.Answers, a.answer())
		}
	}
	for _, b := range budgets() {
		if a, asked := r.onText(b); asked {
			r.Answers = append(r.Answers, a)
		}
	}
	for _, g := range r.Growth {
		r.Answers = append(r.Answers, r.growth(g))
	}
	r.limits()
}

// rightness answers whether the idea is right.
func (r *Report) rightness() Answer {
	var failed []string
	for _, c := range r.Checks {
		if c.Failed {
			failed = append(failed, c.Name+": "+c.Found)
		}
	}
	a := Answer{Question: "Is it right?", Verdict: "yes", Sentence: fmt.Sprintf("All %d checks pass.", len(r.Checks))}
	if len(failed) > 0 {
		a.Verdict, a.Sentence = "no", fmt.Sprintf("%d of %d checks fail: %s.", len(failed), len(r.Checks),
			strings.Join(failed, "; "))
	}
	return a
}

// costs answers what the idea costs at the largest size.
func (r *Report) costs() Answer {
	c := r.Costs[len(r.Costs)-1]
	return Answer{"What does it cost?", fmt.Sprintf("%.2f × the time", c.Ratio), fmt.Sprintf(
		"At %v a step takes %.2f × the time of the baseline, with %.2f × the parameters, %.2f × the FLOPs of a token, "+
			"%.2f × the memory, and a decoder state of %.1f KiB instead of %.1f.", c.Size, c.Ratio,
		float64(c.Parameters[1])/float64(c.Parameters[0]), c.FLOPs[1]/c.FLOPs[0], c.Memory[1]/c.Memory[0], c.State[1],
		c.State[0])}
}

// answer answers whether the idea helps on a task.
func (a Accuracy) answer() Answer {
	v := Answer{Question: "Does it help with " + a.What + "?", Verdict: string(paired.NotToldApart)}
	told := fmt.Sprintf("%.3f of the answers are right, and %.3f of the baseline's (chance %.3f)", a.Means[1],
		a.Means[0], a.Chance)
	learned := func(x float64) bool { return x-a.Chance > 0.1*(1-a.Chance) }
	switch {
	case a.Judged == nil:
		v.Verdict = "diverged"
		v.Sentence = fmt.Sprintf("%d seeds of the idea and %d of the baseline diverge.", a.Diverged[1], a.Diverged[0])
	case a.Confirmed():
		v.Verdict = string(a.Judged.Verdict)
		v.Sentence = fmt.Sprintf("The idea is %s: %s, as six other seeds confirm.", v.Verdict, told)
	case a.Again != nil && a.Again.Verdict == a.Judged.Verdict:
		v.Sentence = fmt.Sprintf("The difference is below %g, which does not count: %s.", taskMatters, told)
	case a.Again != nil:
		v.Sentence = fmt.Sprintf("Six seeds tell a difference that six others do not confirm: %s.", told)
	case a.Judged.Verdict == paired.Same:
		v.Verdict, v.Sentence = string(paired.Same), "Idea and baseline are equal for every seed: "+told+"."
	case !learned(a.Means[0]) && !learned(a.Means[1]):
		v.Sentence = "Neither learns the task in so few steps: " + told + "."
	default:
		v.Sentence = "Six seeds tell no difference: " + told + "."
	}
	return v
}

// Confirmed reports whether idea and baseline differ by an amount that matters, on six seeds and in the same direction
// on six others.
func (a Accuracy) Confirmed() bool {
	if a.Judged == nil || a.Again == nil || a.Judged.Verdict != a.Again.Verdict {
		return false
	}
	d := a.Means[1] - a.Means[0]
	return (a.Judged.Verdict == paired.Better || a.Judged.Verdict == paired.Worse) &&
		(d >= taskMatters || d <= -taskMatters)
}

// onText answers whether the idea helps on text within a budget. Sizes at which both budgets are one count for each.
func (r *Report) onText(b budget) (a Answer, asked bool) {
	var better, worse, same, diverged, sizes int
	var told []string
	exact := false
	for _, l := range r.Losses {
		if !b.holds(l.Budget) {
			continue
		}
		exact = exact || l.Budget == b
		sizes++
		if l.Judged == nil {
			diverged++
			told = append(told, fmt.Sprintf("%v diverges with %d seeds", l.Size, l.Diverged[0]+l.Diverged[1]))
			continue
		}
		word := string(l.Judged.Verdict)
		counts := math.Abs(l.Compared.Mean) >= matters
		switch {
		case l.Judged.Verdict == paired.Same:
			same++
		case l.Judged.Verdict == paired.NotToldApart:
		case !counts:
			word += fmt.Sprintf(" by less than %g, which does not count", matters)
		case l.Judged.Verdict == paired.Better:
			better++
		case l.Judged.Verdict == paired.Worse:
			worse++
		}
		told = append(told, fmt.Sprintf("%+.4f at %v (%s)", l.Compared.Mean, l.Size, word))
	}
	a = Answer{Question: b.question(), Verdict: string(paired.NotToldApart)}
	numbers := strings.Join(told, ", ")
	switch {
	case same == sizes:
		a.Verdict, a.Sentence = string(paired.Same), "Idea and baseline are the same computation at every size."
	case better >= 2 && worse == 0:
		a.Verdict = string(paired.Better)
		a.Sentence = fmt.Sprintf("The idea is better, at %d of %d sizes; nats per token: %s.", better, sizes, numbers)
	case worse >= 2 && better == 0:
		a.Verdict = string(paired.Worse)
		a.Sentence = fmt.Sprintf("The idea is worse, at %d of %d sizes; nats per token: %s.", worse, sizes, numbers)
	case better > 0 && worse > 0:
		a.Sentence = fmt.Sprintf("The sizes contradict each other; nats per token: %s.", numbers)
	case better+worse == 1:
		a.Sentence = fmt.Sprintf("One size tells a difference that no other repeats; nats per token: %s.", numbers)
	case diverged == sizes:
		a.Verdict, a.Sentence = "diverged", fmt.Sprintf("No size has a comparison: %s.", numbers)
	default:
		a.Sentence = fmt.Sprintf("No size tells a difference; nats per token: %s.", numbers)
	}
	return a, exact
}

// growth answers whether the difference grows with the size.
func (r *Report) growth(g Growth) Answer {
	sum := 0.0
	for _, l := range r.Losses {
		if l.Compared != nil && g.Budget.holds(l.Budget) {
			sum += l.Compared.Mean
		}
	}
	a := Answer{Question: fmt.Sprintf("Does the difference at equal %s grow with size?", g.Budget), Verdict: "not told"}
	numbers := fmt.Sprintf("%+.4f nats for twice the parameters (95 %%: %+.4f to %+.4f, %d seeds)", g.Slope, g.Low,
		g.High, g.Seeds)
	switch {
	case g.Low == 0 && g.High == 0:
		a.Sentence = "There is no difference at any size."
	case g.Low <= 0 && g.High >= 0:
		a.Sentence = "The sizes do not tell: " + numbers + "."
	case (g.Slope < 0) == (sum < 0):
		a.Verdict, a.Sentence = "grows", "It grows: "+numbers+"."
	default:
		a.Verdict, a.Sentence = "vanishes", "It vanishes: "+numbers+"."
	}
	return a
}

// limits writes down what this protocol cannot show.
func (r *Report) limits() {
	largest := r.Plan.Sizes
	if len(largest) > 0 {
		r.leave("models above %v and trainings longer than %d steps: what holds here may not hold there",
			largest[len(largest)-1], r.Plan.Steps)
	}
	r.leave("settings other than the learning rate: weight decay, batch, schedule and the options of the idea are " +
		"fixed")
	for _, l := range r.Losses {
		if l.Edge {
			r.leave("rates outside %g to %g: at %v an arm has chosen an end of this grid",
				r.Plan.Rates[0], r.Plan.Rates[len(r.Plan.Rates)-1], l.Size)
		}
	}
	if r.Minutes < long {
		r.leave("all that a first look of %g minutes leaves out: it has smaller models, fewer tasks and one rate for "+
			"them, so that it shows mistakes and large differences; 60 minutes ask for more", r.Minutes)
	}
	r.leave("texts other than %s, texts longer than %d tokens, and other processors", r.Text, r.Plan.BlockSize)
}
