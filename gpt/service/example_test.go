package service_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Two clients are served together by two lanes, with room for eight more in the queue. Each
// token comes with the two likeliest ones.
func ExampleService() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	n, err := m.Network(2)
	if err != nil {
		panic(err)
	}
	s, err := service.New(n, 2, 8)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go s.Run(ctx)
	defer stop()
	var clients sync.WaitGroup
	texts := make([][]service.Drawn, 2)
	for i, prompt := range [][]int{{1, 2, 3}, {4}} {
		clients.Go(func() {
			r := service.Request{Prompt: prompt, Tokens: 5, Sampler: search.NewSampler(uint64(i)), Top: 2}
			r.Stop = nil // tokens that would end the text
			for d, err := range s.Generate(ctx, r) {
				if errors.Is(err, service.ErrFull) {
					return // the client may try again
				}
				if err != nil {
					panic(err)
				}
				texts[i] = append(texts[i], d)
			}
		})
	}
	clients.Wait()
	for _, text := range texts {
		var best service.Choice = text[0].Top[0]
		fmt.Println(len(text), best.ID < c.VocabSize, text[0].LogProb <= best.LogProb)
	}
	// Output:
	// 5 true true
	// 5 true true
}
