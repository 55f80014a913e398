package papers

import (
	"errors"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The gradient of a position is the sum of Δ over the sequences, and 0 for unused positions. If words and positions
// share nothing else, the columns of both tables have the same sum.
func TestI05LearnedPositions(t *testing.T) {
	const batch, n, context, d, words = 3, 5, 8, 4, 7
	tokens := []int{1, 0, 6, 1, 1, 2, 2, 5, 0, 6, 4, 4, 1, 6, 3}
	for _, f := range forms() {
		g := f.graph(fixture.Seed, fixture.Step)
		at := nn.Site{Scope: g.Root(), Dims: nn.Dims{Batch: batch, Context: context, Embd: d}}
		at.Positions = at.Ints("positions", batch*n, context, -1)
		copy(at.Positions.Ints(), hand.Positions(batch, n))
		ids := at.Ints("ids", batch*n, words, -1)
		copy(ids.Ints(), tokens)
		table, positions := nn.NewEmbedding(at.Sub("wte"), words, d), nn.NewLearnedPositions(at.At("wpe"))
		y := positions.Forward(table.Forward(ids))
		delta := fixture.Random("delta", batch*n, d)
		weights := g.Root().Value("delta", graph.Const(0), batch*n, d)
		fill(weights, delta)
		p, err := graph.Compile(y.Mul(weights).SumAll(), table.Weight, positions.Weight)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		tolerance := 1e-12
		if !f.double {
			tolerance = 1e-6
		}
		dwte, dwpe := verify.FromTensor(p.Grad(table.Weight)), verify.FromTensor(p.Grad(positions.Weight))
		if e := apart(dwpe.SumTokens(), dwte.SumTokens()); !(e <= tolerance) {
			t.Errorf("%s: the sums over the rows of both tables are %.2g apart", f.name, e)
		}
		want := hand.Zeros[float64](context, d)
		for i := range batch * n {
			for j := range d {
				want.Data[i%n*d+j] += delta.At(i, j)
			}
		}
		if e := apart(dwpe, want); !(e <= tolerance) {
			t.Errorf("%s: off by %.2g", f.name, e)
		}
		for _, v := range dwpe.Data[n*d:] {
			if v != 0 {
				t.Errorf("%s: a position without a token has a gradient of %v", f.name, v)
			}
		}
	}
}

// A shift of the waves is a rotation, their length is the same everywhere, and the product of two depends on the
// distance.
func TestI06Sinusoids(t *testing.T) {
	const n, d, base = 40, 10, 10000
	p := hand.Sinusoids(n, d, base)
	layer := alone(t, n, d, nn.All{}, func(at nn.Site, x graph.Expr) graph.Expr {
		at.Positions = at.Ints("positions", n, n, -1)
		copy(at.Positions.Ints(), hand.Positions(1, n))
		return nn.NewSinusoidal(at, base).Forward(x)
	}, parameters{input: hand.Zeros[float64](n, d)})
	if e := apart(layer, p); !(e <= 1e-14) {
		t.Errorf("the library's waves are %.2g off", e)
	}
	for s := range 15 {
		shifted := p.Tokens(0, n-s).MatMul(rotation(s, d, base))
		if e := apart(shifted, p.Tokens(s, n)); !(e <= 1e-13) {
			t.Errorf("P[t]·R(%d) is %.2g off P[t+%[1]d]", s, e)
		}
		want := 0.0
		for k := range d / 2 {
			want += math.Cos(math.Pow(base, -2*float64(k)/d) * float64(s))
		}
		if s == 0 && want != d/2 {
			t.Errorf("‖P‖² = %v, want %d", want, d/2)
		}
		for at := range n - s {
			got := p.Tokens(at, at+1).MatMul(p.Tokens(at+s, at+s+1).Transpose()).Data[0]
			if !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("⟨P[%d], P[%d]⟩ = %v, want %v", at, at+s, got, want)
			}
		}
	}
}

// TestI08IsAnOrthogonalMatrix checks that the layer is linear in the row of a token, y = xQ with QQᵗ the identity, and
// its backward pass is Δ Qᵗ.
func TestI08IsAnOrthogonalMatrix(t *testing.T) {
	const width, at = 10, 7 // two groups of 4, and 2 columns that pass
	identity := permutation(natural(width)...)
	r := rotary{Groups: 2, Size: 4, Theta: 100}
	for range width {
		r.Positions = append(r.Positions, at)
	}
	q := ropeForward(identity, r)
	near(t, "QQᵗ", q.MatMul(q.Transpose()), identity)
	x, delta := fixture.Random("x", width, width), fixture.Random("delta", width, width)
	near(t, "y", ropeForward(x, r), x.MatMul(q))
	near(t, "Δx", ropeBackward(r, delta), delta.MatMul(q.Transpose()))
	// φ = t·100^(−2i/4)
	for i, want := range map[int]float64{0: math.Cos(at), 2: math.Cos(at / 10.), 6: math.Cos(at / 10.), 8: 1} {
		if got := q.At(i, i); !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("entry %d of the diagonal: got %v, want %v", i, got, want)
		}
	}
}

// TestI08Shapes checks that wrong shapes are errors.
func TestI08Shapes(t *testing.T) {
	x := fixture.Random("x", 3, 8)
	for name, r := range map[string]rotary{
		"odd":       {Positions: []int{0, 1, 2}, Groups: 1, Size: 3, Theta: 100},
		"positions": {Positions: []int{0, 1}, Groups: 1, Size: 4, Theta: 100},
		"groups":    {Positions: []int{0, 1, 2}, Groups: 3, Size: 4, Theta: 100},
	} {
		if y := ropeForward(x, r); !errors.Is(y.Err, hand.ErrShape) {
			t.Errorf("%s: got %v, want %v", name, y.Err, hand.ErrShape)
		}
	}
}
