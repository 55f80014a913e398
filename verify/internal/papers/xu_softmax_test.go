package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// stream holds the quantities of section 5: N = 7 logits that, except for one, increase, so that nearly every step has
// a new maximum, values of 3 features, and the m_i, d_i, d'_i and o'_i of the paper as sums over j = 1 … i.
type stream struct {
	x                         []float64
	v                         matrix
	m, global, local, weights []float64 // m_i; d_i with m_N; d'_i with m_i; i-th weight
	out                       []matrix
}

func newStream() stream { return streamOf([]float64{-1.2, 0.4, 0.1, 1.3, 1.9, 2.6, 3.4}) }

func streamOf(x []float64) stream {
	s := stream{x: x, v: fixture.Random("v", len(x), 3)}
	last := slices.Max(x)
	for i := range x {
		seen := x[:i+1]
		m := slices.Max(seen)
		global, local := 0.0, 0.0
		for _, x := range seen {
			global += math.Exp(x - last)
			local += math.Exp(x - m)
		}
		s.m, s.global, s.local = append(s.m, m), append(s.global, global), append(s.local, local)
		s.out = append(s.out, weightedRows(sharesOf(seen), s.v))
	}
	s.weights = sharesOf(x)
	return s
}

func list(x []float64) matrix { return hand.NewMatrix(1, len(x), x...) }

// (69) The running maximum ends as the maximum.
func TestXuEq69(t *testing.T) {
	s := newStream()
	m := math.Inf(-1)
	var got []float64
	for _, x := range s.x {
		m = max(m, x)
		got = append(got, m)
	}
	near(t, "m", list(got), list(s.m))
	near(t, "m_N", list(got[6:]), list(s.x).RowMax())
}

// (70) d_N is the sum of e^(x_i−m_N).
func TestXuEq70(t *testing.T) {
	s := newStream()
	d := 0.0
	for _, x := range s.x {
		d += math.Exp(x - s.m[6])
	}
	near(t, "d_N", list([]float64{d}), list(s.x).LogSumExp().Sub(list(s.x).RowMax()).Exp())
}

// (71) a_i = e^(x_i−m_N)/d_N is the softmax, which does not depend on the subtracted number. Without the subtraction
// large logits give NaN.
func TestXuEq71(t *testing.T) {
	s := newStream()
	near(t, "a", list(s.x).Sub(list(s.m[6:])).Exp().Div(list(s.global[6:])), list(s.weights))
	near(t, "a of logits further up", list(s.x).Shift(800).Softmax(), list(s.weights))
	if got := sharesOf([]float64{800, 801}); !math.IsNaN(got[0]) {
		t.Errorf("e⁸⁰⁰/Σ: got %v, want NaN", got)
	}
}

// (72) d_i, the sum of the first i terms e^(x_j−m_N), is d_(i−1) and one more term.
func TestXuEq72(t *testing.T) {
	s := newStream()
	for i := 1; i < 7; i++ {
		near(t, "d_i", list([]float64{s.global[i-1] + math.Exp(s.x[i]-s.m[6])}), list(s.global[i:i+1]))
	}
}

// (73) With d₀ = 0 this is the loop of (70).
func TestXuEq73(t *testing.T) {
	s := newStream()
	d, got := 0.0, []float64{}
	for _, x := range s.x {
		d += math.Exp(x - s.m[6])
		got = append(got, d)
	}
	near(t, "d", list(got), list(s.global))
}

// (74) d'_i is the same with the maximum so far: another number until the maximum is found, the same at the end.
func TestXuEq74(t *testing.T) {
	s := newStream()
	near(t, "d'_N", list(s.local[6:]), list(s.global[6:]))
	for i := range 6 {
		near(t, "d'_i", list(s.local[i:i+1]), list([]float64{s.global[i] * math.Exp(s.m[6]-s.m[i])}))
	}
	wrongBy(t, "d'_i for d_i", list(s.global), list(s.local), 0.75)
}

// (75) The first i−1 terms of d'_i are not d'_(i−1), unless the maximum has stayed.
func TestXuEq75(t *testing.T) {
	s := newStream()
	for i := 1; i < 7; i++ {
		first := s.local[i] - math.Exp(s.x[i]-s.m[i])
		same, stayed := math.Abs(first-s.local[i-1]) <= 1e-14, s.m[i] == s.m[i-1]
		if stayed {
			near(t, "the first terms", hand.NewMatrix(1, 1, first), hand.NewMatrix(1, 1, s.local[i-1]))
		}
		if same != stayed {
			t.Errorf("step %d: got %v after %v; the maximum stayed: %t", i+1, first, s.local[i-1], stayed)
		}
	}
	if s.m[2] != s.m[1] {
		t.Error("no step at which the maximum stays")
	}
}

// (76) d'_i = d'_(i−1) e^(m_(i−1)−m_i) + e^(x_i−m_i).
func TestXuEq76(t *testing.T) {
	s := newStream()
	for i := 1; i < 7; i++ {
		got := s.local[i-1]*math.Exp(s.m[i-1]-s.m[i]) + math.Exp(s.x[i]-s.m[i])
		near(t, "d'_i", list([]float64{got}), list(s.local[i:i+1]))
	}
}

// printedSum returns the loop of (77) as printed.
func printedSum(x []float64) (m, d float64) {
	m = math.Inf(-1)
	for _, x := range x {
		before := m
		m = max(m, x)
		d = d*math.Exp(before-m) + math.Exp(x-m)
	}
	return m, d
}

// (77) One loop gives m_N and d_N together. It starts correctly from m₀ = −∞, but leading logits of −∞, hidden keys,
// give −∞ − (−∞) in the exponents: NaN from then on (erratum X1b).
func TestXuEq77(t *testing.T) {
	s := newStream()
	m, d := printedSum(s.x)
	near(t, "m_N, d_N", list([]float64{m, d}), list([]float64{s.m[6], s.local[6]}))
	a := hand.NewPartial(list(s.x), matrix{})
	near(t, "m_N + ln d_N", a.LogSumExp(), list([]float64{m + math.Log(d)}))

	hidden := append([]float64{math.Inf(-1), math.Inf(-1)}, s.x...)
	if _, d := printedSum(hidden); !math.IsNaN(d) {
		t.Errorf("two hidden keys first: got d = %v as printed, want NaN", d)
	}
	near(
		t, "two hidden keys first", onlineSoftmax(list(hidden)),
		hand.Join(hand.Zeros[float64](1, 2), list(s.weights)),
	)
}

// (78) A second loop gives the weights.
func TestXuEq78(t *testing.T) {
	s := newStream()
	m, d := printedSum(s.x)
	near(t, "a", list(s.x).Shift(-m).Exp().Scale(1/d), list(s.weights))
	near(t, "a by hand", onlineSoftmax(list(s.x)), list(s.weights))
}

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
	if got := streamOf(large.Data).rescaled(func(before, now float64) float64 {
		return 1 / upsideDown(before, now)
	}); !math.IsNaN(got.Data[0]) {
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
