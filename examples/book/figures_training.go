package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/pedestrian-ml/pedestrian/examples/book/chapters"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

// figureAdam shows how AdamW moves two parameters with different gradients.
func figureAdam() (string, error) {
	steady, noisy := curve{name: "0.01, steady"}, curve{name: "±10, at random"}
	random := rand.New(rand.NewPCG(3, 3))
	c := hand.AdamW{Rate: 0.01, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}
	w, m, v := hand.Zeros[float64](1, 2), hand.Zeros[float64](1, 2), hand.Zeros[float64](1, 2)
	for t := range 61 {
		steady.x, steady.y = append(steady.x, float64(t)), append(steady.y, w.Data[0])
		noisy.x, noisy.y = append(noisy.x, float64(t)), append(noisy.y, w.Data[1])
		g := hand.NewMatrix(1, 2, 0.01, 10-20*float64(random.IntN(2)))
		w, m, v = hand.AdamWUpdate(c, t+1, w, g, m, v)
	}
	return chart("step", "parameter", steady, noisy), w.Err
}

// trainingRun is a training run on the text of a chapter.
type trainingRun struct {
	losses, rates []float64
	characters    int
}

// trained trains the model of the chapter on training. All figures of the chapter share the run.
var trained = sync.OnceValues(func() (r trainingRun, err error) {
	list, err := chapters.Read()
	if err != nil {
		return r, err
	}
	var source string
	for _, c := range list {
		if c.File == "08-training" {
			source = c.Source
		}
	}
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 2, 2, 32, 48, 12
	c.MaxIters, c.LRDecayIters, c.WarmupIters, c.LearningRate, c.MinLR, c.EvalIters = 240, 240, 20, 5e-3, 5e-4, 1
	tok, err := text.NewCharacters(source)
	if err != nil {
		return r, err
	}
	corpus, err := text.NewCorpus(source, tok, c.BlockSize)
	if err != nil {
		return r, err
	}

	t, err := gpt.NewTrainer(c, corpus, tok)
	if err != nil {
		return r, err
	}
	r.characters = t.Config().VocabSize
	for p, err := range t.Run(context.Background()) {
		if err != nil {
			return r, err
		}
		r.losses, r.rates = append(r.losses, p.Loss), append(r.rates, p.LR)
	}
	return r, nil
})

// steps returns 1, 2, …, n.
func steps(n int) (list []float64) {
	for i := range n {
		list = append(list, float64(i+1))
	}
	return list
}

func figureSchedule() (string, error) {
	r, err := trained()
	return chart("step", "learning rate", curve{"warmup and cosine", steps(len(r.rates)), r.rates}), err
}

func figureTraining() (string, error) {
	r, err := trained()
	if err != nil {
		return "", err
	}
	uniform := math.Log(float64(r.characters))
	n := float64(len(r.losses))
	return chart("step", "loss in nats", curve{"training", steps(len(r.losses)), r.losses},
		curve{"uniform guess", []float64{1, n}, []float64{uniform, uniform}}), nil
}

func numberCharacters() (string, error) {
	r, err := trained()
	return fmt.Sprint(r.characters), err
}

func numberCharactersUniform() (string, error) {
	r, err := trained()
	return fmt.Sprintf("%.2f", math.Log(float64(r.characters))), err
}

func numberTrainingLast() (string, error) {
	r, err := trained()
	if err != nil || len(r.losses) == 0 {
		return "", errors.Wrap(err, "training")
	}
	return fmt.Sprintf("%.2f", r.losses[len(r.losses)-1]), nil
}

// figureSampling shows a distribution as four ways of drawing see it.
func figureSampling() (string, error) {
	z := hand.NewMatrix(1, 8, 3.0, 2.6, 1.5, 1.2, 0.5, 0.1, -0.4, -1)
	p := z.Softmax()
	keep := func(n int) values64 {
		out := hand.Zeros[float64](1, 8)
		copy(out.Data, p.Data[:n]) // the logits fall
		return out.Div(out.Sum())
	}
	top, total := 0, 0.0
	for ; total < 0.9; top++ {
		total += p.Data[top]
	}
	m := hand.JoinTokens(p, z.Scale(2).Softmax(), keep(3), keep(top))
	return heats(heat{"", m, []string{"T = 1", "T = 0.5", "top-k, k = 3", "top-p, p = 0.9"}, nil, 2}), m.Err
}

// figureCache draws the work for a token of GPT-2 by the length of the text before it.
func figureCache() (string, error) {
	with, without := curve{name: "with a cache"}, curve{name: "without"}
	for n := 1; n <= gpt2Context; n *= 2 {
		weights := float64(gpt2Blocks * 12 * gpt2Embd * gpt2Embd)
		pairs := func(keys float64) float64 { return gpt2Blocks * 2 * gpt2Embd * keys }
		k := float64(n)
		with.x, with.y = append(with.x, k), append(with.y, math.Log10(weights+pairs(k)))
		without.x, without.y = append(without.x, k), append(without.y, math.Log10(k*weights+pairs(k*(k+1)/2)))
	}
	return chart("tokens so far", "log₁₀ of the multiplications", without, with), nil
}

func numberCacheToken() (string, error) { return program.Thousands(2 * gpt2Embd * gpt2Blocks), nil }
