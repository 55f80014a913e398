package papers

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/structured"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// nested returns x as a matrix of gpt/structured; flat is its inverse.
func nested(x matrix) [][]float64 {
	rows := make([][]float64, x.Rows)
	for i := range rows {
		rows[i] = x.Tokens(i, i+1).Data
	}
	return rows
}

func flat(x [][]float64) matrix {
	out := hand.Zeros[float64](0, len(x))
	for _, row := range x {
		out.Rows, out.Data = out.Rows+1, append(out.Data, row...)
	}
	return out
}

// (20) Attention with P + Ẽ for its weights. With the best band matrix as P and the rest as Ẽ, P + Ẽ equals the weights
// if ε is at least the weight outside the band. A P with a column of ones gives all its rows the same value.
func TestContiEq20(t *testing.T) {
	a := newAttention()
	rho := a.scaled.Softmax()
	one, band := permutation(natural(6)...), flat(structured.Project(nested(rho), 2))
	rest := rho.Sub(band)
	near(t, "(I P + Ẽ) V", one.MatMul(band).Add(rest).MatMul(a.v), attentionForward(a.q, a.k, a.v, matrix{}, matrix{}))
	near(t, "P + Ẽ", flat(structured.Add(nested(band), nested(rest))), rho)
	largest := 0.0
	for i, v := range rho.Data {
		if between(i/6, i%6) > 2 {
			largest = max(largest, v)
		}
	}
	near(t, "ε", hand.NewMatrix(1, 1, verify.Largest(parameters{"Ẽ": rest})), hand.NewMatrix(1, 1, largest))
	if outside := structured.OffBand(nested(band), 2); outside != 0 || largest == 0 {
		t.Errorf("P: got %v outside of the band, where the weights are up to %v", outside, largest)
	}

	columns, err := structured.Columns(6, structured.Group{Token: 3, From: 2, To: 5})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "P V", flat(columns).MatMul(a.v), embeddingForward(a.v, []int{0, 1, 3, 3, 3, 5}))
}

// (21) P is the identity, a band with entries dropped, or an identity with columns of ones. Their rows sum to 1, and
// all of them lie on a band. (Σ1 is the set {Iₙ}, erratum C11.)
func TestContiEq21(t *testing.T) {
	const n, w = 16, 3
	rng := rand.New(rand.NewPCG(21, 0))
	for range 50 {
		groups, err := structured.Groups(n, w, 2, rng)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := structured.Columns(n, groups...)
		if err != nil {
			t.Fatal(err)
		}
		for what, p := range map[string][][]float64{"Σ1": structured.Identity(n), "Σ2": structured.Band(n, w, 0.3, rng), "Σ3": columns} {
			near(t, what, flat(p).SumFeatures(), ones(n, 1))
			if outside := structured.OffBand(p, w); outside != 0 {
				t.Errorf("%s: got %v outside of the band", what, outside)
			}
		}
	}
}

// (22) Σ|m| is a norm, and A on the band is the nearest band matrix; its distance is the part of A outside the band. It
// does not come from an inner product: the parallelogram law fails, 8 against 4, and with it the theorem that is
// invoked (erratum C11).
func TestContiEq22(t *testing.T) {
	a, zero := newAttention(), nested(hand.Zeros[float64](6, 6))
	x, y := a.raw, a.scaled.Softmax()
	norm := func(x matrix) float64 { return structured.Distance(nested(x), zero) }
	if !(norm(x.Add(y)) <= norm(x)+norm(y)) || norm(x) == 0 || norm(hand.Zeros[float64](6, 6)) != 0 {
		t.Errorf("got %v, %v and %v for the sum", norm(x), norm(y), norm(x.Add(y)))
	}
	near(t, "|−3M|", hand.NewMatrix(1, 1, norm(x.Scale(-3))), hand.NewMatrix(1, 1, 3*norm(x)))

	const w = 2
	outside := y.Mul(visible(6, func(i, j int) bool { return i-j > w || j-i > w }).Exp())
	distance := structured.Distance(nested(y), structured.Project(nested(y), w))
	near(t, "|H − B|", hand.NewMatrix(1, 1, distance), outside.SumTokens().SumFeatures())

	first, second := oneHotRows([]int{0, hand.Ignore}, 2), oneHotRows([]int{hand.Ignore, 1}, 2)
	small := func(x matrix) float64 {
		return math.Pow(structured.Distance(nested(x), nested(hand.Zeros[float64](2, 2))), 2)
	}
	if left, right := small(first.Add(second))+small(first.Sub(second)), 2*small(first)+2*small(second); left != 8 || right != 4 {
		t.Errorf("parallelogram: got %v and %v, want 8 and 4", left, right)
	}
}

// (23) The errors have size at most ε, and so have their limits: at most ε, not less than ε (erratum C11). Two such
// matrices are up to (1 + 2ε)n₁ + 2εn₂ apart; the printed n₁ + εn₂ has no errors on the band and the same sign for
// those outside it (erratum C10).
func TestContiEq23(t *testing.T) {
	const n, w, epsilon = 4, 1, 0.1
	rng := rand.New(rand.NewPCG(23, 0))
	for range 50 {
		for _, row := range structured.Noise(n, epsilon, 0.5, rng) {
			for _, v := range row {
				if !(math.Abs(v) <= epsilon) {
					t.Errorf("got error %v, want at most %v", v, epsilon)
				}
			}
		}
	}

	band := visible(n, func(i, j int) bool { return i-j <= w && j-i <= w }).Exp()
	high, low := band.Shift(epsilon), hand.Zeros[float64](n, n).Shift(-epsilon)
	n1 := dot(band, band)
	near(t, "|X₁ − X₂|", hand.NewMatrix(1, 1, structured.Distance(nested(high), nested(low))), hand.NewMatrix(1, 1, 13.2))
	near(t, "bound", hand.NewMatrix(1, 1, structured.Bound(n, w, epsilon)), hand.NewMatrix(1, 1, 13.2))
	near(t, "bound as printed", hand.NewMatrix(1, 1, n1+epsilon*(n*n-n1)), hand.NewMatrix(1, 1, 10.6))
}
