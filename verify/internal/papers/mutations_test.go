package papers

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/identity"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// mutation is a common mistake with these formulas or, if equivalent, a change that looks like a mistake but is not. It
// is a wrong fixture, a model with wrong layers, or wrong gradients computed from the right ones.
type mutation struct {
	name, variant string
	equivalent    bool
	fixture       func(f *fixture.Fixture)
	model         func(m *wrongModel, f fixture.Fixture)
	gradients     func(g layerGradients, p parameters)
}

// Each wrong version of a formula or of the set-up is caught by the complex step of the right one, each equivalent
// passes. Mistakes in one factor, term, sign, index, comparison or constant are not here: verify/internal/mutate makes
// them all, among them gelu_no_deriv, scale_forget_bwd, mask_offby1_strict and _future, softmax_drop_rowsum and
// _colsum, p_not_transposed, ln_forget_gamma, ln_drop_mean, ln_drop_proj, ln_no_invsigma, ce_sum_vs_mean, ce_sign,
// ce_no_onehot, ce_pad_not_ignored, lora_forget_lora_path, rope_not_rotated_back, linear_drop_e, taylor_keep_length,
// elman_drop_carried, elman_no_dtanh, sigma_no_eps_bwd, plain_drop_mean, sinusoids_no_scale_bwd,
// longformer_values_swapped and the equivalent relu_ge0.
func TestMutations(t *testing.T) {
	t.Parallel()
	truth := map[string]parameters{}
	for name, variant := range mutationVariants() {
		if os.Getenv("NIGHTLY") == "" { // TestGPTEveryCombination compares the right formulas with complex steps
			truth[name] = mutation{variant: name}.layerGradients(t)
			continue
		}
		truth[name] = byComplexStep(t, fixture.Generic(variant))
	}
	caught, passed, weakest, noise := 0, 0, math.Inf(1), 0.0
	for _, m := range mutations() {
		d := worst(t, m.layerGradients(t), truth[m.variant])
		t.Logf("%-32s %-10s %8.1e  %s", m.name, m.variant, d.Distance, d.Name)
		switch {
		case m.equivalent && d.OK():
			passed, noise = passed+1, max(noise, d.Distance)
		case m.equivalent:
			t.Errorf(
				"%s is no mistake: got distance %.1e at %s, want at most %.0e", m.name, d.Distance, d.Name,
				verify.Tolerance,
			)
		default:
			caught++
			if d.Distance < weakest { // never for a NaN
				weakest = d.Distance
			}
			if d.Distance <= 1e-5 {
				t.Errorf("%s is a mistake: got distance %.1e, want more than 1e-5", m.name, d.Distance)
			}
		}
	}
	t.Logf("caught %d, weakest %.1e; passed %d, noisiest %.1e", caught, weakest, passed, noise)
}

func mutationVariants() map[string]fixture.Variant {
	return map[string]fixture.Variant{
		"generic": func(*fixture.Fixture) {}, "tied": fixture.WithTying, "lora": fixture.WithLoRA,
		"padding": fixture.WithPadding,
		"latents": fixture.WithLatents, "sigma": fixture.WithSigma, "longformer": fixture.WithLongformer,
		"linear": fixture.WithLinear,
		"taylor": fixture.WithTaylor, "elman": fixture.WithElman, "plain": fixture.WithPlain,
		"sinusoids": fixture.WithSinusoids,
	}
}

// layerGradients returns the gradients of the wrong model.
func (m mutation) layerGradients(t *testing.T) parameters {
	t.Helper()
	f := m.fixtureOf()
	p, err := m.gradientsAt(f, f.Parameters)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	return p
}

func (m mutation) fixtureOf() fixture.Fixture {
	f := fixture.Generic(mutationVariants()[m.variant])
	if m.fixture != nil {
		m.fixture(&f)
	}
	return f
}

// gradientsAt returns the gradients of the wrong model at some values of the parameters.
func (m mutation) gradientsAt(f fixture.Fixture, values parameters) (parameters, error) {
	model, err := variants.Model(f.Plan, values)
	if err != nil {
		return nil, err
	}
	w := &wrongModel{Model: model}
	if m.model != nil {
		s := model.Decoder(matrix{})
		x := s.Embeddings.Forward(f.Tokens)
		for _, block := range s.Blocks {
			w.inputs = append(w.inputs, x)
			x = block.Forward(x)
		}
		m.model(w, f)
	}
	g, err := w.Backward(f.Text())
	if err != nil {
		return nil, err
	}
	p := g.Parameters()
	if m.gradients != nil {
		m.gradients(g, p)
	}
	return p, nil
}

// One draw of the exact road finds every mistake, too: the right model forwards, the wrong one backwards. Whatever is
// no mistake is equal there.
func TestMutationsExact(t *testing.T) {
	t.Parallel()
	caught, refused := 0, 0
	for _, m := range mutations() {
		right := fixture.Generic(mutationVariants()[m.variant])
		equal, _, err := identity.Formula{
			At: right.Parameters, Loss: true,
			Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
				model, err := fixture.Hand(right, p)
				if err != nil {
					return hand.Matrix[complex128]{Err: err}
				}
				return model.Forward(right.Text())
			},
			Backward: func(p parameters, _ matrix) (g layerGradients, err error) {
				values, err := m.gradientsAt(m.fixtureOf(), p)
				for name, value := range values {
					g = append(g, hand.Gradient[float64]{Name: name, Value: value})
				}
				return g, err
			},
		}.Holds(1)
		switch {
		case errors.Is(err, hand.ErrReadsData):
			refused++
			t.Log(m.name, err)
		case err != nil:
			t.Errorf("%s: %v", m.name, err)
		case equal != (m.equivalent && m.name != "mask_-1e4"): // e^(−10⁴) is 0 in float64, and not exactly
			t.Errorf("%s: got equal %t, want %t", m.name, equal, m.equivalent)
		case !m.equivalent:
			caught++
		}
	}
	t.Logf("caught %d, refused %d", caught, refused)
}

func TestMutationNames(t *testing.T) {
	var names []string
	variants := mutationVariants()
	for _, m := range mutations() {
		names = append(names, m.name)
		if variants[m.variant] == nil {
			t.Errorf("%s: no fixture %s", m.name, m.variant)
		}
	}
	count := len(names)
	if slices.Sort(names); len(slices.Compact(names)) != count || count != 45+12+4 {
		t.Errorf("got %d mutations, want 61 different ones", count)
	}
}

func mutations() []mutation {
	return slices.Concat(setupMutations(), attentionMutations(), layerMutations(), gradientMutations())
}

// setupMutations returns mistakes before the model is built.
func setupMutations() (list []mutation) {
	for name := range mutationVariants() {
		list = append(list, mutation{name: "original_" + name, variant: name, equivalent: true})
	}
	slices.SortFunc(list, func(a, b mutation) int { return len(a.name) - len(b.name) })
	mask := func(f func(n int) matrix) func(*fixture.Fixture) {
		return func(x *fixture.Fixture) { x.Mask = func(_, _, _ int) matrix { return f(fixture.Tokens) } }
	}
	hidden := func(by float64) func(n int) matrix {
		return func(n int) matrix {
			return each(hand.CausalMask(n), func(v float64) float64 {
				if math.IsInf(v, -1) {
					return by
				}
				return v
			})
		}
	}
	return append(list,
		mutation{name: "eps_1e-6", variant: "generic", fixture: func(f *fixture.Fixture) { f.Eps = 1e-6 }},
		mutation{name: "eps_0", variant: "generic", fixture: func(f *fixture.Fixture) { f.Eps = 0 }},
		mutation{
			name: "targets_unshifted", variant: "generic", fixture: func(f *fixture.Fixture) { f.Targets = f.Tokens },
		},
		mutation{name: "pad_mask_missing", variant: "padding", fixture: mask(hand.CausalMask)},
		mutation{
			name: "mask_none", variant: "generic",
			fixture: mask(func(n int) matrix { return hand.Zeros[float64](n, n) }),
		},
		mutation{name: "mask_-10", variant: "generic", fixture: mask(hidden(-10))},
		mutation{name: "mask_-1e4", variant: "generic", equivalent: true, fixture: mask(hidden(-1e4))},
	)
}

// gradientMutations returns mistakes in the way of the Δ to the gradients.
func gradientMutations() []mutation {
	bias := func(change func(g layerGradients, at string, bias matrix) matrix) func(layerGradients, parameters) {
		return func(g layerGradients, p parameters) {
			for i := range fixture.Blocks {
				at := fmt.Sprintf("h.%d.attn.", i)
				p[at+"c_attn.bias"] = change(g, at, p[at+"c_attn.bias"])
			}
		}
	}
	keys := func(bias, keys matrix) matrix { // columns 6 to 12 are the keys'
		return hand.Join(bias.Columns(0, 6), keys, bias.Columns(12, 22))
	}
	factor := func(names ...string) func(layerGradients, parameters) {
		return func(_ layerGradients, p parameters) {
			for name := range p {
				if slices.ContainsFunc(names, func(end string) bool {
					return len(name) > len(end) &&
						name[len(name)-len(end):] == end
				}) {
					p[name] = p[name].Scale(1 / 1.5) // α
				}
			}
		}
	}
	part := func(index int) func(layerGradients, parameters) {
		return func(g layerGradients, p parameters) {
			var both []matrix // of the embedding, then of the head
			for _, e := range g {
				if e.Name == "wte.weight" && !e.Delta {
					both = append(both, e.Value)
				}
			}
			p["wte.weight"] = both[index]
		}
	}
	const n, d = fixture.Tokens, fixture.Features
	return []mutation{
		{name: "key_bias_wrong_axis", variant: "generic",
			gradients: bias(func(g layerGradients, at string, bias matrix) matrix {
				return keys(bias, deltaOf(g, at+"c_attn").Columns(6, 12).Sum().Tokens(0, 6).Transpose())
			})},
		{name: "key_bias_zero_shortcut", variant: "generic", equivalent: true,
			gradients: bias(func(_ layerGradients, _ string, bias matrix) matrix {
				return keys(bias, hand.Zeros[float64](1, 6))
			})},
		{name: "bv_shortcut_eq24", variant: "generic", equivalent: true,
			gradients: bias(func(g layerGradients, at string, bias matrix) matrix {
				return hand.Join(bias.Columns(0, 12), deltaOf(g, at+"heads").SumTokens())
			})},
		{name: "bias_mean", variant: "generic", gradients: func(_ layerGradients, p parameters) {
			p["lm_head.bias"] = p["lm_head.bias"].Scale(1.0 / 12)
		}},
		{name: "emb_overwrite", variant: "generic", gradients: func(g layerGradients, p parameters) {
			f, d1 := fixture.Generic(), deltaOf(g, "drop")
			p["wte.weight"] = p["wte.weight"].Scale(0)
			for i, token := range f.Tokens {
				copy(p["wte.weight"].Data[token*d:(token+1)*d], d1.Tokens(i, i+1).Data)
			}
		}},
		{name: "pos_shift1", variant: "generic", gradients: func(_ layerGradients, p parameters) {
			p["wpe.weight"] = hand.JoinTokens(hand.Zeros[float64](1, d), p["wpe.weight"].Tokens(0, 8))
		}},
		{name: "pos_overwrite_batch", variant: "generic", gradients: func(g layerGradients, p parameters) {
			p["wpe.weight"] = hand.JoinTokens(
				deltaOf(g, "drop").Tokens(n, 2*n), hand.Zeros[float64](fixture.Positions-n, d),
			)
		}},
		{name: "tied_forget_head", variant: "tied", gradients: part(0)},
		{name: "tied_forget_emb", variant: "tied", gradients: part(1)},
		{name: "lora_forget_alpha", variant: "lora", gradients: factor(".lora_d", ".lora_u")},
	}
}
