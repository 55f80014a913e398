package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// positioned returns at with the positions of n tokens for each sequence of the batch, beginning at from.
func positioned(at Site, n, from int) Site {
	at.Positions = at.Ints("positions", at.Batch*n, at.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = from + i%n
	}
	return at
}

// rotary returns at with rotary positions for queries and keys, whose size it makes even.
func rotary(at Site) Site {
	at = positioned(at, at.Context, 0)
	at.QK += at.QK % 2
	at.Rotary = NewRoPE(at.At("rope"), at.QK, 100)
	return at
}

var ropeLayerCases = []layerCase{
	{"rope", "RoPE", func(at Site, x graph.Expr) graph.Expr { // with columns left over in every shape of odd width
		size := 2 * max(1, at.Embd/6)
		return NewRoPE(positioned(at, at.Context, 0), size, 100).Rotate(x, at.Embd/size, size)
	}},
	{"rope in one group", "RoPE", func(at Site, x graph.Expr) graph.Expr {
		at = positioned(at, at.Context, 0)
		at.Embd -= at.Embd % 2
		return NewRoPE(at, at.Embd, 10000).Forward(x.Cols(0, at.Embd))
	}},
	{"attention with rope", "SelfAttention RoPE", func(at Site, x graph.Expr) graph.Expr {
		return NewSelfAttention(rotary(at)).Forward(x)
	}},
}

// ropeDims holds sizes for RoPE alone: 3 groups of 4.
var ropeDims = Dims{Batch: 2, Context: 9, Embd: 12, Heads: 3, QK: 4, V: 4, Blocks: 1}

// rotated returns x (B·T, 12) rotated, with the positions shifted by from.
func rotated(t *testing.T, kernels bool, from int, x []float64) graph.Tensor {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	d := ropeDims
	d.Context += from
	at := positioned(newSite(g, d), ropeDims.Context, from)
	in := g.Root().Value("x", func(i int, _ *rand.Rand) float64 { return x[i] }, d.Batch*ropeDims.Context, d.Embd)
	return output(t, NewRoPE(at, d.QK, 100).Forward(in))
}

func ropeInput() []float64 {
	rng := rand.New(rand.NewPCG(8, 1))
	x := make([]float64, ropeDims.Batch*ropeDims.Context*ropeDims.Embd)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func product(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// TestI08NormsAreKept for every pair, and therefore for every group and row.
func TestI08NormsAreKept(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		x := ropeInput()
		y := rotated(t, kernels, 0, x).F64
		moved := 0
		for i := 0; i < len(x); i += 2 {
			got, want := math.Hypot(y[i], y[i+1]), math.Hypot(x[i], x[i+1])
			if !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("kernels %t, pair %d: length %v, want %v", kernels, i/2, got, want)
			}
			if math.Abs(y[i]-x[i]) > 1e-9 {
				moved++
			}
		}
		if want := len(x) / 2 * (ropeDims.Context - 1) / ropeDims.Context; moved != want {
			t.Errorf("kernels %t: %d pairs are rotated, want %d", kernels, moved, want)
		}
	}
}

// TestI08ProductsDependOnTheDistance puts one query and one key at every position. ⟨R_i q, R_j k⟩ is the same for equal
// i − j, also if all positions are shifted, and differs between distances.
func TestI08ProductsDependOnTheDistance(t *testing.T) {
	n, w := ropeDims.Context, ropeDims.Embd
	random := ropeInput()
	q, k := random[:w], random[w:2*w]
	x := make([]float64, 0, 2*n*w)
	for range n {
		x = append(x, q...)
	}
	for range n { // the second sequence
		x = append(x, k...)
	}
	for _, kernels := range []bool{true, false} {
		var worst float64
		at := map[int]float64{}
		for _, from := range []int{0, 5} {
			y := rotated(t, kernels, from, x).F64
			for i := range n {
				for j := range n {
					got := product(y[i*w:(i+1)*w], y[(n+j)*w:(n+j+1)*w])
					want, known := at[i-j]
					if !known {
						at[i-j] = got
						continue
					}
					worst = max(worst, math.Abs(got-want))
					if !(math.Abs(got-want) <= 1e-12) {
						t.Errorf("kernels %t: query at %d, key at %d: %v, elsewhere at this distance %v", kernels, i+from, j+from, got, want)
					}
				}
			}
		}
		if math.Abs(at[0]-product(q, k)) > 1e-12 || math.Abs(at[1]-at[0]) < 1e-3 || math.Abs(at[1]-at[-1]) < 1e-3 {
			t.Errorf("kernels %t: distances 0, 1, −1 have %v, %v, %v, and q·k is %v", kernels, at[0], at[1], at[-1], product(q, k))
		}
		t.Logf("kernels %t: at most %.1e apart", kernels, worst)
	}
}

// TestI08PositionZeroIsTheIdentity, to the bit, and only position 0 is.
func TestI08PositionZeroIsTheIdentity(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		x := ropeInput()
		y := rotated(t, kernels, 0, x).F64
		w := ropeDims.Embd
		for row := range ropeDims.Batch * ropeDims.Context {
			same := true
			for i := row * w; i < (row+1)*w; i++ {
				same = same && x[i] == y[i]
			}
			if want := row%ropeDims.Context == 0; same != want {
				t.Errorf("kernels %t, row %d: unchanged %t, want %t", kernels, row, same, want)
			}
		}
	}
}

// TestI08BackwardRotatesBack: the gradient is Δ rotated by −φ, so rotating it by φ gives Δ.
func TestI08BackwardRotatesBack(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 3)
		g.Kernels = kernels
		d := ropeDims
		at := positioned(newSite(g, d), d.Context, 0)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		delta := g.Root().Value("delta", graph.Normal(1), d.Batch*d.Context, d.Embd)
		p, err := graph.Compile(NewRoPE(at, d.QK, 100).Forward(x).Mul(delta).SumAll(), x)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		back := rotated(t, kernels, 0, p.Grad(x).F64)
		if e := distance(back, delta.Tensor(), 0); !(e <= 1e-12) {
			t.Errorf("kernels %t: rotated forward again the gradient is %.2g from Δ", kernels, e)
		}
		if e := distance(p.Grad(x), delta.Tensor(), 0); !(e > 0.1) {
			t.Errorf("kernels %t: the gradient is %.2g from Δ: nothing was rotated", kernels, e)
		}
	}
}

// TestI08StepEqualsForward decodes with a cache of rotated keys.
func TestI08StepEqualsForward(t *testing.T) {
	for _, d := range shapes {
		d.QK += d.QK % 2
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			decodingEqualsForward(t, d, func(at Site) Cached {
				at.Rotary = NewRoPE(at.At("rope"), at.QK, 100)
				return NewSelfAttention(at)
			})
		})
	}
}

// decodingEqualsForward decodes the rows of a random x token by token, then in blocks, on top of the caches of the
// previous round, and compares every row of the result with the forward pass. The site has positions.
func decodingEqualsForward(t *testing.T, d Dims, build func(at Site) Cached) (caches Caches) {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	y := build(positioned(newSite(g, d), d.Context, 0)).Forward(x)
	for _, p := range g.Params() { // as large as the input, so that attention is far from uniform and scores are not huge
		rng, w := rand.New(rand.NewPCG(5, uint64(p.Tensor().Len()))), p.Tensor()
		for i := range w.Len() {
			w.Set(i, 1.5*rng.NormFloat64()/math.Sqrt(float64(w.Shape[0])))
		}
	}
	want := output(t, y)
	caches = Caches{}
	worst := 0.0
	for _, block := range []int{1, max(1, d.Context/2)} {
		for at, n := 0, block; at < d.Context; at += n {
			if at+n > d.Context {
				n = 1
			}
			s := g.Sibling()
			site := positioned(newSite(s, d), n, at)
			site.Caches = caches
			tokens, pos := s.Root().Value("x", graph.Const(0), d.Batch*n, d.Embd), s.Root().Ints("pos", 1, d.Context, -1)
			pos.Ints()[0] = at
			for b := range d.Batch {
				copy(tokens.Tensor().F64[b*n*d.Embd:(b+1)*n*d.Embd], x.Tensor().F64[(b*d.Context+at)*d.Embd:])
			}
			for j, got := range output(t, build(site).Step(tokens, pos)).F64 {
				b, rest := j/(n*d.Embd), j%(n*d.Embd)
				w := want.F64[(b*d.Context+at)*d.Embd+rest]
				worst = max(worst, math.Abs(got-w)/max(1, math.Abs(w)))
				if !(math.Abs(got-w) <= 1e-12*max(1, math.Abs(w))) {
					t.Fatalf("sequence %d, token %d, feature %d: got %v, want %v", b, at+rest/d.Embd, rest%d.Embd, got, w)
				}
			}
		}
	}
	t.Logf("at most %.1e apart", worst)
	return caches
}

// TestRoPEErrors: invalid sizes are errors where the layer is built.
func TestRoPEErrors(t *testing.T) {
	for want, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"h.0.rope: size 5: rotary positions rotate pairs, so 4 or 6 features are needed": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 5, 100).Forward(x)
		},
		"h.0.rope: size 0: rotary positions rotate pairs, so at least 2 features are needed": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 0, 100).Forward(x)
		},
		"h.0.rope: theta 0: a base greater than 0 is needed": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 4, 0).Forward(x)
		},
		"h.0.rope: theta NaN: ": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 4, math.NaN()).Forward(x)
		},
		"h.0.rope: no positions: the site must give the positions of the 18 tokens": func(at Site, x graph.Expr) graph.Expr {
			at.Positions = graph.Expr{}
			return NewRoPE(at.At("rope"), 4, 100).Forward(x)
		},
		"h.0.rope: groups of 8 columns do not divide 12 features": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 8, 100).Forward(x)
		},
		"h.0.rope: groups of 6 columns for rotary positions of size 4": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 4, 100).Rotate(x, 2, 6)
		},
		"(18, 12) is not (18, 16 or more): 18 positions, 4 groups of 4 columns|h.0: columns 0:16 h.0.x (18, 12): no such columns": func(at Site, x graph.Expr) graph.Expr { // more groups than there are columns
			return NewRoPE(at.At("rope"), 4, 100).Rotate(x, 4, 4)
		},
		"ids up to 8 for 8 ": func(at Site, x graph.Expr) graph.Expr { // positions that the tables do not have
			at.Context--
			return NewRoPE(at.At("rope"), 4, 100).Forward(x)
		},
		"18 positions, 3 groups of 4 columns|108 entries cannot become 216": func(at Site, _ graph.Expr) graph.Expr { // 18 positions for 9 tokens
			at.Batch = 1
			return NewRoPE(at.At("rope"), 4, 100).Forward(at.Value("fewer", graph.Const(1), at.Context, at.Embd))
		},
	} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 3)
			g.Kernels = kernels
			at := positioned(newSite(g, ropeDims), ropeDims.Context, 0)
			_, err := graph.Compile(build(at, at.Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)))
			if err == nil || !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) {
				t.Errorf("kernels %t: got %v, want %s", kernels, err, want)
			}
		}
	}
}
