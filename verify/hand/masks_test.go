package hand_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// TestMasks lists the visible keys: a row for every query, with x where it sees the key.
func TestMasks(t *testing.T) {
	for _, c := range []struct {
		name string
		mask hand.Matrix[float64]
		want string
	}{
		{"causal", hand.CausalMask(4), "x... xx.. xxx. xxxx"},
		{"window", hand.WindowMask(4, 2), "x... xx.. .xx. ..xx"},
		{"padding", hand.PaddingMask([]bool{false, true, false}), "x.x x.x x.x"},
		{"source", hand.SourceMask(2, 4, 3), "xxx. xxx."},
		{
			"bigbird", hand.BigBirdMask(7, 2, []int{2}, [][]int{4: {0}, 6: {4}}),
			"xxx.... xxx.... xxxxxxx ..xxx.. x.xxxx. ..x.xxx ..x.xxx",
		},
		{"dilated", hand.DilatedMask(6, 3, 2), "x.x... .x.x.. x.x.x. .x.x.x ..x.x. ...x.x"},
		{"dilated, wide", hand.DilatedMask(5, 5, 1), "xxx.. xxxx. xxxxx .xxxx ..xxx"},
		{"global", hand.GlobalMask(3, []int{1}), ".x. xxx .x."},
		{"either", hand.Either(hand.WindowMask(3, 1), hand.GlobalMask(3, []int{2})), "x.x .xx xxx"},
		{"except", hand.Except(hand.CausalMask(3), hand.WindowMask(3, 1)), "... x.. xx."},
	} {
		var got []string
		for i := range c.mask.Rows {
			row := ""
			for j := range c.mask.Cols {
				row += map[string]string{"0": "x", "-Inf": "."}[fmt.Sprint(c.mask.At(i, j))]
			}
			got = append(got, row)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// The slopes are 2^(−8h/H). If H is not a power of two, the rest are slopes of the next one in between.
func TestALiBi(t *testing.T) {
	for _, c := range []struct {
		h, heads int
		want     float64 // two tokens apart
	}{
		{1, 1, -2. / 256}, {1, 2, -2. / 16}, {2, 2, -2. / 256}, {3, 3, -2. / 4}, {1, 3, -2. / 16}, {5, 6, -2. / 2},
		{6, 6, -2. / 8}, {4, 6, -2. / 256},
	} {
		m := hand.ALiBiMask(3, c.h, c.heads)
		if m.At(0, 2) != c.want || m.At(2, 0) != c.want || m.At(1, 2) != c.want/2 || m.At(1, 1) != 0 {
			t.Errorf("head %d of %d: got %v, want %g two tokens apart", c.h, c.heads, m.Data, c.want)
		}
	}
}

// Two steps of every optimizer, worked out by hand for w = 2 and g = 3, −1.
func TestOptimizers(t *testing.T) {
	w, g, h, zero := one(2), one(3), one(-1), one(0)
	w1, m1 := hand.SGDUpdate(hand.SGD{Rate: 0.1, Momentum: 0.5, Decay: 0.25}, w, g, zero)
	near(t, "sgd", w1, 2-0.1*(3+0.25*2))
	w2, m2 := hand.SGDUpdate(hand.SGD{Rate: 0.1, Momentum: 0.5, Decay: 0.25}, w1, h, m1)
	near(t, "sgd's second momentum", m2, 0.5*3-1)
	near(t, "sgd's second step", w2, 1.65-0.1*(0.5+0.25*1.65))

	l := hand.Lion{Rate: 0.1, Beta1: 0.75, Beta2: 0.5, Decay: 0.25}
	w1, m1 = hand.LionUpdate(l, w, g, zero)
	near(t, "lion", w1, 2-0.1*(1+0.25*2))
	near(t, "lion's m", m1, 1.5)
	w2, m2 = hand.LionUpdate(l, w1, h, m1) // c = 0.75·1.5 − 0.25
	near(t, "lion's second step", w2, 1.85-0.1*(1+0.25*1.85))
	near(t, "lion's second m", m2, 0.5*1.5-0.5)
	w1, _ = hand.LionUpdate(l, w, h, zero)
	near(t, "lion against a negative gradient", w1, 2-0.1*(-1+0.25*2))
	w1, _ = hand.LionUpdate(l, w, h, one(1)) // c = 0.75 − 0.25
	near(t, "lion against its momentum", w1, 2-0.1*(1+0.25*2))
	w1, _ = hand.LionUpdate(l, w, zero, zero)
	near(t, "lion without a gradient", w1, 2-0.1*0.25*2)

	b := hand.RebalanceUpdate(0.25, hand.NewMatrix(1, 3, 1., 2, 3), hand.NewMatrix(1, 3, 5., 3, 1))
	near(t, "rebalance, many tokens", b.Columns(0, 1), 0.75)
	near(t, "rebalance, the mean", b.Columns(1, 2), 2)
	near(t, "rebalance, few tokens", b.Columns(2, 3), 3.25)

	// In steps 1 and 2 of a warm-up of one step the weights are 1/4 and 1, and c is 1 and 4/5.
	f := hand.ScheduleFree{Rate: 0.1, Beta1: 0.5, Beta2: 0.75, Eps: 1, Decay: 0.25, Warmup: 1}
	y, x, z, v := hand.ScheduleFreeUpdate(f, 1, w, g, w, w, zero)
	near(t, "schedule free", y, 2-0.1*(3./(3+1)+0.25*2))
	near(t, "schedule free's x", x, y.At(0, 0))
	y2, x2, z2, v2 := hand.ScheduleFreeUpdate(f, 2, y, h, x, z, v)
	near(t, "schedule free's v", v2, 0.75*2.25+0.25)
	z1 := 1.875 - 0.1*(-1/(math.Sqrt(1.9375/(1-0.5625))+1)+0.25*1.875)
	near(t, "schedule free's z", z2, z1)
	near(t, "schedule free's second x", x2, 0.2*1.875+0.8*z1)
	near(t, "schedule free's second step", y2, 0.5*z1+0.5*(0.2*1.875+0.8*z1))
	if m, _, _, _ := hand.ScheduleFreeUpdate(f, 0, w, g, w, w, zero); m.Err == nil {
		t.Error("step 0: got no error")
	}

	// The only singular value of X is 1 or −1, and becomes φ⁵(1), φ(x) = 3.4445x − 4.775x³ + 2.0315x⁵.
	const phi = 0.6964364094697522
	o := hand.Muon{Rate: 0.1, Momentum: 0.5, Decay: 0.25, Scale: 3, Steps: 5}
	w1, m1 = hand.MuonUpdate(o, w, g, zero)
	near(t, "muon", w1, 2-0.1*(3*phi+0.25*2))
	near(t, "muon's m", m1, 3)
	w2, m2 = hand.MuonUpdate(o, w1, h.Scale(2), m1) // u = −2 − 0.5·0.5
	near(t, "muon's second m", m2, 0.5*3-2)
	near(t, "muon's second step", w2, w1.At(0, 0)-0.1*(-3*phi+0.25*w1.At(0, 0)))
	w1, _ = hand.MuonUpdate(o, w, zero, zero)
	near(t, "muon without a gradient", w1, 2-0.1*0.25*2)
	w1, _ = hand.MuonUpdate(hand.Muon{Rate: 1, Scale: 1, Steps: 1}, zero, g, zero)
	near(t, "one iteration", w1, -(3.4445 - 4.775 + 2.0315))

	// A number has the vector 1, and a diagonal matrix the vectors of I: SOAP is AdamW.
	p := hand.SOAP{Rate: 0.1, Beta1: 0.5, Beta2: 0.75, Eps: 1, Decay: 0.25, ShampooBeta: 0.5, Power: true}
	s := hand.SOAPState[float64]{M: zero, V: zero, L: zero, QL: one(1)}
	w1, s = hand.SOAPUpdate(p, 1, w, g, s)
	near(t, "soap", w1, 2-0.1*(3./(3+1)+0.25*2))
	near(t, "soap's l", s.L, 4.5)
	w1, s = hand.SOAPUpdate(p, 2, w1, h, s)
	near(t, "soap's second step", w1, 1.875-0.1*((0.25/0.75)/(math.Sqrt(1.9375/0.4375)+1)+0.25*1.875))
	near(t, "soap's vector", s.QL, 1)
	if _, s := hand.SOAPUpdate(
		p, 1, w, zero, hand.SOAPState[float64]{M: zero, V: zero, L: zero, QL: one(1)},
	); s.QL.At(0, 0) != 1 {
		t.Errorf("without a gradient the vector is %v, want 1", s.QL)
	}
	if w, _ := hand.SOAPUpdate(p, 0, w, g, s); w.Err == nil {
		t.Error("soap's step 0: got no error")
	}
	// g = (2, 1)ᵀ has L = gᵀg/2, and the first column of (L/tr L + 10⁻⁶I) is along (0.8 + 10⁻⁶, 0.4).
	two, cold := hand.NewMatrix(2, 1, 2, 1.), hand.Zeros[float64](2, 1)
	_, s = hand.SOAPUpdate(p, 1, cold, two, hand.SOAPState[float64]{M: cold, V: cold, L: hand.Zeros[float64](2, 2),
		QL: hand.NewMatrix(2, 2, 1, 0, 0, 1.)})
	norm := math.Hypot(0.8+1e-6, 0.4)
	for i, want := range []float64{(0.8 + 1e-6) / norm, -0.4 / norm, 0.4 / norm, (0.8 + 1e-6) / norm} {
		if got := s.QL.Data[i]; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("soap's vectors, entry %d: got %v, want %v", i, got, want)
		}
	}

	c := hand.AdamW{Rate: 0.1, Beta1: 0.5, Beta2: 0.75, Eps: 1, Decay: 0.25}
	w1, m1, v1 := hand.AdamWUpdate(c, 1, w, g, zero, zero)
	near(t, "adamw", w1, 2-0.1*(3./(3+1)+0.25*2))
	near(t, "adamw's m", m1, 1.5)
	near(t, "adamw's v", v1, 2.25)
	w2, m2, v2 = hand.AdamWUpdate(c, 2, w1, h, m1, v1)
	near(t, "adamw's second step", w2, 1.875-0.1*(0.25/(1-0.25)/(math.Sqrt(1.9375/(1-0.5625))+1)+0.25*1.875))
	near(t, "adamw's second m", m2, 0.5*1.5-0.5)
	near(t, "adamw's second v", v2, 0.75*2.25+0.25)
	if m, _, _ := hand.AdamWUpdate(c, 0, w, g, zero, zero); m.Err == nil ||
		m.Err.Error() != "hand: adamw: step 0, want 1 or more" {
		t.Errorf("step 0: got %v", m.Err)
	}
}

func one(v float64) hand.Matrix[float64] { return hand.NewMatrix(1, 1, v) }

func near(t *testing.T, name string, m hand.Matrix[float64], want float64) {
	t.Helper()
	if got := m.At(0, 0); m.Err != nil || !(got-want < 1e-15 && want-got < 1e-15) {
		t.Errorf("%s: got %v, want %g", name, m, want)
	}
}

// A ratio on the border of the clipping still follows the objective: here r = 1 and ε = 0.
func TestPPOBorder(t *testing.T) {
	for _, a := range []float64{1, -1} {
		l := hand.PPO[float64]{
			Rollout: hand.Rollout{Actions: []int{0}, Advantages: one(a), Weights: one(1), LogProbs: one(-math.Ln2)},
		}
		dx, _ := l.Backward(hand.Zeros[float64](1, 2), one(1))
		near(t, "Δ", dx, -a/2)
	}
}

// The objective is flat only where the advantage has pushed the ratio r of two equal actions beyond 1 ± ε.
func TestPPO(t *testing.T) {
	for _, c := range []struct{ r, a, loss, slope float64 }{
		{0.25, 1, -0.25, -0.25}, {0.25, -1, 0.5, 0}, {0.75, 1, -0.75, -0.75}, {0.75, -1, 0.75, 0.75},
		{1.25, 1, -1.25, -1.25}, {1.25, -1, 1.25, 1.25}, {1.75, 1, -1.5, 0}, {1.75, -1, 1.75, 1.75},
	} {
		l := hand.PPO[float64]{Clip: 0.5, Rollout: hand.Rollout{
			Actions: []int{0}, Advantages: one(c.a), Weights: one(1), LogProbs: one(math.Log(0.5 / c.r)),
		}}
		logits := hand.Zeros[float64](1, 2)
		dx, _ := l.Backward(logits, one(1))
		near(t, fmt.Sprint("L of ", c), l.Forward(logits), c.loss)
		near(t, fmt.Sprint("Δ of ", c), dx, c.slope/2)
	}
}

// With a cache every token gets its row of the attention over all tokens.
func TestCache(t *testing.T) {
	x := random("q 4 3, k 4 3, v 4 2")
	all := hand.Attention[float64]{Mask: hand.CausalMask(4)}.Forward(x["q"], x["k"], x["v"])
	var cache hand.Cache[float64]
	for i := range 4 {
		var a hand.Matrix[float64]
		a, cache = cache.Attend(x["q"].Tokens(i, i+1), x["k"].Tokens(i, i+1), x["v"].Tokens(i, i+1))
		for j := range 2 {
			near(t, fmt.Sprint(i, j), a.Columns(j, j+1), all.At(i, j))
		}
	}
}

// Parameters that are not valid matrices are errors that name them.
func TestParameters(t *testing.T) {
	bad := errors.New("bad")
	for want, m := range map[string]hand.Matrix[float64]{
		"w: bad": {Err: bad},
		"w: hand: shapes do not fit: matrix (2, 3) from 5 values": {Rows: 2, Cols: 3, Data: make([]float64, 5)},
	} {
		if err := (hand.Parameters[float64]{"w": m}).Check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := random("w 2 3").Check(); err != nil {
		t.Error(err)
	}
}

// The merged attention over two sets of keys equals the attention over all of them, without overflow. A query that sees
// no key gets 0.
func TestPartial(t *testing.T) {
	x := random("scores 3 5, values 5 2")
	s := x["scores"].Shift(800).Add(hand.SourceMask(3, 5, 5))
	s.Data[5], s.Data[6] = math.Inf(-1), math.Inf(-1) // query 1 sees none of the first two keys
	a := hand.NewPartial(s.Columns(0, 2), x["values"].Tokens(0, 2))
	b := hand.NewPartial(s.Columns(2, 5), x["values"].Tokens(2, 5))
	got, want := a.Merge(b), hand.NewPartial(s, x["values"])
	for i := range 3 {
		for name, m := range map[string][2]hand.Matrix[float64]{
			"max": {got.Max, want.Max}, "total": {got.Total, want.Total},
			"out":         {got.Out.Columns(1, 2), want.Out.Columns(1, 2)},
			"log-sum-exp": {got.LogSumExp(), s.LogSumExp()},
			"softmax":     {want.Out.Columns(0, 1), s.Softmax().MatMul(x["values"]).Columns(0, 1)},
		} {
			if d := m[0].At(i, 0) - m[1].At(i, 0); !(d < 1e-12 && d > -1e-12) {
				t.Errorf("query %d: %s: got %g, want %g", i, name, m[0].At(i, 0), m[1].At(i, 0))
			}
		}
	}
	if a.Out.At(1, 0) != 0 || a.Total.At(1, 0) != 0 || !a.Max.None() && a.Max.At(1, 0) > -1e308 {
		t.Errorf("a query that sees nothing: got %v", a)
	}
	if only := hand.NewPartial(s, hand.Matrix[float64]{}); !only.Out.None() || !only.Merge(only).Out.None() {
		t.Errorf("without values: got %v", only.Out)
	}
}

// The rows of a mask are ordered by sequence, head, query. A head outside of it is an error.
func TestDropoutHead(t *testing.T) {
	mask := hand.NewMatrix(2*3*4, 1, make([]float64, 24)...)
	for i := range mask.Data {
		mask.Data[i] = float64(i)
	}
	d := hand.Dropout[float64]{Mask: mask}
	if got := d.Head(1, 2, 3, 4); got.Mask.Err != nil || got.Mask.Rows != 4 || got.Mask.At(0, 0) != 20 {
		t.Errorf("got %v, want rows 20 … 23", got.Mask)
	}
	for _, at := range [][4]int{
		{-1, 0, 3, 4}, {2, 0, 3, 4}, {0, -1, 3, 4}, {0, 3, 3, 4}, {0, 0, 0, 4},
		{0, 0, 4, 4}, {0, 0, 3, 0}, {0, 0, 3, 5}, {0, 0, 7, 4}, {0, 0, 1, 25},
	} {
		want := fmt.Sprintf("%d queries of head %d of %d, sequence %d, in a mask (24, 1)", at[3], at[1], at[2], at[0])
		got := d.Head(at[0], at[1], at[2], at[3])
		if got.Mask.Err == nil || !strings.HasSuffix(got.Mask.Err.Error(), want) {
			t.Errorf("got %v, want %s", got.Mask, want)
		}
	}
}
