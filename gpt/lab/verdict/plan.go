package verdict

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pkg/errors"
)

// Plan says what is trained. It is kept, so that a Judge that was interrupted continues with it.
type Plan struct {
	Sizes     []Size     `json:"sizes"` // of the models of text, ascending
	Steps     int        `json:"steps"` // of a trial on text
	Rates     []float64  `json:"rates"` // learning rates of the baseline, ascending
	Looks     []int      `json:"looks"` // seeds at which the losses are judged
	BlockSize int        `json:"block_size"`
	Tasks     []TaskPlan `json:"tasks"`
	TaskSize  Size       `json:"task_size"`
	TaskRates []float64  `json:"task_rates"` // as Rates; each arm takes the better one
}

// TaskPlan is a task and the steps of a trial on it.
type TaskPlan struct {
	Task  string `json:"task"`
	Steps int    `json:"steps"`
}

// long is the number of minutes from which models of up to 0.8 M parameters are trained, and short the number below
// which there are fewer tasks.
const long, short = 30, 10

// planned returns the plan of a number of minutes, but for the steps on text.
func planned(minutes float64, base gpt.Config) Plan {
	p := Plan{
		Sizes: []Size{{32, 2}, {64, 3}, {128, 4}}, Looks: []int{4, 8}, BlockSize: base.BlockSize,
		TaskSize: Size{64, 2}, TaskRates: []float64{3e-3, 1e-2},
	}
	for _, factor := range []float64{0.25, 0.5, 1, 2, 4, 8} {
		p.Rates = append(p.Rates, factor*base.LearningRate)
	}
	tasks := list()
	if minutes < long {
		p.Sizes, p.TaskRates = []Size{{16, 1}, {32, 2}, {64, 3}}, p.TaskRates[1:]
		tasks = []known{tasks[1], tasks[3], tasks[4]}
	}
	if minutes < short {
		tasks = []known{list()[0], tasks[1]}
	}
	for _, t := range tasks {
		p.Tasks = append(p.Tasks, TaskPlan{t.name, t.steps})
	}
	return p
}

// Quick returns a plan of tiny models and few steps, which shows in seconds that an idea runs, and decides nothing.
func Quick() Plan {
	return Plan{
		Sizes: []Size{{8, 1}, {16, 1}}, Steps: 2, Rates: []float64{4e-3, 8e-3}, Looks: []int{2},
		Tasks: []TaskPlan{{list()[0].name, 2}}, TaskSize: Size{8, 1}, TaskRates: []float64{1e-2},
	}
}

// filled returns p with the fields of other where its own are 0.
func (p Plan) filled(other Plan) Plan {
	choose(&p.Sizes, other.Sizes)
	choose(&p.Rates, other.Rates)
	choose(&p.Looks, other.Looks)
	choose(&p.Tasks, other.Tasks)
	choose(&p.TaskRates, other.TaskRates)
	p.BlockSize, p.TaskSize = other.BlockSize, cmp.Or(p.TaskSize, other.TaskSize)
	return p
}

// choose sets a list that is nil.
func choose[T any](list *[]T, other []T) {
	if *list == nil {
		*list = other
	}
}

// check returns an error that names the field that cannot be asked.
func (p Plan) check() error {
	switch {
	case len(p.Sizes) < 2:
		return errors.Errorf("plan: sizes: got %v, want at least two", p.Sizes)
	case p.Steps < 0 || p.Steps > 1e6:
		return errors.Errorf("plan: steps: got %d, want 0 to 1000000", p.Steps)
	case len(p.Rates) == 0 || !slices.IsSorted(p.Rates):
		return errors.Errorf("plan: rates: got %v, want ascending rates", p.Rates)
	case len(p.Looks) == 0 || p.Looks[0] < 2 || !slices.IsSorted(p.Looks):
		return errors.Errorf("plan: looks: got %v, want ascending numbers of seeds of at least 2", p.Looks)
	case len(p.TaskRates) == 0 && len(p.Tasks) > 0:
		return errors.New("plan: task_rates: got none")
	}
	for _, t := range p.Tasks {
		if !slices.ContainsFunc(list(), func(k known) bool { return k.name == t.Task }) || t.Steps < 1 {
			return errors.Errorf("plan: tasks: got %d steps of %q, want at least 1 of one of %v", t.Steps, t.Task,
				taskNames())
		}
	}
	return nil
}

// taskNames lists the names of the tasks that a Plan may have.
func taskNames() (names []string) {
	for _, k := range list() {
		names = append(names, k.name)
	}
	return names
}

// shareOfText is the share of the time for trials on text.
const shareOfText = 0.7

// settle chooses the number of steps from the times that were measured, unless the plan has one.
func (j *judge) settle() error {
	if j.Report.Plan.Steps == 0 {
		j.Report.Plan.Steps = j.affordable()
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
	for _, size := range j.Report.Plan.Sizes {
		p, err := j.pair(size, j.Report.Plan.Steps)
		if err != nil {
			return err
		}
		j.pace.plan(trials/2, float64(j.Report.Plan.Steps), p.base)
		j.pace.plan(trials/2, float64(j.Report.Plan.Steps), p.plain)
	}
	for _, t := range j.Report.Plan.Tasks {
		_, c, err := newTask(t.Task, 1, j.Report.Plan.TaskSize.apply(j.Base))
		if err != nil {
			return err
		}
		j.pace.plan(float64(2*paired.Confirming*len(j.Report.Plan.TaskRates)), float64(t.Steps), c)
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
