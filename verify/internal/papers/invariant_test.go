package papers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// These tests check properties that follow from the structure of the model and need no second gradient. Each holds for
// the gradients by hand, so that a mistake in them shows here too.

// The biases of the keys get no gradient, in any block and any variant (Boué (29)).
func TestKeyBiasIsAStructuralZero(t *testing.T) {
	for name, variant := range choices() {
		f := fixture.Generic(variant)
		_, g := byHand(t, f)
		largest := verify.Largest(g.Parameters)
		for i := range f.Layers {
			bias := g.Parameters[fmt.Sprintf("h.%d.attn.c_attn.bias", i)]
			from, to := f.Heads*f.QK, 2*f.Heads*f.QK
			if !verify.StructuralZero(bias.Columns(from, to), largest) {
				t.Errorf("%s, block %d: got %v, want zeros beside %v", name, i, bias.Columns(from, to).Data, largest)
			}
			if verify.StructuralZero(bias.Columns(0, from), largest) ||
				verify.StructuralZero(bias.Columns(to, bias.Cols), largest) {
				t.Errorf("%s, block %d: queries or values got no gradient", name, i)
			}
		}
	}
}

// A pre-norm stack that ends in a LayerNorm does not change with a number added to all features of a token. So no Δ on
// the residual stream has a component along it, nor has the gradient of any layer that writes to the stream. With tied
// embeddings the head reads the matrix that wrote the stream, and this does not hold.
func TestI25ResidualRowSums(t *testing.T) {
	_, g := byHand(t, fixture.Generic())
	largest, checked := verify.Largest(g.Parameters), 0
	for _, d := range g.Deltas {
		// h.0, h.0.attn, drop
		if strings.Count(d.Name, ".") == 1 && !strings.Contains(d.Name, "ln") || d.Name == "drop" {
			checked++
		} else {
			continue
		}
		if !verify.StructuralZero(d.Value.Sum(), largest) {
			t.Errorf("Δ(%s): rows sum to %v", d.Name, d.Value.Sum().Data)
		}
	}
	for name, m := range g.Parameters {
		if strings.Contains(name, "c_proj") || name == "wte.weight" || name == "wpe.weight" {
			checked++
			if !verify.StructuralZero(m.Sum(), largest) {
				t.Errorf("∂%s: rows sum to %v", name, m.Sum().Data)
			}
		}
	}
	if checked != 3+2*4+2 {
		t.Errorf("checked %d, want 13", checked)
	}
	_, tied := byHand(t, fixture.Generic(fixture.WithTying))
	if verify.StructuralZero(tied.Parameters["wte.weight"].Sum(), largest) {
		t.Error("tied: rows of ∂wte sum to zero too")
	}

	f := fixture.Generic()
	before, _ := byHand(t, f)
	f.Parameters["h.0.attn.c_proj.bias"] = f.Parameters["h.0.attn.c_proj.bias"].Shift(5)
	if after, _ := byHand(t, f); !(math.Abs(after-before) <= 1e-13) {
		t.Errorf("loss after adding 5 to all of a bias: got %v, want %v", after, before)
	}
}

// Tokens and positions receive the same Δ: their gradients have the same column sums. The probabilities sum to one, so
// the gradients of the logits' biases sum to zero.
func TestEmbeddingAndHeadSums(t *testing.T) {
	_, g := byHand(t, fixture.Generic())
	near(t, "Σ_v ∂wte = Σ_t ∂wpe", g.Parameters["wte.weight"].SumTokens(), g.Parameters["wpe.weight"].SumTokens())
	vanishes(t, "Σ_v ∂b_lm", g.Parameters["lm_head.bias"].Sum())
	vanishes(t, "Σ_v ∂w_lm", g.Parameters["lm_head.weight"].Sum())
	unused := g.Parameters["wpe.weight"].Tokens(fixture.Tokens, fixture.Positions)
	if frobenius(unused) != 0 {
		t.Errorf("∂wpe of positions beyond n: got %v, want 0", unused.Data)
	}
}

// Untied gradients of embeddings and head, at equal weights, add up to the tied one.
func TestI27TyingAddsGradients(t *testing.T) {
	tied := fixture.Generic(fixture.WithTying)
	_, want := byHand(t, tied)
	untied := fixture.Generic()
	delete(untied.Parameters, "lm_head.bias")
	untied.Parameters["lm_head.weight"] = untied.Parameters["wte.weight"].Transpose()
	_, got := byHand(t, untied)
	near(
		t, "∂wte", got.Parameters["wte.weight"].Add(got.Parameters["lm_head.weight"].Transpose()),
		want.Parameters["wte.weight"],
	)
}

// The logits of a token do not change by one bit when a later token does, and the sequences of a batch do not influence
// each other.
func TestCausalityToTheBit(t *testing.T) {
	f := fixture.Generic()
	logits := func() matrix {
		a, err := gptForward(f.Plan, f.Parameters, f.Tokens, f.Targets)
		if err != nil {
			t.Fatal(err)
		}
		return a.Logits
	}
	before := logits()
	f.Tokens = slices.Clone(f.Tokens)
	f.Tokens[3] = 7 // of the first sequence
	after := logits()
	for i := range before.Rows {
		same := slices.Equal(before.Tokens(i, i+1).Data, after.Tokens(i, i+1).Data)
		if want := i < 3 || i >= fixture.Tokens; same != want {
			t.Errorf("row %d: unchanged %v, want %v", i, same, want)
		}
	}
}

// A padding token has no influence: the loss does not depend on its word.
func TestPaddingIsInvisible(t *testing.T) {
	f := fixture.Generic(fixture.WithPadding)
	before, _ := byHand(t, f)
	f.Tokens = slices.Clone(f.Tokens)
	f.Tokens[fixture.Tokens+1], f.Tokens[fixture.Tokens+3] = 10, 0
	if after, _ := byHand(t, f); after != before {
		t.Errorf("got loss %v, want %v", after, before)
	}
}

// An adapter with u = 0 changes nothing, and merging α d u into the weight changes nothing either.
func TestI26LoRAMerges(t *testing.T) {
	plain, lora := fixture.Generic(), fixture.Generic(fixture.WithLoRA)
	want, _ := byHand(t, lora)
	merged, off := maps.Clone(lora.Parameters), maps.Clone(lora.Parameters)
	for name := range lora.Parameters {
		down, isDown := strings.CutSuffix(name, ".lora_d")
		if !isDown {
			continue
		}
		d, u := lora.Parameters[name], lora.Parameters[down+".lora_u"]
		off[down+".lora_u"] = u.Scale(0)
		from := 0
		layer := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(down, "c_attn.q"), "c_attn.k"), "c_attn.v")
		if layer != down {
			layer += "c_attn"
			from = map[byte]int{'q': 0, 'k': 6, 'v': 12}[down[len(down)-1]]
		}
		w := merged[layer+".weight"]
		merged[layer+".weight"] = hand.Join(
			w.Columns(0, from), w.Columns(from, from+u.Cols).Add(d.MatMul(u).Scale(lora.LoRAScale)),
			w.Columns(from+u.Cols, w.Cols),
		)
		delete(merged, name)
		delete(merged, down+".lora_u")
	}
	lora.Parameters = merged
	if got, _ := byHand(t, lora); !(math.Abs(got-want) <= 1e-13) {
		t.Errorf("merged: got loss %v, want %v", got, want)
	}
	base, _ := byHand(t, plain)
	lora.Parameters = off
	if got, _ := byHand(t, lora); got != base {
		t.Errorf("u = 0: got loss %v, want %v", got, base)
	}
}

// A window as wide as the text is the causal mask, under one of one token each token sees only itself, and masks can be
// added.
func TestMasks(t *testing.T) {
	for name, pair := range map[string][2]matrix{
		"wide window":   {hand.WindowMask(6, 6), hand.CausalMask(6)},
		"window of one": {hand.WindowMask(6, 1).Exp(), permutation(natural(6)...)},
		"no padding":    {hand.PaddingMask(make([]bool, 6)), hand.Zeros[float64](6, 6)},
		"sum":           {hand.CausalMask(6).Add(hand.WindowMask(6, 2)), hand.WindowMask(6, 2)},
	} {
		if !slices.Equal(pair[0].Data, pair[1].Data) {
			t.Errorf("%s: got %v, want %v", name, pair[0].Data, pair[1].Data)
		}
	}
}
