package papers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// blocksOf returns the columns [from, …) of x in blocks of a size, in another order.
func blocksOf(x matrix, from, size int, order []int) matrix {
	var pieces []matrix
	for _, i := range order {
		pieces = append(pieces, x.Columns(from+i*size, from+(i+1)*size))
	}
	return hand.Join(pieces...)
}

// Heads have no order: if the columns of their queries, keys and values are permuted together with the rows of w_proj,
// the output is the same, and the gradients are permuted too. With w_proj unchanged it is another function.
func TestI14HeadsHaveNoOrder(t *testing.T) {
	const batch, n, d, heads, qk, v = 2, 5, 7, 3, 2, 4
	order := []int{1, 0, 2}
	packed := func(x matrix) matrix {
		return hand.Join(
			blocksOf(x, 0, qk, order), blocksOf(x, heads*qk, qk, order), blocksOf(x, 2*heads*qk, v, order),
		)
	}
	numbers := parameters{
		"x": fixture.Random("x", batch*n, d).Scale(4), "attn.c_attn.weight": fixture.Random("w", d, heads*(2*qk+
			v)).Scale(2), "attn.c_attn.bias": fixture.Random("b", 1, heads*(2*qk+v)),
		"attn.c_proj.weight": fixture.Random("o", heads*v, d), "attn.c_proj.bias": fixture.Random("c", 1, d),
	}
	half := maps.Clone(numbers)
	half["attn.c_attn.weight"] = packed(numbers["attn.c_attn.weight"])
	half["attn.c_attn.bias"] = packed(numbers["attn.c_attn.bias"])
	reordered := maps.Clone(half)
	reordered["attn.c_proj.weight"] = blocksOf(numbers["attn.c_proj.weight"].Transpose(), 0, v, order).Transpose()

	causal := hand.CausalMask(n)
	formula := func(p parameters) matrix {
		qkv := linearForward(p["x"], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
		out := multiHeadForward(qkv, multiHead{Batch: batch, Heads: heads, QK: qk, Masks: []matrix{causal, causal}})
		return linearForward(out, p["attn.c_proj.weight"], p["attn.c_proj.bias"])
	}
	want, delta := formula(numbers), fixture.Random("delta", batch*n, d)
	near(t, "by hand", formula(reordered), want)
	if e := apart(formula(half), want); !(e > 0.1) {
		t.Errorf("by hand: w_proj left alone is off by %.2g", e)
	}
	for _, f := range wide() {
		library := func(p parameters) (matrix, parameters) {
			return computed(t, f, p, delta, func(s graph.Scope, x leaves) graph.Expr {
				at := nn.Site{
					Scope: s.Sub("layer"),
					Dims:  nn.Dims{Batch: batch, Context: n, Embd: d, Heads: heads, QK: qk, V: v, Inner: d, Blocks: 1},
					Style: nn.Style{Affine: leafAffine(x), Bias: true},
				}
				at.Mask = nn.NewMask(s, at.Dims, nn.Causal{})
				return nn.NewSelfAttention(at.At("attn")).Forward(x["x"])
			})
		}
		y, g := library(numbers)
		got, moved := library(reordered)
		near(t, f.name, y, want)
		near(t, f.name+", permuted", got, want)
		near(t, f.name+": Δx", moved["x"], g["x"])
		near(t, f.name+": ∂w", moved["attn.c_attn.weight"], packed(g["attn.c_attn.weight"]))
		near(
			t, f.name+": ∂w_proj", moved["attn.c_proj.weight"].Transpose(),
			blocksOf(g["attn.c_proj.weight"].Transpose(), 0, v, order),
		)
		if got, _ := library(half); !(apart(got, want) > 0.1) {
			t.Errorf("%s: w_proj left alone is off by %.2g", f.name, apart(got, want))
		}
	}
}

// leafAffine builds linear layers from the numbers of a test instead of declaring parameters.
func leafAffine(x leaves) nn.Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		name := strings.TrimPrefix(s.Path(), "layer.")
		w, b := x[name+".weight"], x[name+".bias"]
		l := nn.NewLinear(s, in, out, bias, init).(*nn.Linear)
		l.Weight, l.Bias = w, b.Reshape(b.Shape()[1])
		return l
	}
}

// thinPair is one pair of thin matrices in a model, and the columns of the weight that they adapt.
type thinPair struct {
	down, up, weight string
	from, to         int
}

func adaptersOf(p parameters) (list []thinPair) {
	for _, down := range slices.Sorted(maps.Keys(p)) {
		layer, ok := strings.CutSuffix(down, ".lora_d")
		if !ok {
			continue
		}
		a := thinPair{down: down, up: layer + ".lora_u"}
		if i := strings.LastIndex(layer, "c_attn."); i >= 0 {
			a.from = map[string]int{
				"q": 0, "k": fixture.Heads * fixture.QK, "v": 2 * fixture.Heads * fixture.QK,
			}[layer[i+len("c_attn."):]]
			layer = layer[:i] + "c_attn"
		}
		a.weight, a.to = layer+".weight", a.from+p[a.up].Cols
		list = append(list, a)
	}
	return list
}

// In every adapter of a model the gradients of the thin matrices follow from the gradient that the frozen weight would
// get, ∂d = α ∂w uᵗ and ∂u = α dᵗ∂w. At u = 0 the model is the base, ∂d is 0 and ∂u is not.
func TestI26AdaptersInAModel(t *testing.T) {
	m := newModel(t, small(func(c *gpt.Config) { c.LoraR, c.LoraAlpha = 2, 3 }))
	h := planOf(m)
	list := adaptersOf(m.Parameters)
	if want := fixture.Blocks*(3+3) + 1; len(list) != want || h.LoRAScale != 1.5 {
		t.Fatalf("got %d adapters of scale %v, want %d of 1.5", len(list), h.LoRAScale, want)
	}
	answer := func(m verify.Model) map[string]gradients {
		_, g := byHand(t, fixture.Fixture{Plan: h, Parameters: m.Parameters, Tokens: m.Tokens, Targets: m.Targets})
		all := map[string]gradients{"by hand": g}
		for _, f := range wide() {
			all[f.name] = gradients{Parameters: computedModel(t, m, f, nil).grads}
		}
		return all
	}
	for name, g := range answer(m) {
		for _, a := range list {
			dw := g.Parameters[a.weight].Columns(a.from, a.to)
			near(
				t, name+": ∂"+a.down, g.Parameters[a.down],
				dw.MatMul(m.Parameters[a.up].Transpose()).Scale(h.LoRAScale),
			)
			near(t, name+": ∂"+a.up, g.Parameters[a.up], m.Parameters[a.down].Transpose().MatMul(dw).Scale(h.LoRAScale))
		}
	}

	start, base := without(m), newModel(t, small())
	for _, a := range list {
		start.Parameters[a.up] = start.Parameters[a.up].Scale(0)
	}
	for name := range base.Parameters {
		base.Parameters[name] = m.Parameters[name]
	}
	base.Tokens, base.Targets = m.Tokens, m.Targets
	plain := answer(base)
	for name, g := range answer(start) {
		for _, a := range list {
			if down, up := frobenius(g.Parameters[a.down]), frobenius(g.Parameters[a.up]); down != 0 || !(up > 1e-6) {
				t.Errorf(
					"%s, u = 0: %s has a gradient of length %v and %s of %v, want 0 and more", name, a.down, down, a.up,
					up,
				)
			}
		}
		for weight, want := range plain[name].Parameters {
			near(t, name+", u = 0: ∂"+weight, g.Parameters[weight], want)
		}
	}
}

// An adapter may be merged into its weight: x(w + α d u) is xw + α x d u, in the sizes of every adapter of a model.
func TestI26MergedIsTheSame(t *testing.T) {
	p := fixture.Generic(fixture.WithLoRA).Parameters
	for _, a := range adaptersOf(p) {
		x, w := fixture.Random("x", 5, p[a.down].Rows), p[a.weight].Columns(a.from, a.to)
		d, u := p[a.down], p[a.up]
		want := linearForward(x, w, matrix{}).Add(loraForward(x, d, u, 1.5))
		near(t, a.weight, linearForward(x, w.Add(d.MatMul(u).Scale(1.5)), matrix{}), want)
		near(t, a.weight+", u = 0", loraForward(x, d, u.Scale(0), 1.5), hand.Zeros[float64](5, u.Cols))
	}
}

// The Δ of a complete model from the loss to the embeddings, one line for each. The library computes the same at every
// place that it exposes.
func TestI30ChainOfDeltas(t *testing.T) {
	m := newModel(t, small())
	h := planOf(m)
	a, err := gptForward(h, m.Parameters, m.Tokens, m.Targets)
	if err != nil {
		t.Fatal(err)
	}
	p, chain := m.Parameters, map[string]matrix{}
	through := func(layer string, d matrix) matrix { // Δ wᵗ
		return d.MatMul(p[layer+".weight"].Transpose())
	}
	norm := func(layer string, x, d matrix) matrix { // LNᵇ(Δ)
		dx, _, _ := layerNormBackward(x, p[layer+".weight"], d, h.Eps)
		return dx
	}
	d12 := a.Logits.Softmax().Sub(oneHotRows(m.Targets, fixture.Vocabulary))
	kept := 0
	for i, target := range m.Targets {
		if target == hand.Ignore {
			clear(d12.Data[i*d12.Cols : (i+1)*d12.Cols])
		} else {
			kept++
		}
	}
	d12 = d12.Scale(1 / float64(kept))
	chain["lm_head"], chain["ln_f"] = d12, through("lm_head", d12)             // Δ₁₁ = Δ₁₂ w₁₁ᵗ
	d := norm("ln_f", a.Blocks[fixture.Blocks-1].A10, through("lm_head", d12)) // Δ₁₀ = LNᵇ(Δ₁₁)
	for i := fixture.Blocks - 1; i >= 0; i-- {
		b, at := a.Blocks[i], fmt.Sprintf("h.%d.", i)
		d10 := d
		d8 := through(at+"mlp.c_proj", d10)                          // Δ₈ = Δ₁₀ w₈ᵗ
		d7 := d8.Mul(geluBackward(b.A7, ones(b.A7.Rows, b.A7.Cols))) // Δ₇ = Δ₈ ∘ g'(a₇)
		d6 := through(at+"mlp.c_fc", d7)                             // Δ₆ = Δ₇ w₆ᵗ
		d5 := d10.Add(norm(at+"ln_2", b.A5, d6))                     // Δ₅ = Δ₁₀ + LNᵇ(Δ₆)
		d3 := through(at+"attn.c_proj", d5)                          // Δ₃ = Δ₅ w₃ᵗ
		d2 := overTheHeads(p, at+"attn.", b.A2, d3)                  // Δ₂ = Σ_h (…)
		d1 := d5.Add(norm(at+"ln_1", b.A1, d2))                      // Δ₁ = Δ₅ + LNᵇ(Δ₂)
		for part, d := range map[string]matrix{
			"": d10, ".mlp.c_proj": d10, ".mlp.act": d8, ".mlp.c_fc": d7, ".ln_2": d6, ".attn": d5, ".attn.c_proj": d5,
			".attn.heads": d3, ".ln_1": d2,
		} {
			chain[fmt.Sprintf("h.%d%s", i, part)] = d
		}
		d = d1
	}
	chain["drop"] = d

	_, g := byHand(t, fixture.Fixture{Plan: h, Parameters: p, Tokens: m.Tokens, Targets: m.Targets})
	formula := map[string]matrix{}
	for _, d := range g.Deltas {
		formula[d.Name] = d.Value
	}
	sides := map[string]map[string]matrix{"by hand": formula}
	for _, f := range wide() {
		sides[f.name] = computedModel(t, m, f, followers()).deltas
	}
	for name, deltas := range sides {
		compared := 0
		for place, want := range chain {
			if got, ok := deltas[place]; ok {
				near(t, name+": Δ("+place+")", got, want)
				compared++
			}
		}
		if least := 2 + 6*fixture.Blocks; compared < least || name == "by hand" && compared != len(chain) {
			t.Errorf("%s: compared %d Δ of %d", name, compared, len(chain))
		}
	}
	near(t, "∂wte", g.Parameters["wte.weight"], oneHotRows(m.Tokens, fixture.Vocabulary).Transpose().MatMul(d))
}

// followers returns the places of the model whose Δ is the gradient of the input of the next part, or of the output of
// the place itself.
func followers() map[string]string {
	out := map[string]string{"lm_head": "loss", "ln_f": "lm_head", "drop": "h.0"}
	for i := range fixture.Blocks {
		h, next := fmt.Sprintf("h.%d", i), fmt.Sprintf("h.%d", i+1)
		if i == fixture.Blocks-1 {
			next = "ln_f"
		}
		out[h], out[h+".mlp.act"], out[h+".mlp.c_fc"], out[h+".ln_2"] = next, h+".mlp.c_proj", h+".mlp.c_fc", h+
			".mlp.c_fc"
		out[h+".attn"], out[h+".attn.heads"], out[h+".ln_1"] = h+".ln_2", h+".attn.c_proj", h+".attn.c_attn"
	}
	return out
}

// overTheHeads carries Δ₃ back to the input of the heads, head by head and sequence by sequence, by (25), (28) and
// (33).
func overTheHeads(p parameters, layer string, a2, d3 matrix) matrix {
	w, b := p[layer+"c_attn.weight"], p[layer+"c_attn.bias"]
	var sequences []matrix
	for s := range fixture.Batch {
		x := a2.Tokens(s*fixture.Tokens, (s+1)*fixture.Tokens)
		sum := hand.Zeros[float64](x.Rows, x.Cols)
		for h := range fixture.Heads {
			part := func(from, size int) (w_, y matrix) {
				w_ = w.Columns(from+h*size, from+(h+1)*size)
				return w_, x.MatMul(w_).Add(b.Columns(from+h*size, from+(h+1)*size))
			}
			wq, q := part(0, fixture.QK)
			wk, k := part(fixture.Heads*fixture.QK, fixture.QK)
			wv, v := part(2*fixture.Heads*fixture.QK, fixture.Values)
			delta := d3.Tokens(s*fixture.Tokens, (s+1)*fixture.Tokens).Columns(h*fixture.Values, (h+1)*fixture.Values)
			rho := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(fixture.QK)).Add(
				hand.CausalMask(fixture.Tokens),
			).Softmax()
			drho := delta.MatMul(v.Transpose())
			draw := drho.Sub(drho.Mul(rho).Sum()).Mul(rho).Scale(1 / math.Sqrt(fixture.QK))
			sum = sum.Add(rho.Transpose().MatMul(delta).MatMul(wv.Transpose())). // ρᵗΔ w_vᵗ
												Add(draw.MatMul(k).MatMul(wq.Transpose())). // + Δ_raw k w_qᵗ
				// + Δ_rawᵗ q w_kᵗ
				Add(draw.Transpose().MatMul(q).MatMul(wk.Transpose()))
		}
		sequences = append(sequences, sum)
	}
	return hand.JoinTokens(sequences...)
}

// Every gradient of a small model agrees with autodiff, the kernels and the complex step, to 1e-12.
func TestI30Model(t *testing.T) {
	for _, blocks := range []int{1, 3} {
		m := newModel(t, small(func(c *gpt.Config) { c.NLayer = blocks }))
		r, err := verify.Check(m)
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() || !(r.Worst <= 1e-12) || !(r.Direction <= 1e-12) || r.Parameters != m.Count() {
			t.Errorf(
				"%d blocks: worst %.1e, along a direction %.1e, %d of %d parameters: %v", blocks, r.Worst, r.Direction,
				r.Parameters, m.Count(), r.Failures,
			)
		}
	}
}
