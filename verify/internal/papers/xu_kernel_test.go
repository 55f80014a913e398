package papers

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// I44: over 300 tokens, which is more than one tile of queries and of keys in either pass, the kernel gives the output
// and the gradients of the formulas by hand in tiles of another size. One feature of the tokens increases, so that the
// scores drift from tile to tile.
func TestI44KernelOfManyTiles(t *testing.T) {
	d := nn.Dims{Batch: 2, Context: 300, Embd: fixture.Features, Heads: fixture.Heads, QK: fixture.QK, V: fixture.Values, Inner: 1, Blocks: 1}
	n, tile := d.Batch*d.Context, tile{Queries: 70, Keys: 90}
	in := fixture.Random("x", n, d.Embd).Scale(2)
	for i := range n {
		in.Data[i*d.Embd] += float64(i%d.Context) / 100 // a feature that climbs
	}
	delta := fixture.Random("delta", n, d.Embd)
	for name, mask := range map[string]struct {
		see  nn.Visibility
		hand matrix
	}{"causal": {nn.Causal{}, hand.CausalMask(d.Context)}, "window": {nn.Window{Width: 150}, hand.WindowMask(d.Context, 150)}, "no mask": {nn.All{}, matrix{}}} {
		g := kernels64.graph(fixture.Seed, fixture.Step)
		s := g.Root()
		at := nn.Site{Scope: s, Dims: d, Affine: nn.NewLinear, Bias: true, Mask: nn.NewMask(s, d, mask.see)}
		x, weights := s.Value(input, graph.Const(0), n, d.Embd), s.Value("delta", graph.Const(0), n, d.Embd)
		fill(x, in)
		fill(weights, delta)
		y := nn.NewSelfAttention(at.At("attn")).Forward(x)
		p := parameters{input: in}
		wrt := []graph.Expr{x}
		for _, e := range g.Params() {
			rows, cols := matrixShape(e.Tensor().Shape)
			p[e.Name()] = fixture.Random(e.Name(), rows, cols).Scale(2)
			fill(e, p[e.Name()])
			wrt = append(wrt, e)
		}
		output, err := graph.Compile(y)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if err := output.Run(); err != nil {
			t.Fatalf("%+v", err)
		}
		program, err := graph.Compile(y.Mul(weights).SumAll(), wrt...)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if err := program.Run(); err != nil {
			t.Fatalf("%+v", err)
		}
		got := parameters{}
		for _, e := range wrt {
			got[e.Name()] = verify.FromTensor(program.Grad(e))
		}

		heads := multiHead{Batch: d.Batch, Heads: d.Heads, QK: d.QK}
		qkv := linearForward(in, p["attn.c_attn.weight"], p["attn.c_attn.bias"])
		o := flashHeadsForward(qkv, heads, mask.hand, tile)
		near(t, name+": output", verify.FromTensor(output.Value()), linearForward(o, p["attn.c_proj.weight"], p["attn.c_proj.bias"]))
		want := parameters{}
		var do matrix
		do, want["attn.c_proj.weight"], want["attn.c_proj.bias"] = linearBackward(o, p["attn.c_proj.weight"], delta)
		dqkv := flashHeadsBackward(qkv, heads, mask.hand, tile, do)
		want[input], want["attn.c_attn.weight"], want["attn.c_attn.bias"] = linearBackward(in, p["attn.c_attn.weight"], dqkv)
		if d := worst(t, got, want); !(d.Distance <= verify.Suspicion) {
			t.Errorf("%s: %s (%d, %d): got %v, want %v; distance %.1e", name, d.Name, d.Row, d.Col, d.Got, d.Want, d.Distance)
		} else {
			t.Logf("%s: %.1e %s", name, d.Distance, d.Name)
		}
	}
}
