package hand_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// decoder composes a model of one block and one head from its layers; T is float64, or complex128 for the complex step.
func decoder[T hand.Number](p hand.Parameters[T]) hand.Model[T] {
	at := hand.Site[T]{Parameters: p, Eps: 1e-5}
	block := at.At("h.0")
	heads := hand.Heads[T]{Batch: 1, Count: 1, Head: func(_, _ int) hand.Head[T] {
		return hand.Attention[T]{Mask: hand.CausalMask(4)}
	}}
	stack := hand.Stack[T]{
		Embeddings: hand.Embeddings[T]{hand.Tokens[T]{Weight: at.Param("wte.weight")}},
		Blocks: []hand.Layer[T]{hand.Block[T]{
			Norm1: block.At("ln_1").LayerNorm(), Attention: block.At("attn").SelfAttention(heads, 3, nil),
			Norm2: block.At("ln_2").LayerNorm(), MLP: block.At("mlp").MLP(hand.GELU[T]{}),
		}},
	}
	return hand.Model[T]{
		Decoder: func(hand.Matrix[T]) hand.Stack[T] { return stack },
		Head:    hand.Tied[T]{Embedding: at.Param("wte.weight")},
		Loss:    func(targets []int) hand.Layer[T] { return hand.CrossEntropy[T]{Targets: targets} },
	}
}

// The gradients of a complete model by hand, and the effect of a mistake in one entry.
func ExampleModel_Backward() {
	p := hand.Parameters[float64]{}
	for name, shape := range map[string][2]int{
		"wte.weight": {7, 5}, "h.0.ln_1.weight": {1, 5}, "h.0.attn.c_attn.weight": {5, 8},
		"h.0.attn.c_proj.weight": {2, 5},
		"h.0.ln_2.weight":        {1, 5}, "h.0.mlp.c_fc.weight": {5, 9}, "h.0.mlp.c_proj.weight": {9, 5},
	} {
		p[name] = fixture.Random(name, shape[0], shape[1])
	}
	text := hand.Text{Tokens: []int{3, 1, 4, 1}, Targets: []int{1, 4, 1, 5}}
	g, err := decoder(p).Backward(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	truth, err := verify.ComplexStep(func(z hand.Parameters[complex128]) (complex128, error) {
		loss := decoder(z).Forward(text)
		return loss.Data[0], loss.Err
	}, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	gradients := g.Parameters()
	ds, err := verify.Compare(gradients, truth)
	fmt.Println(len(ds), verify.Worst(ds).OK(), err)

	gradients["h.0.ln_2.weight"].Data[3] *= 1.001
	ds, err = verify.Compare(gradients, truth)
	d := verify.Worst(ds)
	fmt.Println(d.Name, d.Row, d.Col, d.OK(), err)
	// Output:
	// 7 true <nil>
	// h.0.ln_2.weight 0 3 false <nil>
}

// The first step of SOAP is AdamW's. Then its first vector has the direction of the gradient (2, 1)ᵀ.
func ExampleSOAPUpdate() {
	zero := hand.Zeros[float64](2, 1)
	w, s := hand.SOAPUpdate(hand.SOAP{Rate: 1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, ShampooBeta: 0.95, Power: true}, 1,
		zero, hand.NewMatrix(2, 1, 2., 1), hand.SOAPState[float64]{M: zero, V: zero, L: hand.Zeros[float64](2, 2),
			QL: hand.NewMatrix(2, 2, 1., 0, 0, 1)})
	fmt.Printf("%.3f %.3f\n", w.Data, s.QL.Columns(0, 1).Data)
	// Output: [-1.000 -1.000] [0.894 0.447]
}
