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
	near(t, "two hidden keys first", onlineSoftmax(list(hidden)), hand.JoinColumns(hand.Zeros[float64](1, 2), list(s.weights)))
}

// (78) A second loop gives the weights.
func TestXuEq78(t *testing.T) {
	s := newStream()
	m, d := printedSum(s.x)
	near(t, "a", list(s.x).Shift(-m).Exp().Scale(1/d), list(s.weights))
	near(t, "a by hand", onlineSoftmax(list(s.x)), list(s.weights))
}
