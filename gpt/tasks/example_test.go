package tasks_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Every task, with its default options written out and fewer rows than by default.
func ExampleNew() {
	for _, k := range []tasks.Kind{
		tasks.InContextRecall{Vocabulary: 16, Pairs: 64},
		tasks.FuzzyRecall{Vocabulary: 16, KeyLength: 3, ValueLength: 3, Length: 128},
		tasks.NoisyRecall{Vocabulary: 32, Noises: 16, Noise: 0.2, Pairs: 64},
		tasks.SelectiveCopying{Vocabulary: 16, Copied: 16, Length: 256},
		tasks.Compression{Vocabulary: 16, Length: 32},
		tasks.Memorization{Vocabulary: 256, Pairs: 16, Seed: 0},
		tasks.MultiQueryRecall{Vocabulary: 8192, Pairs: 4, Length: 64, Power: 0.01},
		tasks.Repetition{Vocabulary: 64, Length: 64, TestLength: 64},
		tasks.Dyck{Types: 8, Depth: 8, Length: 128},
		tasks.Parity{Length: 40, TestLength: 40},
		tasks.WordProblem{Degree: 5, Length: 16, TestLength: 16},
		tasks.ModularAddition{Modulus: 97, Share: 0.5},
		tasks.Markov{Symbols: 4, Order: 2, Length: 128, TestLength: 128, Seed: 0},
	} {
		task, err := tasks.New(k, tasks.Set{Train: 100, Test: 50, Seed: 1})
		check(err)
		fmt.Printf("%-31s %5d %4d %9.4f %8.3f %6.3f\n", task.Name, task.VocabSize, task.BlockSize, task.Chance,
			task.Optimum.Accuracy, task.Optimum.Loss)
	}
	// Output:
	// in-context-recall                  16  128    0.1250    1.000  0.000
	// fuzzy-in-context-recall            16  128    0.1250    1.000  0.000
	// noisy-in-context-recall            32  128    0.1250    1.000  0.000
	// selective-copying                  16  256    0.0714    1.000  0.000
	// compression                        16   62    0.0667    1.000  0.000
	// memorization                      256   32    0.0079    1.000  0.000
	// multi-query-associative-recall   8192   64    0.0002    1.000  0.000
	// repetition                         64   64    0.0156    1.000  0.000
	// dyck                               16  128    0.1250    1.000  0.000
	// parity                              2   40    0.5000    1.000  0.000
	// word-problem                      120   16    0.0083    1.000  0.000
	// modular-addition                   99    4    0.0103    1.000  0.000
	// markov                              4  128    0.2500    0.497  1.084
}

func ExampleAll() {
	for _, k := range tasks.All()[4:8] {
		task, err := tasks.New(k, tasks.Set{Train: 1, Test: 1})
		check(err)
		fmt.Printf("%s: %s\n", task.Name, task.Source)
	}
	// Output:
	// compression: Poli et al. 2024, arXiv:2403.17844
	// memorization: Poli et al. 2024, arXiv:2403.17844
	// multi-query-associative-recall: Arora et al. 2023, arXiv:2312.04927
	// repetition: Olsson et al. 2022, arXiv:2209.11895
}

// A tokenizer has a character for each id.
func ExampleFacts_Tokenizer() {
	tok, err := tasks.Facts{VocabSize: 20}.Tokenizer()
	check(err)
	fmt.Println(tok.Decode([]int{0, 1, 15, 19}))
	// Output: !"04 <nil>
}

// logits returns the logits of a model, for Score.
func logits(m *gpt.Model) func(tokens []int) (graph.Tensor, error) {
	probe, err := inspect.Tap(m, "logits")
	check(err)
	return func(tokens []int) (graph.Tensor, error) {
		a, err := probe.Run(tokens)
		if err != nil {
			return graph.Tensor{}, err
		}
		return a.At("logits")
	}
}

// trainer returns a trainer of a model with two small blocks.
func trainer(task tasks.Task) *gpt.Trainer {
	tok, err := task.Tokenizer()
	check(err)
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize, c.Dropout, c.Threads = 2, 2, 32, task.BlockSize, 32, 0, 1
	c.LearningRate, c.MinLR, c.WarmupIters, c.LRDecayIters, c.MaxIters, c.Head = 3e-3, 3e-4, 20, 300, 300, "linear"
	t, err := gpt.NewTrainer(c, task, tok)
	check(err)
	return t
}

// Two blocks learn to continue what repeats itself, also on rows that they have never seen.
func ExampleTask_Score() {
	task, err := tasks.New(tasks.Repetition{Vocabulary: 12, Length: 16}, tasks.Set{Train: 4000, Test: 100})
	check(err)
	t, ctx := trainer(task), context.Background()
	for _, err := range t.Run(ctx) {
		check(err)
	}
	s, err := task.Score(ctx, logits(t.Model))
	check(err)
	fmt.Printf("%d answers in %d rows: accuracy %.2f ± %.2f, by chance %.2f\n", s.Answers, s.Rows, s.Accuracy,
		s.AccuracyError, task.Chance)
	fmt.Println("the loss is near its optimum:", s.Loss-task.Optimum.Loss < 0.05, s.LossError < 0.01)
	// Output:
	// 1017 answers in 100 rows: accuracy 1.00 ± 0.00, by chance 0.08
	// the loss is near its optimum: true true
}

// The loss of a Score is the trainer's over all test rows.
func TestScoreIsTheTrainersLoss(t *testing.T) {
	task, err := tasks.New(tasks.Parity{Length: 7, TestLength: 11}, tasks.Set{Train: 40, Test: 50, Seed: 5})
	check(err)
	tr := trainer(task)
	_, err = tr.Step()
	check(err)
	s, err := task.Score(t.Context(), logits(tr.Model))
	check(err)
	want, err := tr.EvaluateAll(t.Context(), nil)
	if err != nil || !(math.Abs(s.Loss-want) <= 1e-5) || s.Answers != 550 {
		t.Errorf("got %+v, want a loss of %g (%v) over 550 answers", s, want, err)
	}
}

func ExampleParse() {
	k, set, err := tasks.Parse("parity:Length=4,TestLength=8,Train=100,Test=10")
	check(err)
	task, err := tasks.New(k, set)
	check(err)
	fmt.Printf("%+v, %d training rows of at most %d tokens\n", k, task.Training.Len()/task.BlockSize, task.BlockSize)
	// Output: {Length:4 TestLength:8}, 100 training rows of at most 8 tokens
}
