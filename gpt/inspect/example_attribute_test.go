package inspect_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The contributions of the parts to the logit of the next token add up to the logit.
func ExampleAttribute() {
	tokens, next := []int{3, 1, 4, 1, 5}, []int{1, 4, 1, 5, 9}
	logits, parts, err := inspect.Attribute(network(), tokens, next)
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, p := range parts {
		sum += p.Logit[4]
	}
	fmt.Printf("%d parts, from %s to %s, are the logit: %v\n", len(parts), parts[0].Place, parts[len(parts)-1].Place,
		fmt.Sprintf("%.9f", sum) == fmt.Sprintf("%.9f", logits[4]))
	// Output:
	// 11 parts, from drop to logits, are the logit: true
}

// Which activations determine the answer? The texts differ in their first token; activations of the clean text are
// patched into the other.
func ExamplePatch() {
	model := network()
	q := inspect.Question{Clean: []int{3, 1, 4}, Corrupt: []int{2, 1, 4}, Right: 9, Wrong: 7}
	effects, err := inspect.Patch(model, q, "h.*")
	if err != nil {
		panic(err)
	}
	slopes, err := inspect.PatchGradient(model, q, "h.*") // to first order, by one backward pass
	if err != nil {
		panic(err)
	}
	total := effects.Clean - effects.Corrupt
	for i, e := range effects.All {
		for token, by := range e.By {
			fmt.Printf(
				"%s, token %d: %.0f %% of the change (%.0f %%)\n", e.Place, token, 100*by/total,
				100*slopes.All[i].By[token]/total,
			)
		}
	}
	// Output:
	// h.0, token 0: 84 % of the change (119 %)
	// h.0, token 1: -3 % of the change (-3 %)
	// h.0, token 2: 19 % of the change (20 %)
	// h.1, token 0: 0 % of the change (0 %)
	// h.1, token 1: 0 % of the change (0 %)
	// h.1, token 2: 100 % of the change (100 %)
}

// The contribution of each feature of a stream to the loss, on the line from zeros.
func ExampleIntegratedGradients() {
	x, change, err := inspect.IntegratedGradients(network(), "h.1.mlp.act", nil, []int{3, 1, 4}, []int{1, 4, 1}, 8)
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, entry := range x.Floats() {
		sum += entry
	}
	fmt.Printf(
		"%v entries add up to the change: %v\n", x.Shape, fmt.Sprintf("%.9f", sum) == fmt.Sprintf("%.9f", change),
	)
	// Output:
	// [5 32] entries add up to the change: true
}

// The number of directions of a matrix.
func ExampleEffectiveRank() {
	for _, w := range [][]float64{{1, 0, 0, 1}, {1, 2, 2, 4}} {
		rank, err := inspect.EffectiveRank(graph.Tensor{Shape: []int{2, 2}, F64: w})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%.1f\n", rank)
	}
	// Output:
	// 2.0
	// 1.0
}

// The norms of gradients and updates, layer by layer, while a model is trained.
func ExampleWatch() {
	watch, c := &inspect.Watch{}, gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 1, 2, 8, 5, 2
	c.Hooks.Gradients = watch.Gradients
	tokens := make(text.Tokens, 50)
	for i := range tokens {
		tokens[i] = i % 7
	}
	trainer, err := gpt.NewTrainer(c, text.Dataset{Training: tokens, Validation: tokens}, text.Bytes{})
	if err != nil {
		panic(err)
	}
	for range 2 {
		if _, err := trainer.Step(); err != nil {
			panic(err)
		}
		layers, err := watch.Layers(trainer.Model)
		if err != nil {
			panic(err)
		}
		l := layers[3] // the first step has no update, because there is no earlier call
		fmt.Printf("step %d, %s: a gradient: %v, an update: %v\n", trainer.Done, l.Layer, l.Gradient > 0, l.Ratio() > 0)
	}
	// Output:
	// step 1, h.0.attn.c_attn: a gradient: true, an update: false
	// step 2, h.0.attn.c_attn: a gradient: true, an update: true
}
