package identity

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

type (
	dual       = hand.Matrix[complex128]
	parameters = hand.Parameters[complex128]
)

// TestForms checks that forms which the papers claim to be equal have the same values and the same derivatives along a
// random direction, without rounding.
func TestForms(t *testing.T) {
	heads := map[string][2]int{"q": {5, 4}, "k": {5, 4}, "v": {5, 3}}
	see := hand.CausalMask(5).Shift(0)
	for i := range see.Data {
		if see.Data[i] == 0 {
			see.Data[i] = 1
		} else {
			see.Data[i] = 0
		}
	}
	attention := hand.Attention[complex128]{Mask: hand.CausalMask(5)}
	features := hand.EluPlusOne[complex128]{}
	for _, c := range []struct {
		name      string
		sizes     map[string][2]int
		one, form func(p parameters) dual
	}{
		{
			"attention in tiles, Xu (82)–(84), and at once", heads,
			func(p parameters) dual { return attention.Forward(p["q"], p["k"], p["v"]) },
			func(p parameters) dual {
				return hand.Flash[complex128]{Mask: attention.Mask, Queries: 2, Keys: 2}.Forward(p["q"], p["k"], p["v"])
			},
		},
		{
			"attention from a cache, Xu (33)–(36), and at once", heads,
			func(p parameters) dual { return attention.Forward(p["q"], p["k"], p["v"]) },
			func(p parameters) dual {
				var cache hand.Cache[complex128]
				var rows []dual
				for i := range 5 {
					var a dual
					row := func(name string) dual { return p[name].Tokens(i, i+1) }
					a, cache = cache.Attend(row("q"), row("k"), row("v"))
					rows = append(rows, a)
				}
				return hand.JoinTokens(rows...)
			},
		},
		{
			"linear attention as a scan, Conti (17), and as a sum", heads,
			func(p parameters) dual {
				return hand.LinearAttention[complex128]{Features: features, See: see}.Forward(p["q"], p["k"], p["v"])
			},
			func(p parameters) dual {
				return hand.LinearScan[complex128]{Features: features}.Forward(p["q"], p["k"], p["v"])
			},
		},
		{
			// The latent has 2 features: the absorbed form needs (√dc)² = dc, and the field has a √2 but no √3.
			"latent attention absorbed, Xu (41), (46), and with its keys",
			map[string][2]int{
				"x": {4, 6}, "c_q.weight": {6, 8}, "c_kv_down.weight": {6, 2}, "c_k_up.weight": {2, 8},
				"c_v_up.weight": {2, 10}, "c_proj.weight": {10, 6},
			},
			func(p parameters) dual { return latent(p).Forward(p["x"]) },
			func(p parameters) dual {
				return hand.MLAAbsorbed[complex128]{
					Wq: p["c_q.weight"], Down: p["c_kv_down.weight"], UpK: p["c_k_up.weight"], UpV: p["c_v_up.weight"],
					Wo: p["c_proj.weight"], Batch: 2, Heads: 2,
				}.Forward(p["x"])
			},
		},
		{
			"an adapter beside its layer, Boué (43), and merged into it",
			map[string][2]int{"x": {3, 5}, "w": {5, 4}, "d": {5, 2}, "u": {2, 4}},
			func(p parameters) dual {
				a := hand.LoRA[complex128]{Down: p["d"], Up: p["u"], Scale: 1.5, To: 4}
				return hand.Linear[complex128]{Weight: p["w"], Adapters: []hand.LoRA[complex128]{a}}.Forward(p["x"])
			},
			func(p parameters) dual {
				merged := p["w"].Add(p["d"].MatMul(p["u"]).Scale(1.5))
				return hand.Linear[complex128]{Weight: merged}.Forward(p["x"])
			},
		},
		{
			"grouped heads and heads with repeated keys",
			map[string][2]int{"q": {4, 8}, "k": {4, 4}, "v": {4, 6}},
			func(p parameters) dual {
				return hand.Heads[complex128]{
					Batch: 1, Count: 4, Groups: 2, Head: causal,
				}.Forward(p["q"], p["k"], p["v"])
			},
			func(p parameters) dual {
				k, v := p["k"], p["v"]
				twice := func(x dual, w int) dual {
					a, b := x.Columns(0, w), x.Columns(w, 2*w)
					return hand.Join(a, a, b, b)
				}
				return hand.Heads[complex128]{Batch: 1, Count: 4, Head: causal}.Forward(
					p["q"], twice(k, 2), twice(v, 3),
				)
			},
		},
		{
			"the logistic function by tanh and by the exponential", map[string][2]int{"x": {3, 5}},
			func(p parameters) dual { return hand.Sigmoid[complex128]{}.Forward(p["x"]) },
			func(p parameters) dual {
				one := hand.Zeros[complex128](3, 5).Shift(1)
				return one.Div(one.Add(p["x"].Scale(-1).Exp()))
			},
		},
		{
			"two steps of SGD with momentum and their sum", map[string][2]int{"w": {2, 3}, "g": {2, 3}, "h": {2, 3}},
			func(p parameters) dual {
				c := hand.SGD{Rate: 0.25, Momentum: 0.9}
				w, m := hand.SGDUpdate(c, p["w"], p["g"], hand.Zeros[complex128](2, 3))
				w, _ = hand.SGDUpdate(c, w, p["h"], m)
				return w
			},
			func(p parameters) dual {
				return p["w"].Sub(p["g"].Scale(0.25 * 1.9)).Sub(p["h"].Scale(0.25)) // w − η(1 + μ)g − ηh
			},
		},
		{
			"the first step of AdamW and its closed form", map[string][2]int{"w": {2, 3}, "g": {2, 3}},
			func(p parameters) dual {
				c := hand.AdamW{Rate: 0.5, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1}
				zero := hand.Zeros[complex128](2, 3)
				w, _, _ := hand.AdamWUpdate(c, 1, p["w"], p["g"], zero, zero)
				return w
			},
			func(p parameters) dual {
				step := p["g"].Div(p["g"].Square().Sqrt().Shift(1e-8)) // g/(|g| + ε)
				return p["w"].Sub(step.Add(p["w"].Scale(0.1)).Scale(0.5))
			},
		},
	} {
		for seed := range uint64(20) {
			f := Formula{At: hand.Parameters[float64]{}, Forward: c.one}
			for name, size := range c.sizes {
				f.At[name] = fixture.Random(name, size[0], size[1]).Scale(2)
			}
			p, err := f.point(seed)
			if err != nil {
				t.Fatal(err)
			}
			at := p.moving(p.direction())
			_, want, err := p.forward(at)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			p.Forward = c.form
			_, got, err := p.forward(at)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for i := range want {
				if got[i].Value != want[i].Value || got[i].Derivative().Value != want[i].Derivative().Value {
					t.Fatalf("%s: draw %d: entry %d differs", c.name, seed, i)
				}
			}
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("%s: %d entries and %d", c.name, len(got), len(want))
			}
		}
	}
}

func causal(int, int) hand.Head[complex128] {
	return hand.Attention[complex128]{Mask: hand.CausalMask(4)}
}

// TestExactScan checks the gradient of the scan, which no Case has.
func TestExactScan(t *testing.T) {
	f := Formula{At: hand.Parameters[float64]{}}
	for name, width := range map[string]int{"q": 4, "k": 4, "v": 3} {
		f.At[name] = fixture.Random(name, 5, width).Scale(4)
	}
	f.Forward = func(p parameters) dual {
		scan := hand.LinearScan[complex128]{Features: hand.EluPlusOne[complex128]{}}
		return scan.Forward(p["q"], p["k"], p["v"])
	}
	f.Backward = func(p hand.Parameters[float64], delta matrix) (hand.Gradients[float64], error) {
		scan := hand.LinearScan[float64]{Features: hand.EluPlusOne[float64]{}}
		dq, dk, dv := scan.Backward(p["q"], p["k"], p["v"], delta)
		return hand.Gradients[float64]{{Name: "q", Value: dq}, {Name: "k", Value: dk}, {Name: "v", Value: dv}}, nil
	}
	for seed := range uint64(10) {
		if entries, _, err := f.Differing(seed); err != nil || len(entries) > 0 {
			t.Fatalf("got %v, %v", entries, err)
		}
	}
}

// TestExactPooling takes the layers that reduce the tokens of a sequence along the road, with an odd number of
// features. Every Case has an even number.
func TestExactPooling(t *testing.T) {
	for name, f := range map[string]Formula{
		"mean": formula(map[string][2]int{"x": {6, 5}},
			func(hand.Parameters[float64]) hand.Layer[float64] { return hand.MeanTokens[float64]{Batch: 2} },
			func(hand.Parameters[complex128]) hand.Layer[complex128] { return hand.MeanTokens[complex128]{Batch: 2} }),
		"one": formula(map[string][2]int{"x": {6, 5}},
			func(hand.Parameters[float64]) hand.Layer[float64] { return hand.GatherTokens[float64]{At: []int{0, 2}} },
			func(hand.Parameters[complex128]) hand.Layer[complex128] {
				return hand.GatherTokens[complex128]{At: []int{0, 2}}
			}),
	} {
		if equal, _, err := f.Holds(1); err != nil || !equal {
			t.Errorf("%s: got equal %t, %v", name, equal, err)
		}
	}
}
