package gpt_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A conversation is one text: Generate begins it, Continue goes on with it, and the next Generate knows nothing of it.
func ExampleDecoder_Continue() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	d, err := gpt.NewDecoder(m)
	if err != nil {
		panic(err)
	}
	ctx, s, written := context.Background(), gpt.NewSampler(1), 0
	for _, turn := range []iter.Seq2[int, error]{
		d.Generate(ctx, []int{1, 2, 3}, 4, s),
		d.Continue(ctx, []int{4, 3}, 5, s),
		d.Generate(ctx, []int{1, 2, 3}, 4, s),
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

// Two prompts of one length are continued side by side, each with a draw of its own.
func ExampleBatchDecoder() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 5, 1, 2, 8
	g := graph.New(graph.Float32, 1)
	m, err := gpt.New(g, c, 1)
	if err != nil {
		panic(err)
	}
	d, err := gpt.NewBatchDecoder(m, 2)
	if err != nil {
		panic(err)
	}
	s := gpt.NewSampler(1)
	written := make([][]int, 2)
	for feed := [][]int{{1, 2, 3}, {4, 3, 2}}; len(written[0]) < 10; {
		logits, err := d.Feed(feed)
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
