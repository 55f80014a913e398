package verdict

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Accuracy is the accuracy of baseline and idea on a task, in this order.
type Accuracy struct {
	Task     string             `json:"task"`
	What     string             `json:"what"`
	Steps    int                `json:"steps"`
	Chance   float64            `json:"chance"`
	Optimum  float64            `json:"optimum"`
	Rates    [2]float64         `json:"rates"` // the better one of each
	Means    [2]float64         `json:"accuracies"`
	Diverged [2]int             `json:"diverged"` // seeds
	Compared *paired.Comparison `json:"compared,omitempty"`
	Judged   *paired.Judgement  `json:"judged,omitempty"`    // nil if a seed diverged
	Again    *paired.Judgement  `json:"confirmed,omitempty"` // of other seeds, if Judged is a verdict
}

// known is a task by the name that tasks.Parse reads, with the steps in which the baseline learns it.
type known struct {
	name, what string
	steps      int
}

// list returns the tasks.
func list() []known {
	const recall = "multi-query-associative-recall"
	return []known{
		{recall + ":Vocabulary=32,Pairs=4,Length=16,Train=20000,Test=200", "recall of 4 pairs", 300},
		{recall + ":Vocabulary=64,Pairs=8,Length=32,Train=20000,Test=200", "recall of 8 pairs", 500},
		{recall + ":Vocabulary=64,Pairs=16,Length=64,Train=20000,Test=200", "recall of 16 pairs", 1000},
		{"repetition:Vocabulary=16,Length=24,Train=20000,Test=200", "induction", 500},
		{"parity:Length=16,TestLength=32,Train=50000,Test=200", "parity of twice the trained length", 500},
		{"selective-copying:Vocabulary=16,Copied=8,Length=48,Train=20000,Test=200", "selective copying", 300},
		{"compression:Vocabulary=16,Length=24,Train=20000,Test=200", "compression", 300},
	}
}

// subject returns the subject of a task in the list, such as induction.
func subject(name string) string {
	return list()[slices.IndexFunc(list(), func(k known) bool { return k.name == name })].what
}

// newTask returns the task of a name, with the given number of training rows or, for 0, all of them, and c with the
// sizes of the task.
func newTask(name string, rows int, c gpt.Config) (tasks.Task, gpt.Config, error) {
	k, set, err := tasks.Parse(name)
	if err != nil {
		return tasks.Task{}, c, err
	}
	t, err := tasks.New(k, tasks.Set{Train: cmp.Or(rows, set.Train), Test: set.Test, Seed: 1})
	c.BlockSize, c.VocabSize, c.BatchSize = t.BlockSize, t.VocabSize, batchOfTasks
	return t, c, err
}

// batchOfTasks is the number of rows of a step on a task.
const batchOfTasks = 32

// taskMatters is the smallest difference of two accuracies that matters.
const taskMatters = 0.05

// askTasks trains on the tasks.
func (j *judge) askTasks() error {
	for _, t := range j.Report.Plan.Tasks {
		a := Accuracy{Task: t.Task, What: subject(t.Task), Steps: t.Steps}
		if err := j.askTask(&a, j.Report.Plan.TaskRates, j.Base.Seed); err != nil {
			return err
		}
		j.Tasks = append(j.Tasks, a)
	}
	if err := judgeTasks(j.Tasks, func(a *Accuracy) **paired.Judgement { return &a.Judged }); err != nil {
		return err
	}
	var told []Accuracy // asked again with other seeds
	for _, a := range j.Tasks {
		if a.Judged == nil || a.Judged.Verdict != paired.Better && a.Judged.Verdict != paired.Worse {
			continue
		}
		again := a
		rates := slices.DeleteFunc(slices.Clone(j.Report.Plan.TaskRates), func(r float64) bool {
			return j.rate(false, r) != a.Rates[0] && j.rate(true, r) != a.Rates[1]
		})
		if err := j.askTask(&again, rates, j.Base.Seed+confirming); err != nil {
			return err
		}
		told = append(told, again)
	}
	if err := judgeTasks(told, func(a *Accuracy) **paired.Judgement { return &a.Again }); err != nil {
		return err
	}
	for _, again := range told {
		at := slices.IndexFunc(j.Tasks, func(a Accuracy) bool { return a.Task == again.Task })
		j.Tasks[at].Again = again.Again
	}
	return nil
}

// askTask trains baseline and idea on a task at some rates, and compares each at its better one.
func (j *judge) askTask(a *Accuracy, rates []float64, first uint64) error {
	task, base, err := newTask(a.Task, 0, j.Report.Plan.TaskSize.apply(j.Base))
	if err != nil {
		return err
	}
	a.Chance, a.Optimum = task.Chance, task.Optimum.Accuracy
	tok, err := task.Tokenizer()
	if err != nil {
		return err
	}
	text := lab.Text{Name: a.Task, Corpus: task, Tokenizer: tok, Measures: []lab.Measure{Right(task)}}
	base.Head, base.GradientAccumulationSteps, base.Threads, base.EvalIters = "linear", 1, 1, 1
	if base, err = (lab.Budget{Steps: a.Steps}).Apply(base); err != nil {
		return err
	}
	base.EvalInterval = base.MaxIters
	plain, err := j.idea.Apply(base)
	if err == nil {
		err = plain.Validate()
	}
	if err != nil { // a part may need a longer text, for example
		j.leave("%s: %v", a.What, err)
		return nil
	}
	if j.idea.Change == nil && plain.ResumeDiff(base) == nil {
		j.leave("%s: the idea is the baseline there, whose head is linear", a.What)
		return nil
	}
	var arms []arm
	for _, rate := range rates {
		for side, c := range []gpt.Config{base, plain} {
			c.LearningRate = j.rate(side == 1, rate)
			arms = append(arms, j.named(side == 1, fmt.Sprintf("rate %g", c.LearningRate), c))
		}
	}
	trials, err := j.run(series{a.What, text, arms, first, paired.Confirming})
	if err != nil {
		return err
	}
	var values [2][]float64
	for side := range 2 {
		var candidates []arm
		for i, a := range arms {
			if i%2 == side {
				candidates = append(candidates, a)
			}
		}
		best := slices.MaxFunc(candidates, func(a, b arm) int {
			return cmp.Compare(right(trials[a.name]), right(trials[b.name]))
		})
		a.Rates[side], a.Means[side], a.Diverged[side] = best.config.LearningRate, right(trials[best.name]), 0
		for _, t := range trials[best.name] {
			values[side] = append(values[side], t.Result.Measures[accuracy])
			if t.Result.Diverged > 0 {
				a.Diverged[side]++
			}
		}
	}
	a.Compared = nil
	if a.Diverged != [2]int{} {
		return nil
	}
	c, err := paired.Compare(values[1], values[0], first)
	a.Compared = &c
	return err
}

// judgeTasks gives the verdicts on several tasks.
func judgeTasks(list []Accuracy, judged func(*Accuracy) **paired.Judgement) error {
	var compared []paired.Comparison
	var places []**paired.Judgement
	for i := range list {
		if c := list[i].Compared; c != nil {
			compared, places = append(compared, *c), append(places, judged(&list[i]))
		}
	}
	if len(compared) == 0 {
		return nil
	}
	r := paired.Rule{Higher: true, Difference: taskMatters, Fewest: paired.Confirming}
	all, err := r.Judge(0, compared)
	for i := range all {
		*places[i] = &all[i]
	}
	return err
}

// right returns the mean accuracy of trials, of which one that diverged has none right.
func right(trials []*lab.Trial) (sum float64) {
	for _, t := range trials {
		sum += t.Result.Measures[accuracy] / float64(len(trials))
	}
	return sum
}

// accuracy is the name of the measure of tasks.
const accuracy = "accuracy"

// Right returns the measure "accuracy" of a task: the share of the answers in the test rows that are right.
func Right(task tasks.Task) lab.Measure {
	return lab.Measure{
		Name: accuracy, Higher: true, Share: true,
		Version: "examples/lab", // which measured it first, and whose results have this name in their keys
		Of: func(ctx context.Context, t *gpt.Trainer) (float64, error) {
			probe, err := inspect.Tap(t.Model, "logits")
			if err != nil {
				return 0, err
			}
			s, err := task.Score(ctx, func(tokens []int) (graph.Tensor, error) {
				a, err := probe.Run(tokens)
				if err != nil {
					return graph.Tensor{}, err
				}
				return a.At("logits")
			})
			return s.Accuracy, err
		},
	}
}
