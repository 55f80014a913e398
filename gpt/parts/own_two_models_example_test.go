package parts_test

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Two models in one graph, an encoder and a decoder, have parts of one kind, each with its own parameters.
func ExampleRegistry_twoModels() {
	c := seq2seq.Config{
		Stack:      parts.Stack{NLayer: 1, NHead: 2, NEmbd: 8},
		SourceSize: 5, TargetSize: 7, SourceVocab: 9, TargetVocab: 10,
		Training: train.Training{BatchSize: 2, GradientAccumulationSteps: 1, LearningRate: 1e-3},
	}
	c.Parts.Kinds = []parts.Kind{
		{Key: "ngram", Help: "embeddings of n-grams", Variants: func() []parts.Variant {
			return []parts.Variant{
				{Name: "none"}, {Name: "bigrams", Embed: func() parts.NewEmbed { return newBigrams }},
			}
		}},
		{Key: "exclusive", Help: "leave out the direction of a token's value", Variants: func() []parts.Variant {
			return []parts.Variant{{Name: "none"}, {Name: "learned", After: parts.Apart(newExclusive)}}
		}},
	}
	c.With.Set("ngram", "bigrams")
	c.With.Set("exclusive", "learned")
	g := graph.New(graph.Float32, 1)
	_, err := seq2seq.New(g, c, 2)
	check(err)
	for _, p := range g.Params() {
		switch n := p.Name(); {
		case strings.HasSuffix(n, "ngram.gate"), strings.HasSuffix(n, "lambda"):
			fmt.Println(p.Name(), p.Shape())
		}
	}
	// Output:
	// encoder.ngram.gate [1 8]
	// encoder.h.0.attn.lambda [1 2]
	// decoder.ngram.gate [1 8]
	// decoder.h.0.attn.lambda [1 2]
}
