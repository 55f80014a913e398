package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// alone builds attention of one head without biases, in a graph of its own, on x (n, d).
func alone(
	t *testing.T, n, d int, see nn.Visibility, build func(at nn.Site, x graph.Expr) graph.Expr, numbers parameters,
) matrix {
	t.Helper()
	g := reference.graph(fixture.Seed, fixture.Step)
	at := nn.Site{
		Scope: g.Root(),
		Dims:  nn.Dims{Batch: 1, Context: n, Embd: d, Heads: 1, QK: 3, V: d, Inner: d, Blocks: 1},
		Style: nn.Style{Affine: nn.NewLinear, Eps: 1e-5},
	}
	at.Mask = nn.NewMask(at.Scope, at.Dims, see)
	x := g.Root().Value(input, graph.Const(0), n, d)
	y := build(at, x)
	for _, p := range append(g.Params(), x) {
		fill(p, numbers[p.Name()])
	}
	p, err := graph.Compile(y)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return verify.FromTensor(p.Value())
}

// permuted returns x with its rows in another order.
func permuted(x matrix, order []int) matrix {
	rows := make([]matrix, len(order))
	for i, from := range order {
		rows[i] = x.Tokens(from, from+1)
	}
	return hand.JoinTokens(rows...)
}

// Attention without a mask and without positions does not depend on the order of its tokens: Att(Πx) = Π Att(x). With
// the causal mask it does.
func TestI17PermutationEquivariance(t *testing.T) {
	const n, d = 6, 4
	order := []int{3, 0, 5, 1, 4, 2}
	numbers := parameters{
		input: fixture.Random("x", n, d).Scale(4), "attn.c_attn.weight": fixture.Random("w", d, 3+3+d),
		"attn.c_proj.weight": fixture.Random("o", d, d),
	}
	layer := func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewSelfAttention(at.At("attn")).Forward(x) }
	plain := func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewUnprojected(at).Forward(x) }
	for name, c := range map[string]struct {
		see   nn.Visibility
		build func(at nn.Site, x graph.Expr) graph.Expr
		holds bool
	}{
		"projected": {nn.All{}, layer, true}, "unprojected": {nn.All{}, plain, true},
		"causal": {nn.Causal{}, layer, false}, "causal, unprojected": {nn.Causal{}, plain, false},
	} {
		reordered := parameters{}
		for name, m := range numbers {
			reordered[name] = m
		}
		reordered[input] = permuted(numbers[input], order)
		want := permuted(alone(t, n, d, c.see, c.build, numbers), order)
		got := alone(t, n, d, c.see, c.build, reordered)
		if e := apart(got, want); c.holds && !(e <= 1e-15) || !c.holds && !(e > 0.1) {
			t.Errorf("%s: Att(Πx) is %.2g off Π Att(x), equal %t wanted", name, e, c.holds)
		}
	}
}

// apart returns ‖a − b‖/‖b‖.
func apart(a, b matrix) float64 {
	d := a.Sub(b)
	var above, below float64
	for i, v := range d.Data {
		above, below = above+v*v, below+b.Data[i]*b.Data[i]
	}
	if d.Err != nil {
		return math.NaN()
	}
	return math.Sqrt(above / below)
}

// Two heads one over the other are one product of matrices, a” = P₂P₁ a w_v1 w_v2 (20), each P being the weights of its
// own head.
func TestI18TwoStackedHeads(t *testing.T) {
	const n, d = 5, 4
	identity := permutation(natural(d)...)
	numbers := parameters{
		input: fixture.Random("x", n, d).Scale(4), "one.c_proj.weight": identity, "two.c_proj.weight": identity,
	}
	var p [2]matrix
	a, values, mask := numbers[input], numbers[input], hand.CausalMask(n)
	for i, name := range []string{"one", "two"} {
		w := fixture.Random(name, d, 3+3+d).Scale(3)
		numbers[name+".c_attn.weight"] = w
		p[i] = attentionWeights(a.MatMul(w.Columns(0, 3)), a.MatMul(w.Columns(3, 6)), mask)
		a = p[i].MatMul(a.MatMul(w.Columns(6, 6+d)))
		values = values.MatMul(w.Columns(6, 6+d)) // a w_v1 w_v2
	}
	want := p[1].MatMul(p[0]).MatMul(values)
	if e := apart(a, want); !(e <= 1e-14) {
		t.Errorf("by hand, head over head is %.2g off P₂P₁ a w_v1 w_v2", e)
	}
	got := alone(t, n, d, nn.Causal{}, func(at nn.Site, x graph.Expr) graph.Expr {
		x = nn.NewSelfAttention(at.At("one")).Forward(x)
		return nn.NewSelfAttention(at.At("two")).Forward(x)
	}, numbers)
	if e := apart(got, want); !(e <= 1e-14) {
		t.Errorf("the library is %.2g off P₂P₁ a w_v1 w_v2", e)
	}
	if e := apart(p[0].MatMul(p[1]).MatMul(values), want); !(e > 0.01) {
		t.Errorf("P₁P₂ is %.2g off P₂P₁, so the test cannot tell them apart", e)
	}
}

// A head whose projections are the identity is the unprojected form.
func TestI11UnprojectedIsIdentityProjections(t *testing.T) {
	const n, d = 5, 4
	x, mask := fixture.Random("x", n, d).Scale(4), hand.CausalMask(n)
	got := alone(
		t, n, d, nn.Causal{}, func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewUnprojected(at).Forward(x) },
		parameters{input: x},
	)
	if e := apart(
		got, multiHeadForward(hand.Join(x, x, x), multiHead{Batch: 1, Heads: 1, QK: d, Masks: []matrix{mask}}),
	); !(e <= 1e-15) {
		t.Errorf("off by %.2g", e)
	}
}

// The weights of a query sum to 1, so that a bias of the values passes unchanged and is an additional bias b_v·W_o of
// the output. Its gradient is the gradient of the output's bias times W_oᵗ.
func TestI11ValueBiasIsAnOutputBias(t *testing.T) {
	const d = fixture.Features
	qk, v := 2*fixture.Heads*fixture.QK, fixture.Heads*fixture.Values
	x, w := fixture.Random("x", 2*fixture.Tokens, d).Scale(4), fixture.Random("w", d, qk+v)
	o := fixture.Random("o", v, d)
	bias, delta := fixture.Random("b", 1, qk+v), fixture.Random("delta", 2*fixture.Tokens, d)
	heads := multiHead{
		Batch: 2, Heads: fixture.Heads, QK: fixture.QK,
		Masks: []matrix{hand.CausalMask(fixture.Tokens), hand.CausalMask(fixture.Tokens)},
	}
	without := hand.Join(bias.Columns(0, qk), hand.Zeros[float64](1, v))
	layer := func(b, out matrix) matrix {
		return linearForward(multiHeadForward(linearForward(x, w, b), heads), o, out)
	}
	near(t, "y", layer(bias, matrix{}), layer(without, bias.Columns(qk, qk+v).MatMul(o)))

	qkv := linearForward(x, w, bias)
	dheads, _, dout := linearBackward(multiHeadForward(qkv, heads), o, delta)
	_, _, db := linearBackward(x, w, multiHeadBackward(qkv, heads, dheads))
	near(t, "∂b_v", db.Columns(qk, qk+v), dout.MatMul(o.Transpose()))
}

// In a window of one token the weights are the identity: every token gets its own value. One as wide as the text is the
// causal mask.
func TestI12Windows(t *testing.T) {
	const n, d = 6, 4
	numbers := parameters{
		input: fixture.Random("x", n, d).Scale(4), "attn.c_attn.weight": fixture.Random("w", d, 3+3+d),
		"attn.c_proj.weight": fixture.Random("o", d, d),
	}
	layer := func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewSelfAttention(at.At("attn")).Forward(x) }
	own := numbers[input].MatMul(numbers["attn.c_attn.weight"].Columns(6, 6+d)).MatMul(numbers["attn.c_proj.weight"])
	if e := apart(alone(t, n, d, nn.Window{Width: 1}, layer, numbers), own); !(e <= 1e-15) {
		t.Errorf("w = 1: %.2g off the values", e)
	}
	causal := alone(t, n, d, nn.Causal{}, layer, numbers)
	if e := apart(alone(t, n, d, nn.Window{Width: n}, layer, numbers), causal); e != 0 {
		t.Errorf("w = n: %.2g off causal attention, want the same bits", e)
	}
	if e := apart(own, causal); !(e > 0.1) {
		t.Errorf("causal attention is %.2g off the values: nothing to tell apart", e)
	}
}
