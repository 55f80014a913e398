package parts_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// newExclusive returns a link that takes the direction of a token's value out of the results of its heads,
//
//	y ← y − λ·(y·v)/(‖v‖² + ε)·v
//
// with a learned number λ for every head, which starts at ½.
func newExclusive(at nn.Site, heads fused.AttentionShape) nn.Link {
	lambda := at.Param("lambda", graph.Const(0.5), heads.Heads)
	return nn.LinkFunc(func(in nn.Inside) graph.Expr { // (n, H·dh) → (n, H·dh)
		n, rows := in.Y.Shape()[0], in.Y.Shape()[0]*in.Heads
		y, v := in.Y.Reshape(rows, in.V), in.Value().Reshape(rows, in.V) // (n·H, dh)
		share := y.Mul(v).Sum().Div(v.Square().Sum().Shift(1e-6))        // y·v/(‖v‖² + ε)
		share = share.Reshape(n, in.Heads).Mul(lambda).Reshape(rows, 1)  // λ for every head
		return y.Sub(v.Mul(share)).Reshape(n, in.Heads*in.V)
	})
}

// A kind of part of one's own: a link of every attention, with a flag, a key in checkpoints and a name in errors.
func ExampleRegistry_ownLink() {
	c := small()
	plain, _ := c.Count()
	c.Parts.Kinds = []parts.Kind{{
		Key: "exclusive", Help: "leave out the direction of a token's value", Topic: "attention",
		Variants: func() []parts.Variant {
			return []parts.Variant{{Name: "none"}, {Name: "learned", After: parts.Apart(newExclusive)}}
		},
	}}
	c.With.Set("exclusive", "learned")
	more, _ := c.Count()
	fmt.Println(more-plain, "parameters more")
	trains(c)

	c.Attention = "mla"
	fmt.Println(c.Validate())
	// Output:
	// 8 parameters more
	// the loss falls, and it writes
	// h.0.attn: latent attention with exclusive: the layer has no such link
}
