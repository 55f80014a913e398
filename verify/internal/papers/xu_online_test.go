package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// queryOf returns a query and keys with the logits of s.
func (s stream) queryOf() (q, k matrix) {
	q = fixture.Random("q", 1, 3).Shift(1)
	others := fixture.Random("k", len(s.x), 3)
	gap := list(s.x).Transpose().Sub(others.MatMul(q.Transpose())).Scale(1 / dot(q, q))
	return q, others.Add(gap.MatMul(q))
}

// (79) The output of one query is Σ a_i v_i with the softmax of its logits qk_iᵗ.
func TestXuEq79(t *testing.T) {
	s := newStream()
	q, k := s.queryOf()
	near(t, "x", q.MatMul(k.Transpose()), list(s.x))
	near(t, "o", q.MatMul(k.Transpose()).Softmax().MatMul(s.v), weightedRows(s.weights, s.v))
}

// (80) The loop of (77) with x_i = qk_iᵗ: one query q. Printed is q_i, a query for each key (erratum X8).
func TestXuEq80(t *testing.T) {
	s := newStream()
	q, k := s.queryOf()
	m, d := printedSum(q.MatMul(k.Transpose()).Data)
	near(t, "m_N, d_N", list([]float64{m, d}), list([]float64{s.m[6], s.local[6]}))
	others := hand.JoinTokens(q, fixture.Random("others", 6, 3))
	wrongBy(t, "q_i k_iᵗ", diagonal(others.MatMul(k.Transpose())).Softmax(), list(s.weights), 0.893)
}

// (81) The second loop adds up a_i v_i.
func TestXuEq81(t *testing.T) {
	s := newStream()
	o := hand.Zeros[float64](1, 3)
	for i, x := range s.x {
		o = o.Add(rowOf(s.v, i).Scale(math.Exp(x-s.m[6]) / s.local[6]))
	}
	near(t, "o_N", o, s.out[6])
}

// (82) o'_i, with the maximum and the sum so far, is the attention over the first i keys, and o'_N = o_N; o_i is a part
// of it.
func TestXuEq82(t *testing.T) {
	s := newStream()
	for i := range 7 {
		local, global := hand.Zeros[float64](1, 3), hand.Zeros[float64](1, 3)
		for j, x := range s.x[:i+1] {
			local = local.Add(rowOf(s.v, j).Scale(math.Exp(x-s.m[i]) / s.local[i]))
			global = global.Add(rowOf(s.v, j).Scale(math.Exp(x-s.m[6]) / s.local[6]))
		}
		near(t, "o'_i", local, s.out[i])
		near(t, "o_i", global, s.out[i].Scale(s.global[i]/s.global[6]))
	}
}

// rescaled returns the step of (83): o from the previous one, with a factor for the change of the maximum.
func (s stream) rescaled(factor func(before, now float64) float64) matrix {
	o, d := rowOf(s.v, 0), 1.0
	for i := 1; i < len(s.x); i++ {
		now := d*math.Exp(s.m[i-1]-s.m[i]) + math.Exp(s.x[i]-s.m[i])
		o = o.Scale(d / now * factor(s.m[i-1], s.m[i])).Add(rowOf(s.v, i).Scale(math.Exp(s.x[i]-s.m[i]) / now))
		d = now
	}
	return o
}

func upsideDown(before, now float64) float64 { return math.Exp(now) / math.Exp(before) }

// (83) o'_i = o'_(i−1) (d'_(i−1)/d'_i) e^(m_(i−1)−m_i) + e^(x_i−m_i)/d'_i v_i. Printed is e^(m_i)/e^(m_(i−1)), which is
// the inverse (erratum X1). On falling logits both are 1, so no test on such logits can detect it. Its third line has
// d'_(i−1)/d'_i next to a sum that is already divided by d'_i.
func TestXuEq83(t *testing.T) {
	s := newStream()
	near(t, "o_N", s.rescaled(func(before, now float64) float64 { return math.Exp(before - now) }), s.out[6])
	wrongBy(t, "o_N as printed", s.rescaled(upsideDown), s.out[6], 62.6)
	falling := slices.Clone(s.x)
	slices.Sort(falling)
	slices.Reverse(falling)
	f := streamOf(falling)
	near(t, "o_N as printed, falling logits", f.rescaled(upsideDown), f.out[6])

	lines := func(i int) (second, third matrix) {
		sum := hand.Zeros[float64](1, 3)
		for j, x := range s.x[:i] {
			sum = sum.Add(rowOf(s.v, j).Scale(math.Exp(x-s.m[i]) / s.local[i]))
		}
		last := rowOf(s.v, i).Scale(math.Exp(s.x[i]-s.m[i]) / s.local[i])
		return sum.Add(last), sum.Scale(s.local[i-1] / s.local[i]).Add(last)
	}
	second, third := lines(6)
	near(t, "second line", second, s.out[6])
	wrongBy(t, "third line", third, s.out[6], 0.0245)
}

// printedAttention returns the loop of (84) as printed, or with the given factor.
func printedAttention(x []float64, v matrix, factor func(before, now float64) float64) matrix {
	m, d, o := math.Inf(-1), 0.0, hand.Zeros[float64](1, v.Cols)
	for i, x := range x {
		m0, d0 := m, d
		m = max(m, x)
		d = d0*math.Exp(m0-m) + math.Exp(x-m)
		o = o.Scale(d0 / d * factor(m0, m)).Add(rowOf(v, i).Scale(math.Exp(x-m) / d))
	}
	return o
}

// (84) One loop for all of it. As printed its first step is 0·e^(m₁)/e^(−∞), NaN, before the inverted factor matters;
// and e^(m_i) by itself overflows above 709 (errata X1, X1b).
func TestXuEq84(t *testing.T) {
	s := newStream()
	right := func(before, now float64) float64 { return math.Exp(before - now) }
	near(t, "o_N", printedAttention(s.x, s.v, right), s.out[6])
	if got := printedAttention(s.x, s.v, upsideDown); !math.IsNaN(got.Data[0]) {
		t.Errorf("as printed: got %v, want NaN", got.Data)
	}
	large := list(s.x).Shift(800)
	near(t, "o_N of large logits", printedAttention(large.Data, s.v, right), s.out[6])
	if got := streamOf(large.Data).rescaled(func(before, now float64) float64 { return 1 / upsideDown(before, now) }); !math.IsNaN(got.Data[0]) {
		t.Errorf("e^(m_(i−1))/e^(m_i) of large logits: got %v, want NaN", got.Data)
	}

	a := hand.NewPartial(large.Columns(0, 1), rowOf(s.v, 0))
	for i := 1; i < 7; i++ {
		a = a.Merge(hand.NewPartial(large.Columns(i, i+1), rowOf(s.v, i)))
	}
	near(t, "o_N by hand", a.Out, s.out[6])
	q, k := s.queryOf()
	o, _ := flashForward(q.Scale(math.Sqrt(3)), k, s.v, matrix{}, tile{Queries: 1, Keys: 1})
	near(t, "o_N in tiles of one key", o, s.out[6])
}
