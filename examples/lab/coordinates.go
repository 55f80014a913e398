package main

import (
	"context"
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
)

// coordinateNames returns the names of the measure coordinates.
func coordinateNames() []string { return []string{"change of the stream", "change of the logits"} }

// coordinates returns the root mean squares of the changes since step 0, on the beginning of the validation split.
func coordinates(*options) []lab.Measure {
	names := coordinateNames()
	return []lab.Measure{
		{Name: names[0], Version: version, Of: moved(func(c gpt.Config) string {
			return fmt.Sprintf("h.%d", c.NLayer-1)
		})},
		{Name: names[1], Version: version, Of: moved(func(gpt.Config) string { return "logits" })},
	}
}

// moved returns the function that measures the change at a place. It builds the model of step 0 again.
func moved(place func(gpt.Config) string) func(context.Context, *gpt.Trainer) (float64, error) {
	return func(ctx context.Context, t *gpt.Trainer) (float64, error) {
		c := t.Config()
		c.Context = ctx
		start, err := gpt.NewTrainer(c, t.Corpus, t.Tokenizer)
		if err != nil {
			return 0, err
		}
		tokens := make([]int, min(c.BlockSize, t.Corpus.Val().Len()))
		if err := t.Corpus.Val().Read(tokens, 0); err != nil {
			return 0, err
		}
		before, err := tapped(start.Model, place(c), tokens)
		if err != nil {
			return 0, err
		}
		after, err := tapped(t.Model, place(c), tokens)
		if err != nil {
			return 0, err
		}
		var sum float64
		for i, x := range after {
			sum += (x - before[i]) * (x - before[i])
		}
		return math.Sqrt(sum / float64(len(after))), nil
	}
}

// tapped returns an activation of a model.
func tapped(m *gpt.Model, place string, tokens []int) ([]float64, error) {
	probe, err := inspect.Tap(m, place)
	if err != nil {
		return nil, err
	}
	a, err := probe.Run(tokens)
	if err != nil {
		return nil, err
	}
	x, err := a.At(place)
	return x.Floats(), err
}
