package seq2seq_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// An encoder alone guesses the words that are hidden as 3. The padding is neither hidden nor seen.
func ExampleNewMasked() {
	c := seq2seq.Config{SourceSize: 5, SourceVocab: 20, Stack: parts.Stack{NLayer: 1, NHead: 2, NEmbd: 8}}
	m, err := seq2seq.NewMasked(graph.New(graph.Float64, 1), c, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Fill([][]int{{5, 6, 7, 8, 9}, {11, 12, 13}}, 0.15, rand.New(rand.NewPCG(1, 2))); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("source ", m.Source.Ints())
	fmt.Println("targets", m.Targets.Ints())
	// Output:
	// source  [5 6 7 3 9 11 3 13 0 0]
	// targets [-1 -1 -1 8 -1 -1 12 -1 -1 -1]
}

// An encoder–decoder on a batch of two pairs, which are padded to equal lengths.
func ExampleNew() {
	c := seq2seq.Config{
		SourceSize: 4, TargetSize: 6, SourceVocab: 20, TargetVocab: 30,
		Stack: parts.Stack{NLayer: 2, NHead: 2, NEmbd: 8, Block: "post"},
	}
	g := graph.New(graph.Float64, 1)
	m, err := seq2seq.New(g, c, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Fill([]seq2seq.Pair{
		{Source: []int{5, 6, 7, 8}, Target: []int{9, 10}},
		{Source: []int{5}, Target: []int{11, 12, 13, 14, 15}},
	}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("source ", m.Source.Ints())
	fmt.Println("input  ", m.Input.Ints())
	fmt.Println("targets", m.Targets.Ints())
	fmt.Println("logits ", m.Logits.Shape())

	c.NHead = 3
	_, err = seq2seq.New(graph.New(graph.Float64, 1), c, 2)
	fmt.Println(err)
	// Output:
	// source  [5 6 7 8 5 0 0 0]
	// input   [1 9 10 0 0 0 1 11 12 13 14 15]
	// targets [9 10 2 -1 -1 -1 11 12 13 14 15 2]
	// logits  [12 30]
	// seq2seq: n_head: 3 heads do not divide n_embd 8; set both qk_size and v_size to do without
}

// A search of one's own asks for the logits of the next tokens of all hypotheses.
func ExampleTranslator_Search() {
	c := seq2seq.Config{
		SourceSize: 3, TargetSize: 4, SourceVocab: 9, TargetVocab: 8, Stack: parts.Stack{NLayer: 1, NHead: 1, NEmbd: 4},
	}
	m, err := seq2seq.New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := seq2seq.NewTranslator(m, 2, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = w.Search([][]int{{5, 6}, {7}, {8}}, func(p search.Predictor, sources int) error {
		logits, err := p.Step(nil)
		fmt.Println(sources, "sources, logits", logits.Shape)
		return err
	})
	fmt.Println(err)
	// Output:
	// 2 sources, logits [6 8]
	// 1 sources, logits [6 8]
	// <nil>
}

// countdowns is a list of pairs of a source with one number and a target that counts down from it.
type countdowns struct{}

func (countdowns) Len() int { return 5 }

func (countdowns) Pair(i int) (p seq2seq.Pair, err error) {
	const zero = seq2seq.Hidden + 1
	p.Source = []int{zero + i}
	for n := i - 1; n >= 0; n-- {
		p.Target = append(p.Target, zero+n)
	}
	return p, nil
}

// A model learns to count down.
func ExampleTrainer() {
	c := seq2seq.Config{
		SourceSize: 1, TargetSize: 5, SourceVocab: 9, TargetVocab: 9,
		Stack: parts.Stack{NLayer: 1, NHead: 2, NEmbd: 16},
		Training: train.Training{
			BatchSize: 8, GradientAccumulationSteps: 1, LearningRate: 0.01, Beta1: 0.9, Beta2: 0.99, Kernels: true,
		},
		Run: train.Run{MaxIters: 150, EvalInterval: 50, EvalIters: 1, LogInterval: 1},
	}
	t, err := seq2seq.NewTrainer(c, countdowns{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range t.Run(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	loss, err := t.Evaluate(context.Background(), countdowns{})
	fmt.Println(loss < 0.1, err)
	w, err := seq2seq.NewTranslator(t.Model, 1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := w.Greedy(context.Background(), [][]int{{seq2seq.Hidden + 4}})
	fmt.Println(found[0].Tokens, err)
	// Output:
	// true <nil>
	// [6 5 4] <nil>
}
