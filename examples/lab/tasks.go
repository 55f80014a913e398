package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// accuracy is the name of the measure that decides a study of tasks.
const accuracy = "accuracy"

// kind is a kind of task by its name, and the function that reads its options.
type kind struct {
	name string
	read func(options []byte) (tasks.Kind, error)
}

// kinds lists tasks.All by name.
func kinds() []kind {
	return []kind{
		{"in-context-recall", of[tasks.InContextRecall]},
		{"fuzzy-in-context-recall", of[tasks.FuzzyRecall]},
		{"noisy-in-context-recall", of[tasks.NoisyRecall]},
		{"selective-copying", of[tasks.SelectiveCopying]},
		{"compression", of[tasks.Compression]},
		{"memorization", of[tasks.Memorization]}, // the last of MAD's six
		{"multi-query-associative-recall", of[tasks.MultiQueryRecall]},
		{"repetition", of[tasks.Repetition]},
		{"dyck", of[tasks.Dyck]},
		{"parity", of[tasks.Parity]},
		{"word-problem", of[tasks.WordProblem]},
		{"modular-addition", of[tasks.ModularAddition]},
		{"markov", of[tasks.Markov]},
	}
}

const mad = 6 // the number of MAD's tasks

func kindNames() string {
	names := []string{"mad (the first six)"}
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

// of reads the options of a kind from JSON.
func of[K tasks.Kind](options []byte) (tasks.Kind, error) {
	var k K
	d := json.NewDecoder(bytes.NewReader(options))
	d.DisallowUnknownFields()
	if err := d.Decode(&k); err != nil {
		known, _ := json.Marshal(k)
		return nil, errors.Errorf("%v; want options of %s, or Train or Test, the numbers of rows", err, known)
	}
	return k, nil
}

// taskTexts returns the texts of -tasks, and keeps their facts.
func (o *options) taskTexts() (list []lab.Text, err error) {
	for _, l := range o.tasks {
		for i, name := range strings.Split(l, ";") {
			names := []string{strings.ReplaceAll(name, " ", "")}
			if rest, ok := strings.CutPrefix(names[0], "mad"); ok && (rest == "" || rest[0] == ':') {
				names = nil
				for _, k := range kinds()[:mad] {
					names = append(names, k.name+rest)
				}
			}
			for _, name := range names {
				t, err := o.task(name)
				if err != nil {
					return nil, errors.WithMessagef(err, "-tasks: element %d", i+1)
				}
				list = append(list, t)
			}
		}
	}
	return list, nil
}

// task returns the text of a task such as parity:Length=16,TestLength=32.
func (o *options) task(text string) (t lab.Text, err error) {
	name, list, _ := strings.Cut(text, ":")
	at := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name })
	if at < 0 {
		var names []string
		for _, k := range kinds() {
			names = append(names, k.name)
		}
		return t, errors.Errorf("got %q, want %s%s", name, kindNames(), spelling.Hint(name, names))
	}
	values, set := map[string]json.Number{}, tasks.Set{Seed: 1} // the same rows for every seed of the study
	if o.quick {
		set.Train, set.Test = 64, 8
	}
	for _, w := range words(list) {
		option, value, _ := strings.Cut(w, "=")
		if _, twice := values[option]; twice {
			return t, errors.Errorf("%s: got %s twice", name, option)
		}
		if value == "" {
			return t, errors.Errorf("%s: got %q, want an option such as Length=16", name, w)
		}
		values[option] = json.Number(value)
	}
	for option, size := range map[string]*int{"Train": &set.Train, "Test": &set.Test} {
		if value, ok := values[option]; ok {
			n, err := value.Int64()
			if err != nil || n < 1 || n > 1<<28 {
				return t, errors.Errorf("%s: %s: got %q, want 1 to 2²⁸", name, option, value)
			}
			*size = int(n)
			delete(values, option)
		}
	}
	data, err := json.Marshal(values)
	if err != nil {
		return t, errors.WithMessagef(err, "%s: want numbers, such as Length=16", name)
	}
	k, err := kinds()[at].read(data)
	if err != nil {
		return t, errors.WithMessage(err, name)
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
