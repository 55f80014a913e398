package decode_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A conversation is one text: Generate begins it, Continue continues it, and the next Generate begins a new one.
func ExampleSession_Continue() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		panic(err)
	}
	ctx, s, written := context.Background(), []*search.Sampler{search.NewSampler(1)}, 0
	for _, turn := range []iter.Seq2[decode.Token, error]{
		d.Generate(ctx, [][]int{{1, 2, 3}}, 4, s),
		d.Continue(ctx, [][]int{{4, 3}}, 5, s),
		d.Generate(ctx, [][]int{{1, 2, 3}}, 4, s),
	} {
		for _, err := range turn {
			if err != nil {
				panic(err)
			}
			written++
		}
	}
	fmt.Println(written)
	// Output: 13
}

// Prompts of any length are continued together, each with its own draws, up to token 4 or ten more tokens, with the
// probability of each drawn token.
func ExampleSession_Generate() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	d, err := gpt.NewDecoder(m, 2)
	if err != nil {
		panic(err)
	}
	samplers := []*search.Sampler{search.NewSampler(1), search.NewSampler(2)}
	samplers[1].MinP = 0.1
	texts, logProbs := [][]int{{1, 2, 3}, {4}}, make([]float64, 2)
	for token, err := range d.Generate(context.Background(), texts, 10, samplers, 4) {
		if err != nil {
			panic(err)
		}
		texts[token.Row] = append(texts[token.Row], token.ID)
		logProbs[token.Row] += samplers[token.Row].LogProb()
	}
	fmt.Println(len(texts[0]) <= 13, len(texts[1]) <= 11, logProbs[0] <= 0)
	// Output: true true true
}

// The likeliest texts of at most ten tokens after a prompt, up to token 4, normalised by length, with three beams.
func ExampleSession_Beam() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	d, err := gpt.NewDecoder(m, 3)
	if err != nil {
		panic(err)
	}
	best, err := d.Beam(context.Background(), []int{1, 2, 3}, 10, search.LengthPenalty(0.6), 4)
	if err != nil {
		panic(err)
	}
	for _, h := range best {
		fmt.Println(len(h.Tokens) <= 10, h.LogProb < 0)
	}
	// Output:
	// true true
	// true true
	// true true
}

// Two prompts of the same length are fed by hand, then the tokens drawn for each.
func ExampleSession() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	g := graph.New(graph.Float32, 1)
	m, err := gpt.New(g, c, 1)
	if err != nil {
		panic(err)
	}
	d, err := gpt.NewDecoder(m, 2)
	if err != nil {
		panic(err)
	}
	s := search.NewSampler(1)
	written := make([][]int, 2)
	for feed := [][]int{{1, 2, 3}, {4, 3, 2}}; len(written[0]) < 10; {
		logits, err := d.Feed(feed...)
		if err != nil {
			panic(err)
		}
		for i := range written {
			id, err := s.Draw(logits.Row(i))
			if err != nil {
				panic(err)
			}
			written[i], feed[i] = append(written[i], id), []int{id}
		}
	}
	fmt.Println(len(written[0]), len(written[1]))
	// Output: 10 10
}
