package reduce

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// halved returns the sum that Tree promises: of halves while the number is even, else in turn.
func halved(leaves [][]float32) []float32 {
	if n := len(leaves); n%2 == 0 {
		return plus(halved(leaves[:n/2]), halved(leaves[n/2:]))
	}
	s := leaves[0]
	for _, x := range leaves[1:] {
		s = plus(s, x)
	}
	return s
}

func plus(x, y []float32) []float32 {
	z := slices.Clone(x)
	for i := range z {
		z[i] += y[i]
	}
	return z
}

// Any number of micro-batches is added in its tree, with at most Sums copies. This also holds after a step that was
// given up, and for a step that ends early, which adds up the existing sums.
func TestTree(t *testing.T) {
	const size = 17
	rng := rand.New(rand.NewPCG(3, 5))
	inTurn := 0
	for n := 1; n <= 48; n++ {
		g := graph.New(graph.Float32, 1)
		w, x := g.Root().Param("w", graph.Const(0), size), g.Root().Value("x", graph.Const(0), size)
		p, err := graph.Compile(w.Mul(x).SumAll(), w)
		o, err2 := New("sgd", []graph.Expr{w})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		o.Tree(n)
		var leaves [][]float32
		for range n {
			leaf := make([]float32, size)
			for i := range leaf {
				leaf[i] = float32(rng.NormFloat64())
			}
			leaves = append(leaves, leaf)
		}
		for _, given := range []int{n / 2, n} {
			o.Forget()
			for _, leaf := range leaves[:given] {
				copy(x.Tensor().F32, leaf)
				if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, want := o.total()[0].F32, halved(leaves); !slices.Equal(got, want) || o.batches != n {
			t.Errorf("%d micro-batches: got %v, want %v", n, got, want)
		}
		sequence := leaves[0]
		for _, leaf := range leaves[1:] {
			sequence = plus(sequence, leaf)
		}
		if slices.Equal(sequence, halved(leaves)) {
			inTurn++
		}
		if got := len(o.sums); got != max(1, Sums(n)) || n == 1 && Sums(n) != 0 {
			t.Errorf("%d micro-batches: %d copies, Sums says %d", n, got, Sums(n))
		}
	}
	if want := 24 + 1; inTurn != want { // the odd ones, and 2
		t.Errorf("%d of 48 trees are sums in turn, want %d", inTurn, want)
	}
}

// Without a number of micro-batches, or with one that is negative, all are added in turn. A step that ends early adds
// up the sums that there are.
func TestTreeInTurn(t *testing.T) {
	leaves := [][]float32{{1e8}, {1}, {-1e8}, {3}, {1}}
	for n, want := range map[int]float32{0: 4, -2: 4, 5: 4, 8: 1} {
		s := graph.New(graph.Float32, 1).Root()
		w, x := s.Param("w", graph.Const(0), 1), s.Value("x", graph.Const(0), 1)
		p, err := graph.Compile(w.Mul(x).SumAll(), w)
		o, err2 := New("sgd", []graph.Expr{w})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		o.Tree(n)
		for _, leaf := range leaves {
			copy(x.Tensor().F32, leaf)
			if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.total()[0].F32[0]; got != want || Sums(n) != map[int]int{5: 1, 8: 3}[n] {
			t.Errorf("%d micro-batches: got %v and %d copies, want %v", n, got, Sums(n), want)
		}
	}
}
