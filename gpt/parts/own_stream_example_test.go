package parts_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// twoStreams is a residual stream of two parts (n, d), side by side: static hyper-connections (Zhu et al. 2024).
type twoStreams struct{ nn.PlainStream }

func (twoStreams) Expand(x graph.Expr) graph.Expr { return x.Join(x) } // (n, d) → (n, 2d)

func (twoStreams) Reduce(x graph.Expr) graph.Expr { // (n, 2d) → (n, d)
	d := x.Shape()[1] / 2
	return x.Columns(0, d).Add(x.Columns(d, 2*d)).Scale(0.5)
}

// Connect declares the learned numbers with which a sublayer reads both parts and writes to them.
func (twoStreams) Connect(at nn.Site) nn.Connection {
	return mixture{at.Param("read", graph.Const(0.5), 2), at.Param("write", graph.Const(1), 2)}
}

type mixture struct{ read, write graph.Expr }

func (m mixture) Read(x graph.Expr) graph.Expr { // r₁·x₁ + r₂·x₂
	d, r := x.Shape()[1]/2, m.read.Reshape(1, 2)
	return x.Columns(0, d).Mul(r.Columns(0, 1)).Add(x.Columns(d, 2*d).Mul(r.Columns(1, 2)))
}

func (m mixture) Write(x graph.Expr, y ...graph.Expr) graph.Expr { // [x₁ + w₁·y | x₂ + w₂·y]
	w := m.write.Reshape(1, 2)
	for _, y := range y {
		x = x.Add(y.Mul(w.Columns(0, 1)).Join(y.Mul(w.Columns(1, 2))))
	}
	return x
}

// A residual stream of one's own, with a flag, a key in checkpoints and a name in errors.
func ExampleRegistry_ownStream() {
	c := small()
	plain, _ := c.Count()
	c.Parts.Kinds = []parts.Kind{{
		Key: "streams", Help: "number of residual streams", Variants: func() []parts.Variant {
			return []parts.Variant{
				{Name: "one"}, {Name: "two", Stream: func(parts.Stack) nn.Stream { return twoStreams{} }},
			}
		},
	}}
	c.With.Set("streams", "two")
	more, _ := c.Count()
	fmt.Println(more-plain, "parameters more")
	trains(c)

	c.Block = "post"
	fmt.Println(c.Validate())
	// Output:
	// 16 parameters more
	// the loss falls, and it writes
	// h.0: post-norm block with streams: the layer does not join the residual stream
}
