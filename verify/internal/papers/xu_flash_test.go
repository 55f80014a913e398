package papers

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// I43: the softmax in one pass equals the softmax, in any order of the scores, and e⁸⁰⁰ does no harm.
func TestI43OnlineSoftmax(t *testing.T) {
	x := fixture.Random("x", 4, 7).Scale(6).Add(hand.NewMatrix(1, 7, 0, 1, 2, 3, 4, 5, 6.0)) // increasing overall
	near(t, "softmax", onlineSoftmax(x), x.Softmax())
	near(t, "softmax further up", onlineSoftmax(x.Shift(800)), x.Softmax())
	p := permutation(3, 0, 6, 1, 5, 2, 4)
	near(t, "shuffled", onlineSoftmax(x.MatMul(p)), x.Softmax().MatMul(p))
	near(t, "log-sum-exp", hand.NewPartial(x, matrix{}).LogSumExp(), x.LogSumExp())
	delta := fixture.Random("delta", 4, 7)
	truth := complexStep(
		t, func(z complexParameters) complexMatrix { return onlineSoftmax(z["x"]) }, parameters{"x": x}, delta,
	)
	rho := x.Softmax()
	near(t, "Δ", delta.Sub(delta.Mul(rho).Sum()).Mul(rho), truth["x"])
}

// I43: partial results may be merged in any order and grouping, and those without keys change nothing.
func TestI43MergeIsAssociative(t *testing.T) {
	x := fixture.Random("x", 4, 7).Scale(6).Add(hand.NewMatrix(1, 7, 0, 1, 2, 3, 4, 5, 6.0))
	v := fixture.Random("v", 7, 3)
	part := func(from, to int) hand.Partial[float64] {
		return hand.NewPartial(x.Columns(from, to), v.Tokens(from, to))
	}
	same := func(what string, a, b hand.Partial[float64]) {
		near(t, what+": m", a.Max, b.Max)
		near(t, what+": d", a.Total, b.Total)
		near(t, what+": o", a.Out, b.Out)
	}
	a, b, c, full := part(0, 2), part(2, 3), part(3, 7), part(0, 7)
	same("(ab)c", a.Merge(b).Merge(c), full)
	same("a(bc)", a.Merge(b.Merge(c)), full)
	same("c(ba)", c.Merge(b.Merge(a)), full)
	near(t, "o", full.Out, x.Softmax().MatMul(v))

	nothing := hand.NewPartial(hand.Zeros[float64](4, 2).Shift(math.Inf(-1)), v.Tokens(0, 2))
	same("nothing first", nothing.Merge(full), full)
	same("nothing last", full.Merge(nothing), full)
	if both := nothing.Merge(nothing); both.Total.Data[0] != 0 || both.Out.Data[0] != 0 ||
		!math.IsInf(both.LogSumExp().Data[0], -1) {
		t.Errorf(
			"nothing twice: got d = %v, o = %v, lse = %v, want 0, 0, −∞", both.Total.Data[0], both.Out.Data[0],
			both.LogSumExp().Data[0],
		)
	}
	hidden := hand.Join(hand.Zeros[float64](4, 2).Shift(math.Inf(-1)), x)
	near(t, "hidden keys first", onlineSoftmax(hidden), hand.Join(hand.Zeros[float64](4, 2), x.Softmax()))
}

// climbing returns queries, keys and values of n tokens whose scores increase from key to key, so that every tile has a
// new maximum.
func climbing(n int) (q, k, v matrix) {
	q, k, v = fixture.Random("q", n, 3).Shift(1), fixture.Random("k", n, 3), fixture.Random("v", n, 5)
	for j := range n {
		for f := range 3 {
			k.Data[3*j+f] += 0.8 * float64(j)
		}
	}
	return q, k, v
}

// I44: attention in tiles equals attention, forward and backward, for every tiling, with and without a mask, and D is
// the row sums of ρ∘Δρ.
func TestI44TilesEqualDense(t *testing.T) {
	const n = 7
	q, k, v := climbing(n)
	delta, none := fixture.Random("delta", n, 5), matrix{}
	scores := q.MatMul(k.Transpose())
	for i := range n {
		if row := rowOf(scores, i).Data; !slices.IsSorted(row) {
			t.Fatalf("scores of query %d: got %v, want increasing ones", i, row)
		}
	}
	for name, mask := range map[string]matrix{
		"no mask": none, "causal": hand.CausalMask(n), "window": hand.WindowMask(n, 3),
		"the future": hand.CausalMask(n).Transpose(),
	} {
		want := attentionForward(q, k, v, mask, none)
		wantQ, wantK, wantV := attentionBackward(q, k, v, mask, none, delta)
		rho := attentionWeights(q, k, mask)
		for _, queries := range []int{1, 2, 3, 5, n} {
			for _, keys := range []int{1, 2, 3, 5, n} {
				what, tile := fmt.Sprintf("%s, tiles of %d and %d", name, queries, keys), tile{queries, keys}
				o, lse := flashForward(q, k, v, mask, tile)
				near(t, what+": o", o, want)
				near(t, what+": lse", lse, plus(scores.Scale(1/math.Sqrt(3)), mask).LogSumExp())
				dq, dk, dv := flashBackward(q, k, v, mask, delta, tile)
				near(t, what+": Δq", dq, wantQ)
				near(t, what+": Δk", dk, wantK)
				near(t, what+": Δv", dv, wantV)
				near(t, what+": D", delta.Mul(o).Sum(), rho.Mul(delta.MatMul(v.Transpose())).Sum())
			}
		}
	}
}

// I44: the complex step of the tiled forward is the tiled backward, also with more keys than queries.
func TestI44FlashBackward(t *testing.T) {
	q, k, v := climbing(7)
	q = q.Tokens(0, 4)
	delta, tile, none := fixture.Random("delta", 4, 5), tile{Queries: 3, Keys: 2}, matrix{}
	o, lse := flashForward(q, k, v, none, tile)
	dq, dk, dv := flashBackward(q, k, v, none, delta, tile)
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		o, _ := flashForward(z["q"], z["k"], z["v"], none, tile)
		return o
	}, parameters{"q": q, "k": k, "v": v}, delta)
	near(t, "Δq", dq, truth["q"])
	near(t, "Δk", dk, truth["k"])
	near(t, "Δv", dv, truth["v"])
	d := lse.Sub(lse) // left out
	for i := range d.Data {
		d.Data[i] = dot(rowOf(delta, i), rowOf(o, i))
	}
	rho := attentionWeights(q, k, none)
	without := rho.Mul(delta.MatMul(v.Transpose())).Scale(1 / math.Sqrt(3)).MatMul(k)
	near(t, "Δq", without.Sub(rho.Mul(d).Scale(1/math.Sqrt(3)).MatMul(k)), dq)
	wrongBy(t, "Δq without D", without, dq, 13.3)
}

// I44: a query that may not look at any key gets 0 and sends back no Δ, whichever tile it is in.
func TestI44BlindQuery(t *testing.T) {
	const n = 5
	q, k, v := climbing(n)
	padding, delta := []bool{true, true, false, false, false}, fixture.Random("delta", n, 5)
	mask := hand.CausalMask(n).Add(hand.PaddingMask(padding)) // queries 0 and 1 see nothing
	for _, size := range []int{1, 2, n} {
		tile := tile{size, size}
		o, _ := flashForward(q, k, v, mask, tile)
		dq, dk, dv := flashBackward(q, k, v, mask, delta, tile)
		vanishes(t, "o of the blind", o.Tokens(0, 2))
		vanishes(t, "Δq of the blind", dq.Tokens(0, 2))
		want := attentionForward(q, k, v, mask, matrix{})
		near(t, "o of the others", o.Tokens(2, n), want.Tokens(2, n))
		wantQ, wantK, wantV := attentionBackward(
			q.Tokens(2, n), k.Tokens(2, n), v.Tokens(2, n), hand.CausalMask(3), matrix{}, delta.Tokens(2, n),
		)
		near(t, "Δq of the others", dq.Tokens(2, n), wantQ)
		near(t, "Δk", dk, hand.JoinTokens(hand.Zeros[float64](2, 3), wantK))
		near(t, "Δv", dv, hand.JoinTokens(hand.Zeros[float64](2, 5), wantV))
	}
	for _, tile := range []tile{{0, 1}, {1, 0}, {-1, 2}} {
		if o, _ := flashForward(q, k, v, mask, tile); o.Err == nil {
			t.Errorf("forward in tiles %v: got no error", tile)
		}
		if dq, _, _ := flashBackward(q, k, v, mask, delta, tile); dq.Err == nil {
			t.Errorf("backward in tiles %v: got no error", tile)
		}
	}
}

// I44: over 300 tokens, which is more than one tile of queries and of keys in either pass, the kernel gives the output
// and the gradients of the formulas by hand in tiles of another size. One feature of the tokens increases, so that the
// scores drift from tile to tile.
func TestI44KernelOfManyTiles(t *testing.T) {
	d := nn.Dims{
		Batch: 2, Context: 300, Embd: fixture.Features, Heads: fixture.Heads, QK: fixture.QK, V: fixture.Values,
		Inner: 1, Blocks: 1,
	}
	n, tile := d.Batch*d.Context, tile{Queries: 70, Keys: 90}
	in := fixture.Random("x", n, d.Embd).Scale(2)
	for i := range n {
		in.Data[i*d.Embd] += float64(i%d.Context) / 100 // a feature that climbs
	}
	delta := fixture.Random("delta", n, d.Embd)
	for name, mask := range map[string]struct {
		see  nn.Visibility
		hand matrix
	}{
		"causal": {nn.Causal{}, hand.CausalMask(d.Context)},
		"window": {nn.Window{Width: 150}, hand.WindowMask(d.Context, 150)}, "no mask": {nn.All{}, matrix{}},
	} {
		g := kernels64.graph(fixture.Seed, fixture.Step)
		s := g.Root()
		at := nn.Site{
			Scope: s, Dims: d, Style: nn.Style{Affine: nn.NewLinear, Bias: true},
			Attending: nn.Attending{Mask: nn.NewMask(s, d, mask.see)},
		}
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
		near(
			t, name+": output", verify.FromTensor(output.Value()),
			linearForward(o, p["attn.c_proj.weight"], p["attn.c_proj.bias"]),
		)
		want := parameters{}
		var do matrix
		do, want["attn.c_proj.weight"], want["attn.c_proj.bias"] = linearBackward(o, p["attn.c_proj.weight"], delta)
		dqkv := flashHeadsBackward(qkv, heads, mask.hand, tile, do)
		want[input], want["attn.c_attn.weight"], want["attn.c_attn.bias"] = linearBackward(
			in, p["attn.c_attn.weight"], dqkv,
		)
		if d := worst(t, got, want); !(d.Distance <= verify.Suspicion) {
			t.Errorf(
				"%s: %s (%d, %d): got %v, want %v; distance %.1e", name, d.Name, d.Row, d.Col, d.Got, d.Want,
				d.Distance,
			)
		} else {
			t.Logf("%s: %.1e %s", name, d.Distance, d.Name)
		}
	}
}
