package gpt_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// A training loop without a Trainer: a model on a graph, a program of its loss and gradients, an optimizer, and
// batches.
func ExampleNew() {
	c := small()
	data, _ := corpus(c)
	var m *gpt.Model
	var p *graph.Program
	_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
		c.Configure(g)
		if m, err = gpt.New(g, c, c.BatchSize); err != nil {
			return err
		}
		p, err = graph.Compile(m.Loss, m.Trainable()...)
		return err
	})
	check(err)
	o, err := optim.New(m.Trainable(), optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	check(err)
	o.Decay, o.Clip = 0.1, 1

	rng, losses := rand.New(rand.NewPCG(1, 2)), []float64{}
	for range c.MaxIters {
		check(text.Sample(data.Train(), rng, m.Tokens.Ints(), m.Targets.Ints(), c.BlockSize))
		check(p.Run())
		_, err := o.Update(p, 1e-2)
		check(err)
		losses = append(losses, p.Loss())
	}
	fmt.Println("the loss falls:", losses[len(losses)-1] < 0.9*losses[0])
	// Output: the loss falls: true
}
