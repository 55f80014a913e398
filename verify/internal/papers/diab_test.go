package papers

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// TestDiabEqNN tests equation (NN) of S. Diab, "The GPT Transformer: A Complete Mathematical and Architectural
// Analysis" (2025). The model of its section 3 is written out in section3 as the paper lists it, and its complex step
// gives every ∇; the formulas by hand must agree with both. Where the printed form is wrong or can be misread, a test
// shows by how much and names the erratum.

// Every numbered equation of the paper has its test.
func TestDiabIsComplete(t *testing.T) { complete(t, "Diab", 39) }

// study is the paper's running model: one sequence in which a token repeats, two blocks, so that X⁽⁰⁾ and X⁽ˡ⁻¹⁾
// differ, and the mean of the losses.
type study struct {
	fixture.Fixture
	a    parameters  // what section3 computes, by the paper's names
	hand activations // GPTForward of the same
	g    gradients   // GPTBackward

	known parameters // results of nabla
}

func newStudy(t *testing.T, variants ...fixture.Variant) study {
	t.Helper()
	s := study{Fixture: fixture.Generic(variants...), known: parameters{}}
	s.Batch, s.Tokens, s.Targets = 1, s.Tokens[:s.Context], s.Targets[:s.Context]
	s.a = section3(s.Fixture, s.Parameters)
	var err error
	if s.hand, err = gptForward(s.Plan, s.Parameters, s.Tokens, s.Targets); err != nil {
		t.Fatal(err)
	}
	if s.g, err = gptBackward(s.Plan, s.Parameters, s.Tokens, s.Targets); err != nil {
		t.Fatal(err)
	}
	return s
}

// inBlock returns the name of an activation of block l = 1 … L.
func inBlock(l int, name string) string { return fmt.Sprint(l, " ", name) }

// section3 returns the forward pass in the order of the paper's section 3, up to the loss of 2.5, one line for each
// equation. It returns every activation by its name. An entry of p under such a name is added to the activation: the
// complex step by it is the ∇ of the activation. .res and .ln are the two paths from a residual.
func section3[T hand.Number](f fixture.Fixture, p hand.Parameters[T]) hand.Parameters[T] {
	a := hand.Parameters[T]{}
	set := func(name string, x hand.Matrix[T]) hand.Matrix[T] {
		a[name] = plus(x, p[name])
		return a[name]
	}
	affine := func(x hand.Matrix[T], layer string) hand.Matrix[T] {
		return x.MatMul(p[layer+".weight"]).Add(p[layer+".bias"])
	}
	norm := func(x hand.Matrix[T], layer string) hand.Matrix[T] {
		mu := x.Sum().Scale(1. / fixture.Features)
		variance := x.Sub(mu).Square().Sum().Scale(1. / fixture.Features)
		return p[layer+".weight"].Mul(x.Sub(mu).Div(variance.Shift(f.Eps).Sqrt())).Add(p[layer+".bias"])
	}
	softmax := func(s hand.Matrix[T]) hand.Matrix[T] { return s.Exp().Div(s.Exp().Sum()) }
	mask := hand.Lift[T](hand.CausalMask(f.Context))

	token := hand.Lift[T](oneHotRows(f.Tokens, fixture.Vocabulary)).MatMul(p["wte.weight"])
	position := hand.Lift[T](oneHotRows(natural(f.Context), fixture.Positions)).MatMul(p["wpe.weight"])
	x := set("X(0)", token.Add(position)) // (1)
	for l := 1; l <= f.Layers; l++ {
		h := fmt.Sprintf("h.%d.", l-1)
		ln1 := set(inBlock(l, "Xln1"), norm(set(inBlock(l, "in.ln"), x), h+"ln_1")) // (2)
		qkv := set(inBlock(l, "QKV"), affine(ln1, h+"attn.c_attn"))                 // (3)
		var heads []hand.Matrix[T]
		for j := range f.Heads {
			q, k, v := split(multiHead{Batch: 1, Heads: f.Heads, QK: f.QK}, qkv, 0, j)
			scores := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(fixture.QK)).Add(mask)
			weights := set(inBlock(l, fmt.Sprint("A", j)), softmax(set(inBlock(l, fmt.Sprint("S", j)), scores)))
			heads = append(heads, set(inBlock(l, fmt.Sprint("head", j)), weights.MatMul(v))) // (4)
		}
		concat := set(inBlock(l, "H"), hand.Join(heads...))                             // (5)
		attn := set(inBlock(l, "Xattn"), affine(concat, h+"attn.c_proj"))               // (6)
		add1 := set(inBlock(l, "Xadd1"), set(inBlock(l, "in.res"), x).Add(attn))        // (7)
		ln2 := set(inBlock(l, "Xln2"), norm(set(inBlock(l, "mid.ln"), add1), h+"ln_2")) // (8)
		hidden := set(inBlock(l, "ffnA"), affine(ln2, h+"mlp.c_fc"))
		gelu := set(inBlock(l, "ffnH"), hidden.Mul(hidden.Scale(1/math.Sqrt2).Erf().Shift(1)).Scale(0.5))
		ffn := set(inBlock(l, "Xffn"), affine(gelu, h+"mlp.c_proj"))                // (9)
		x = set(fmt.Sprintf("X(%d)", l), set(inBlock(l, "mid.res"), add1).Add(ffn)) // (10)
	}
	logits := set("L", affine(set("Xfinal_ln", norm(x, "ln_f")), "lm_head")) // (11), (12)
	a["P"] = softmax(logits)                                                 // (13) with T = 1
	chosen := a["P"].Mul(hand.Lift[T](oneHotRows(f.Targets, fixture.Vocabulary))).Sum()
	a["loss"] = chosen.Log().SumTokens().Scale(-1 / float64(f.Context))
	return a
}

// nabla returns ∇ of the loss at an activation or a parameter of section3.
func (s study) nabla(t *testing.T, name string) matrix {
	t.Helper()
	if out, ok := s.known[name]; ok {
		return out
	}
	p := maps.Clone(s.Parameters)
	if _, ok := p[name]; !ok {
		if s.a[name].None() {
			t.Fatalf("no activation %s", name)
		}
		p[name] = hand.Zeros[float64](s.a[name].Rows, s.a[name].Cols)
	}
	loss := func(z complexParameters) (complex128, error) {
		y := section3(s.Fixture, z)["loss"]
		if y.Err != nil {
			return 0, y.Err
		}
		return y.Data[0], nil
	}
	out := hand.Zeros[float64](p[name].Rows, p[name].Cols)
	for i := range out.Data {
		var err error
		if out.Data[i], err = verify.ComplexStepAt(loss, p, name, i); err != nil {
			t.Fatal(err)
		}
	}
	s.known[name] = out
	return out
}

// blocks calls f for each block with the names of its activations and of its parameters, and with its activations by
// hand.
func (s study) blocks(f func(l int, in func(string) string, layer string, formula blockActivations)) {
	for l := 1; l <= s.Layers; l++ {
		f(l, func(name string) string { return inBlock(l, name) }, fmt.Sprintf("h.%d.", l-1), s.hand.Blocks[l-1])
	}
}

// sumRows returns the sum of the rows, added one after another, as in the paper's Σᵢ.
func sumRows(x matrix) matrix {
	sum := hand.Zeros[float64](1, x.Cols)
	for i := range x.Rows {
		sum = sum.Add(x.Tokens(i, i+1))
	}
	return sum
}
