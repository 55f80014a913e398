package verdict

import (
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pkg/errors"
)

// Plan says what is trained. It is kept, so that a Judge that was interrupted continues with it.
type Plan struct {
	Sizes     []Size     `json:"sizes"` // of the models of text, ascending
	Steps     int        `json:"steps"` // of a trial on text
	Rates     []float64  `json:"rates"` // learning rates, ascending
	BlockSize int        `json:"block_size"`
	Looks     []int      `json:"looks"` // seeds at which the losses are judged
	Tasks     []TaskPlan `json:"tasks"`
	TaskRates []float64  `json:"task_rates"` // learning rates
}

// TaskPlan is a task and the steps of a trial on it.
type TaskPlan struct {
	Task  string `json:"task"`
	Steps int    `json:"steps"`
}

// long is the number of minutes from which models of up to 0.8 M parameters are trained.
const long = 30

// sizes returns the sizes of the models of text.
func (j *judge) sizes() []Size {
	switch {
	case j.Protocol.Minutes >= long:
		return []Size{{32, 2}, {64, 3}, {128, 4}}
	case j.Protocol.Minutes >= 1:
		return []Size{{16, 1}, {32, 2}, {64, 3}}
	}
	return []Size{{16, 1}, {16, 2}, {32, 2}} // for tests
}

// shareOfText is the share of the time for trials on text.
const shareOfText = 0.7

// settle makes the plan from the times that were measured, unless one is kept.
func (j *judge) settle() error {
	switch {
	case j.Plan.Steps == 0:
		j.Plan = Plan{Sizes: j.sizes(), BlockSize: j.Base.BlockSize, Looks: []int{4, 8}}
		for _, factor := range []float64{0.25, 0.5, 1, 2, 4, 8} {
			j.Plan.Rates = append(j.Plan.Rates, factor*j.Base.LearningRate)
		}
		j.planTasks()
		if j.Plan.Steps = j.Steps; j.Steps == 0 {
			j.Plan.Steps = j.affordable()
		}
	case j.Steps > 0 && j.Steps != j.Plan.Steps:
		return errors.Errorf("steps: got %d, but %s has trials of %d; another directory has room for them", j.Steps,
			j.Dir, j.Plan.Steps)
	}
	if err := j.foresee(); err != nil {
		return err
	}
	return j.keep()
}

// trials is about the number of trials of a size: 2 × 4.5 of the halving in all steps, and 8 seeds of three arms at one
// or two rates. At worst there are 57; most often both arms choose the same rate, or have verdicts after 4 seeds.
const trials = 42

// affordable returns the number of steps of a trial on text for which there is time. A trial ends with a pass over the
// validation split, which takes as long as some steps.
func (j *judge) affordable() int {
	var step float64 // seconds of a step of each of the models, the mean of baseline and idea
	for _, c := range j.Costs {
		step += (c.Ms[0] + c.Ms[1]) / 2e3
	}
	seconds := j.Protocol.Minutes * 60 * float64(j.Jobs) * shareOfText
	return rounded(seconds/trials/step - j.passes())
}

// foresee tells the pace how much work the trials are.
func (j *judge) foresee() error {
	for _, size := range j.Plan.Sizes {
		p, err := j.pair(size, j.Plan.Steps)
		if err != nil {
			return err
		}
		j.pace.plan(trials/2, float64(j.Plan.Steps), p.base)
		j.pace.plan(trials/2, float64(j.Plan.Steps), p.plain)
	}
	for _, t := range j.Plan.Tasks {
		c, facts := sizeOfTasks().apply(j.Base), taskOf(t.Task)
		c.BlockSize, c.BatchSize, c.VocabSize = facts.length, batchOfTasks, facts.vocabulary
		j.pace.plan(float64(2*paired.Confirming*len(j.Plan.TaskRates)), float64(t.Steps), c)
	}
	return nil
}

// passes returns the number of steps that take as long as a pass over the validation split.
func (j *judge) passes() float64 {
	tokens := j.Base.BatchSize * j.Base.GradientAccumulationSteps * j.Base.BlockSize
	return float64(j.Protocol.Text.Corpus.Val().Len()) / float64(tokens) / 3 // without a backward pass
}

// rounded returns a number of steps with two digits, of 20 to 4000.
func rounded(steps float64) int {
	n, unit := int(min(max(steps, 20), 4000)), 1
	for ; n/unit >= 100; unit *= 10 {
	}
	return n / unit * unit
}
