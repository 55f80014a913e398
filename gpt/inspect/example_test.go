package inspect_test

import (
	"context"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func network() *gpt.Model {
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.VocabSize = 2, 2, 8, 5, 11
	m, err := gpt.New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		panic(err)
	}
	return m
}

// The attention weights of a text: row i of a head holds the weights of token i on every token.
func ExampleTap() {
	probe, err := inspect.Tap(network(), "h.*.attn.weights", "h.*")
	if err != nil {
		panic(err)
	}
	activations, err := probe.Run([]int{3, 1, 4, 1, 5})
	if err != nil {
		panic(err)
	}
	for name, x := range activations.All() {
		fmt.Println(name, x.Shape)
	}
	weights, err := activations.At("h.1.attn.weights")
	if err != nil {
		panic(err)
	}
	fmt.Printf("the second token of the first head: %.1f\n", weights.Floats()[5:10])
	// Output:
	// h.0.attn.weights [1 2 5 5]
	// h.0 [5 8]
	// h.1.attn.weights [1 2 5 5]
	// h.1 [5 8]
	// the second token of the first head: [0.5 0.5 0.0 0.0 0.0]
}

// The loss without each head.
func ExampleReplace() {
	model, tokens, targets := network(), []int{3, 1, 4, 1, 5}, []int{1, 4, 1, 5, 9}
	for head := range 2 {
		without, err := inspect.Replace(model, "h.0.attn.heads", inspect.All(model).Head(head).Zero())
		if err != nil {
			panic(err)
		}
		probe, err := inspect.Tap(without, "logits")
		if err != nil {
			panic(err)
		}
		loss, _, err := probe.Gradients(tokens, targets)
		if err != nil {
			panic(err)
		}
		fmt.Printf("without head %d: %.1f nats\n", head, loss)
	}
	// Output:
	// without head 0: 2.5 nats
	// without head 1: 2.5 nats
}

// The predictions of a model after each of its blocks, and the tokens to which its heads attend.
func ExampleLogitLens() {
	model, tokens := network(), []int{3, 1, 4, 3, 1}
	lens, err := inspect.LogitLens(model, tokens)
	if err != nil {
		panic(err)
	}
	for block := range lens {
		fmt.Printf("behind h.%d, after the first token: %d likely tokens, %.1f nats for what comes\n",
			block, len(lens.Likeliest(block, 0, 3)), lens.Loss(block, 0, tokens[1]))
	}
	probe, err := inspect.Tap(model, "h.0.attn.weights")
	if err != nil {
		panic(err)
	}
	activations, err := probe.Run(tokens)
	if err != nil {
		panic(err)
	}
	weights, err := activations.At("h.0.attn.weights")
	if err != nil {
		panic(err)
	}
	heads, err := inspect.HeadScores(weights, tokens)
	if err != nil {
		panic(err)
	}
	for h, s := range heads {
		fmt.Printf("head %d: previous token %.1f, induction %.1f\n", h, s.Previous, s.Induction)
	}
	// Output:
	// behind h.0, after the first token: 3 likely tokens, 2.4 nats for what comes
	// behind h.1, after the first token: 3 likely tokens, 2.4 nats for what comes
	// head 0: previous token 0.3, induction 0.2
	// head 1: previous token 0.3, induction 0.2
}

// The loss without each MLP.
func ExampleAblate() {
	model, data := network(), text.Tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}
	loss, without, err := inspect.Ablate(context.Background(), model, data, "h.*.mlp", inspect.Zero)
	if err != nil {
		panic(err)
	}
	fmt.Printf("as it is: %.1f nats\n", loss)
	for _, a := range without {
		fmt.Printf("without %s: %.1f\n", a.Place, a.Loss)
	}
	// Output:
	// as it is: 2.4 nats
	// without h.0.mlp: 2.4
	// without h.1.mlp: 2.4
}

// The pair of heads whose composition by keys is the strongest.
func ExampleCompositions() {
	list, err := inspect.Compositions(network())
	if err != nil {
		panic(err)
	}
	var strongest inspect.Composition
	for _, c := range list {
		if c.Key > strongest.Key {
			strongest = c
		}
	}
	fmt.Printf("h.%d and h.%d, heads below 2: %t\n", strongest.FromBlock, strongest.ToBlock,
		strongest.FromHead < 2 && strongest.ToHead < 2)
	// Output:
	// h.0 and h.1, heads below 2: true
}
