package gpt_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A model of bytes generates text, streamed up to a stop string. It is greedy, with a repetition penalty.
func ExampleModel_Generate() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 256, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	s := search.NewSampler(1)
	s.Temperature, s.RepetitionPenalty = 0, 1.2
	written := ""
	for piece, err := range m.Generate(context.Background(), text.Bytes{}, "ROMEO:", 50, s, "\n\n", "JULIET:") {
		if err != nil {
			panic(err)
		}
		written += piece // or print it
	}
	fmt.Println(len(written) > 0, strings.Contains(written, "\n\n"))
	// Output: true false
}
