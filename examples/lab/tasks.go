package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
	"github.com/pkg/errors"
)

// accuracy is the name of the measure that decides a study of tasks.
const accuracy = "accuracy"

const mad = 6 // the number of MAD's tasks, the first of tasks.Names

// taskTexts returns the texts of -tasks, and keeps their facts.
func (o *options) taskTexts() (list []lab.Text, err error) {
	for _, l := range o.tasks {
		for i, name := range strings.Split(l, ";") {
			names := []string{strings.ReplaceAll(name, " ", "")}
			if rest, ok := strings.CutPrefix(names[0], "mad"); ok && (rest == "" || rest[0] == ':') {
				names = nil
				for _, name := range tasks.Names()[:mad] {
					names = append(names, name+rest)
				}
			}
			for _, name := range names {
				t, err := o.task(name)
				if err != nil {
					return nil, errors.WithMessagef(err, "-tasks: element %d (mad stands for the first six)", i+1)
				}
				list = append(list, t)
			}
		}
	}
	return list, nil
}

// task returns the text of a task such as parity:Length=16,TestLength=32. Every seed of the study has the same rows.
func (o *options) task(text string) (t lab.Text, err error) {
	k, set, err := tasks.Parse(text)
	if err != nil {
		return t, err
	}
	if set.Seed = 1; o.quick {
		set.Train, set.Test = cmp.Or(set.Train, 64), cmp.Or(set.Test, 8)
	}
	task, err := tasks.New(k, set)
	if err != nil {
		return t, err
	}
	guesses, err := task.Guesses()
	if err != nil {
		return t, err
	}
	if o.facts == nil {
		o.facts = map[string]facts{}
	}
	o.facts[text] = facts{task.Facts, guesses}
	tok, err := task.Tokenizer()
	return lab.Text{Name: text, Corpus: task, Tokenizer: tok, Measures: scores(task), Change: func(c *gpt.Config) {
		c.BlockSize, c.VocabSize = task.BlockSize, task.VocabSize
	}}, err
}

// scores returns what is measured on a task.
func scores(task tasks.Task) []lab.Measure {
	list := []lab.Measure{verdict.Right(task)}
	if task.Optimum.Loss > 0 {
		excess := func(ctx context.Context, t *gpt.Trainer) (float64, error) {
			loss, err := t.EvaluateAll(ctx, nil)
			return loss - task.Optimum.Loss, err
		}
		list = append(list, lab.Measure{Name: "excess over the entropy", Version: version, Of: excess})
	}
	return list
}

// decides makes the accuracy the outcome of a study of tasks, and 0.05 the difference that matters.
func (o *options) decides(s *lab.Study) {
	if len(o.tasks) == 0 {
		return
	}
	s.Outcome = accuracy
	if !o.given["matters"] {
		s.Matters = 0.05
	}
}

// facts describe a task.
type facts struct {
	tasks.Facts
	tasks.Guesses
}

// known is a task's answer.
type known struct {
	Source          string  `json:"source"`
	Chance          float64 `json:"chance"`
	LastToken       float64 `json:"last_token"` // accuracies of the guesses of tasks.Guesses
	Seen            float64 `json:"seen"`
	OptimumAccuracy float64 `json:"optimum_accuracy"`
	OptimumLoss     float64 `json:"optimum_loss"`
}

// known returns the answer of the task of a text, or nil.
func (o *options) known(text string) *known {
	f, ok := o.facts[text]
	if !ok {
		return nil
	}
	return &known{f.Source, f.Chance, f.LastToken, f.Seen, f.Optimum.Accuracy, f.Optimum.Loss}
}

// decided is the outcome of an arm if it is not the loss: the mean over the seeds with its standard error.
type decided struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se"`
}

func newDecided(s *lab.Study, m lab.Mean) *decided {
	if cmp.Or(s.Outcome, "loss") == "loss" || m.N == 0 {
		return nil
	}
	return &decided{m.Value, m.SE}
}
