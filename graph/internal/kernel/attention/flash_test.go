package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// masking is a mask for any context: the number added to the score of query i and key j, of n, in a head of sequence b.
type masking struct {
	name        string
	perSequence bool
	perHead     bool
	at          func(n, b, head, i, j int) float64
}

func hideIf(hidden bool) float64 {
	if hidden {
		return math.Inf(-1)
	}
	return 0
}

var (
	causal   = masking{"causal", false, false, func(n, b, head, i, j int) float64 { return hideIf(j > i) }}
	maskings = []masking{
		causal,
		{"none", false, false, func(n, b, head, i, j int) float64 { return 0 }},
		{"window", false, false, func(n, b, head, i, j int) float64 { return hideIf(j > i || j <= i-7) }},
		{"ahead", false, false, func(n, b, head, i, j int) float64 { return hideIf(j < i) }},
		{"padding", true, false, func(n, b, head, i, j int) float64 { return hideIf(j > max(0, n-1-40*b)) }},
		{"causal padding", true, false, func(n, b, head, i, j int) float64 { return hideIf(j > i || j > n/(b+1)) }},
		{"bias", false, false, func(n, b, head, i, j int) float64 { return -0.1 * math.Abs(float64(i-j)) }},
		{"holes", false, false, func(n, b, head, i, j int) float64 { return hideIf((i*31+j*17)%5 < 2 || j/32%3 == 1) }},
		{"blind queries", false, false, func(n, b, head, i, j int) float64 { return hideIf(i%70 < 40 || j > i) }},
		{"a window per head", false, true, func(n, b, head, i, j int) float64 {
			return hideIf(j > i ||
				j <= i-1-40*head)
		}},
		{"a bias per head and sequence", true, true, func(n, b, head, i, j int) float64 {
			return hideIf(j > i+9 || j > n/(b+1)) - 0.1*float64(head)*math.Abs(float64(i-j))
		}},
	}
)

func (m masking) mask(h Shape) Mask[float64] {
	mask := Mask[float64]{Batch: 1, Heads: 1}
	if m.perSequence {
		mask.Batch = h.Batch
	}
	if m.perHead {
		mask.Heads = h.Heads
	}
	n, k := h.Queries, h.Keys
	mask.Data = make([]float64, mask.Batch*mask.Heads*n*k)
	for i := range mask.Data {
		which := i / (n * k)
		mask.Data[i] = m.at(k, which/mask.Heads, which%mask.Heads, i/k%n, i%k)
	}
	return mask
}

// self returns the shape of n tokens that attend to one another.
func self(batch, n, heads, qk, v int) Shape { return shape(batch, n, n, heads, qk, v, heads) }

func shape(batch, queries, keys, heads, qk, v, groups int) Shape {
	return Shape{Batch: batch, Queries: queries, Keys: keys, Heads: heads, QK: qk, V: v, Groups: groups}
}

// sigmoids returns h with sigmoids of the scores.
func (h Shape) sigmoids() Shape { h.Weights = Sigmoids; return h }

// capped returns h with capped scores.
func (h Shape) capped() Shape { h.Cap = 0.7; return h }

// cap returns a score after the cap of h, if any.
func (h Shape) cap(score float64) float64 {
	if h.Cap == 0 {
		return score
	}
	return h.Cap * math.Tanh(score/h.Cap)
}

// in returns h with heads that share keys and values.
func (h Shape) in(groups int) Shape { h.Groups = groups; return h }

// numbers returns the number of queries, keys and values.
func (h Shape) numbers() int {
	return h.Batch * (h.Heads*h.Queries*h.QK + h.Groups*h.Keys*(h.QK+h.V))
}

// partsOf returns them from x: packed if the tokens attend to one another, else the queries before the keys and values.
func partsOf[T kernel.Float](h Shape, x []T) Projections[T] {
	if n := h.Batch * h.Queries * h.Heads * h.QK; h.Queries != h.Keys {
		return Crossed(h, x[:n], x[n:])
	}
	return Packed(h, x)
}

// denseAttention computes attention and its gradient directly from the equations, in float64. Without dy there is no
// gradient.
func denseAttention(h Shape, x []float64, mask Mask[float64], dy []float64, drop kernel.DropMask) (y, dx []float64) {
	rows, n, scale := h.Queries, h.Keys, 1/math.Sqrt(float64(h.QK))
	y, dx = make([]float64, h.Batch*rows*h.Heads*h.V), make([]float64, len(x))
	p, dp, slope := make([]float64, n), make([]float64, n), make([]float64, n)
	row := func(m gemm.Matrix[float64], i, cols int) []float64 { return m.Data[i*m.Stride:][:cols] }
	for task := range h.Batch * h.Heads {
		b, j := task/h.Heads, task%h.Heads
		in, d := partsOf(h, x).head(h, b, j), partsOf(h, dx).head(h, b, j)
		q, k, v, dq, dk, dv := in.Q, in.K, in.V, d.Q, d.K, d.V
		for i := range rows {
			var seen []int // keys
			added := mask.Data[(mask.index(b, j)*rows+i)*n:][:n]
			for t, a := range added {
				if !math.IsInf(a, -1) {
					seen = append(seen, t)
				}
			}
			out := row(gemm.Mat(y, h.Heads*h.V).From(b*rows, j*h.V), i, h.V)
			top, sum := math.Inf(-1), 0.
			for _, t := range seen {
				p[t], slope[t] = scale*dot(row(q, i, h.QK), row(k, t, h.QK)), 1
				if h.Cap != 0 {
					tanh := math.Tanh(p[t] / h.Cap)
					p[t], slope[t] = h.Cap*tanh, 1-tanh*tanh
				}
				p[t] += added[t]
				top = max(top, p[t])
			}
			for _, t := range seen {
				p[t] = math.Exp(p[t] - top)
				sum += p[t]
			}
			for _, t := range seen {
				if p[t] /= sum; h.Weights == Sigmoids {
					e := p[t] * sum // e^(score − top)
					p[t] = e / (e + float64(len(seen))*math.Exp(-top))
				}
				factor := drop.Factor((task*rows+i)*n + t)
				for c, w := range row(v, t, h.V) {
					out[c] += p[t] * factor * w
				}
			}
			if dy == nil {
				continue
			}
			grad, project := row(gemm.Mat(dy, h.Heads*h.V).From(b*rows, j*h.V), i, h.V), 0.
			for _, t := range seen {
				factor, dvalue := drop.Factor((task*rows+i)*n+t), row(dv, t, h.V)
				dp[t] = factor * dot(grad, row(v, t, h.V))
				project += p[t] * dp[t]
				for c, g := range grad {
					dvalue[c] += p[t] * factor * g
				}
			}
			for _, t := range seen {
				ds := p[t] * (dp[t] - project) * slope[t] * scale
				if h.Weights == Sigmoids {
					ds = p[t] * (1 - p[t]) * dp[t] * slope[t] * scale
				}
				query, key, dquery, dkey := row(q, i, h.QK), row(k, t, h.QK), row(dq, i, h.QK), row(dk, t, h.QK)
				for c := range query {
					dquery[c] += ds * key[c]
					dkey[c] += ds * query[c]
				}
			}
		}
	}
	return y, dx
}

// runAttention runs both passes on memory full of NaN.
func runAttention[T kernel.Float](
	p *kernel.Pool, h Shape, x []float64, mask Mask[float64], dy []float64, drop kernel.DropMask,
) (y, dx []T) {
	dirty := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(math.NaN())
		}
		return x
	}
	y, dx = dirty(len(dy)), dirty(len(x))
	lse := dirty(2 * h.Batch * h.Heads * h.Queries)
	in := partsOf(h, kerneltest.Rounded[T](x))
	m := Mask[T]{kerneltest.Rounded[T](mask.Data), mask.Batch, mask.Heads, nil}
	var spans Spans
	f := &Flash[T]{h, gemm.Exact[T]{}, &spans, in, m, lse, dirty(FlashScratch(p, h)), drop, nil, nil, nil}
	f.Forward(p, y)
	f.Scratch = dirty(FlashScratch(p, h))
	f.Backward(p, partsOf(h, dx), y, kerneltest.Rounded[T](dy))
	return y, dx
}

// compareTo checks the largest distance, relative to the largest number.
func compareTo[T kernel.Float](t *testing.T, name string, got []T, want []float64, tolerance float64) {
	t.Helper()
	var top float64
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(float64(got[i]) - v); !(d <= tolerance*top) {
			t.Fatalf("%s[%d]: got %v, want %v, largest %v", name, i, got[i], v, top)
		}
	}
}

func TestAttentionEqualsDense(t *testing.T) {
	sizes := []int{1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 95, 127, 128, 129, 130, 263}
	switch {
	case testing.Short():
		sizes = []int{1, 33, 65, 130}
	case os.Getenv("NIGHTLY") == "":
		sizes = []int{1, 3, 33, 66, 129, 263}
	}
	for _, n := range sizes {
		for c, m := range maskings {
			h := []Shape{self(2, n, 3, 5, 7), self(3, n, 1, 8, 3), self(1, n, 2, 33, 16)}[c%3]
			for _, drop := range []kernel.DropMask{{}, {P: 0.3, Key: 5, Step: 2}} {
				if drop.P > 0 && c > 4 {
					continue
				}
				t.Run(fmt.Sprintf("%d/%s/%g", n, m.name, drop.P), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(n), uint64(c)))
					x := kerneltest.Random[float64](rng, h.numbers())
					dy := kerneltest.Random[float64](rng, h.Batch*n*h.Heads*h.V)
					checkAttention(t, h, x, m.mask(h), dy, drop, 1e-12, 2e-5)
				})
			}
		}
	}
}

// TestCappedAttentionEqualsDense with scores far below and far above the cap.
func TestCappedAttentionEqualsDense(t *testing.T) {
	for _, n := range [][2]int{{1, 2}, {33, 70}, {129, 130}} {
		for c, m := range maskings {
			if os.Getenv("NIGHTLY") == "" && n[0] > 100 && c%3 > 0 {
				continue
			}
			h := []Shape{shape(2, n[0], n[1], 4, 5, 7, 2), shape(1, n[0], n[1], 2, 33, 16, 2)}[c%2]
			h.Cap = []float64{0.3, 2, 50}[c%3]
			rng := rand.New(rand.NewPCG(uint64(n[0]), uint64(c)))
			x := kerneltest.Random[float64](rng, h.numbers())
			dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
			checkAttention(t, h, x, m.mask(h), dy, kernel.DropMask{P: 0.3 * float64(c%2), Key: 5, Step: 2}, 1e-12, 2e-5)
		}
	}
}

// TestSigmoidAttentionEqualsDense with shared keys, dropout and a cap.
func TestSigmoidAttentionEqualsDense(t *testing.T) {
	sizes := [][2]int{{1, 2}, {33, 70}, {129, 130}, {263, 263}}
	if os.Getenv("NIGHTLY") == "" {
		sizes = sizes[:3]
	}
	for _, n := range sizes {
		for c, m := range maskings {
			h := []Shape{
				shape(2, n[0], n[1], 4, 5, 7, 2), shape(1, n[0], n[1], 2, 33, 16, 2),
				shape(1, n[0], n[1], 2, 3, 16, 1).capped(),
			}[c%3]
			rng := rand.New(rand.NewPCG(uint64(n[0]), uint64(c)))
			x := kerneltest.Random[float64](rng, h.numbers())
			dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
			checkAttention(
				t, h.sigmoids(), x, m.mask(h), dy, kernel.DropMask{P: 0.3 * float64(c%2), Key: 5, Step: 2}, 1e-12, 2e-5,
			)
		}
	}
}

// TestCrossAttentionEqualsDense: queries and keys belong to different tokens.
func TestCrossAttentionEqualsDense(t *testing.T) {
	sizes := [][2]int{{1, 2}, {2, 1}, {1, 70}, {70, 1}, {5, 33}, {66, 31}, {129, 300}, {300, 129}}
	if os.Getenv("NIGHTLY") == "" {
		sizes = sizes[:7]
	}
	for _, n := range sizes {
		for c, m := range maskings {
			h := []Shape{
				shape(2, n[0], n[1], 3, 5, 7, 3), shape(3, n[0], n[1], 1, 8, 3, 1), shape(1, n[0], n[1], 2, 33, 16, 2),
			}[c%3]
			t.Run(fmt.Sprintf("%v/%s", n, m.name), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(n[0]), uint64(c)))
				x := kerneltest.Random[float64](rng, h.numbers())
				dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
				checkAttention(
					t, h, x, m.mask(h), dy, kernel.DropMask{P: 0.3 * float64(c%2), Key: 5, Step: 2}, 1e-12, 2e-5,
				)
			})
		}
	}
}

func checkAttention(
	t *testing.T, h Shape, qkv []float64, mask Mask[float64], dy []float64, drop kernel.DropMask, wide, narrow float64,
) {
	t.Helper()
	wantY, wantD := denseAttention(h, qkv, mask, dy, drop)
	y64, d64 := runAttention[float64](kernel.NewPool(1), h, qkv, mask, dy, drop)
	compareTo(t, "y in float64", y64, wantY, wide)
	compareTo(t, "dqkv in float64", d64, wantD, wide)
	y32, d32 := runAttention[float32](kernel.NewPool(2), h, qkv, mask, dy, drop)
	compareTo(t, "y in float32", y32, wantY, narrow)
	compareTo(t, "dqkv in float32", d32, wantD, narrow)
}

// TestAttentionOfLargeScores uses increasing scores, for which the factor of the printed recurrence is upside down
// (errata X1), by more than the last in every tile; decreasing ones; and scores whose e^score overflows.
func TestAttentionOfLargeScores(t *testing.T) {
	h := self(1, 517, 1, 1, 2)
	for name, score := range map[string]func(j int) float64{
		"increasing":        func(j int) float64 { return float64(j) / 64 },
		"steeply":           func(j int) float64 { return float64(8 * j) },
		"decreasing":        func(j int) float64 { return -float64(j) / 64 },
		"10⁴ up and down":   func(j int) float64 { return 1e4 * math.Sin(float64(j)) },
		"all at −10⁴":       func(j int) float64 { return -1e4 + math.Sin(float64(j)) },
		"one of 10⁴ at end": func(j int) float64 { return 1e4 * float64(j/516) },
	} {
		tried := []masking{causal, maskings[1], maskings[8]}
		if os.Getenv("NIGHTLY") == "" {
			tried = tried[:1]
		}
		for _, m := range tried {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, 4))
				qkv, dy := kerneltest.Random[float64](rng, h.numbers()), kerneltest.Random[float64](rng, h.Queries*h.V)
				width := h.Width()
				for j := range h.Queries { // so that the products are exact and the gradients not much larger than 1
					qkv[j*width] = 128
					qkv[j*width+1] = float64(float32(score(j))) / 128
				}
				checkAttention(t, h, qkv, m.mask(h), dy, kernel.DropMask{}, 1e-12, 1e-4)
				if m.name == "causal" {
					checkAttention(t, h.capped(), qkv, m.mask(h), dy, kernel.DropMask{}, 1e-12, 1e-4)
				}
			})
		}
	}
}

// TestAttentionBits: the result depends in no bit on the threads or the instruction set. By day each
// shape has every second mask.
func TestAttentionBits(t *testing.T) {
	for i, h := range []Shape{
		self(2, 130, 3, 5, 7), self(1, 291, 2, 16, 32), self(1, 130, 6, 5, 7).in(2), self(1, 261, 2, 5, 7).sigmoids(),
	} {
		for j, m := range maskings[:5] {
			if os.Getenv("NIGHTLY") == "" && (i+j)%2 > 0 {
				continue
			}
			rng := rand.New(rand.NewPCG(7, 8))
			qkv := kerneltest.Random[float64](rng, h.numbers())
			dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
			mask, drop := m.mask(h), kernel.DropMask{P: 0.1, Key: 1}
			y, d := runAttention[float32](kernel.NewPool(1), h, qkv, mask, dy, drop)
			wide, dwide := runAttention[float64](kernel.NewPool(1), h, qkv, mask, dy, drop)
			for _, threads := range []int{2, 8} {
				again, dagain := runAttention[float32](kernel.NewPool(threads), h, qkv, mask, dy, drop)
				if !kerneltest.SameBits(again, y) || !kerneltest.SameBits(dagain, d) {
					t.Errorf("%+v, %s: %d threads give other bits", h, m.name, threads)
				}
				again64, dagain64 := runAttention[float64](kernel.NewPool(threads), h, qkv, mask, dy, drop)
				if !kerneltest.SameBits(again64, wide) || !kerneltest.SameBits(dagain64, dwide) {
					t.Errorf("%+v, %s, float64: %d threads give other bits", h, m.name, threads)
				}
			}
			if len(simd.Sets()) == 0 {
				continue
			}
			kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
				again, dagain := runAttention[float32](kernel.NewPool(1), h, qkv, mask, dy, drop)
				if !kerneltest.SameBits(again, y) || !kerneltest.SameBits(dagain, d) {
					t.Errorf("%+v, %s: other bits", h, m.name)
				}
			})
		}
	}
}

// TestAttentionSkipsHiddenTiles: tiles that the mask hides completely are never read.
func TestAttentionSkipsHiddenTiles(t *testing.T) {
	h := self(1, 512, 1, 4, 4)
	rng := rand.New(rand.NewPCG(9, 9))
	qkv, dy := kerneltest.Random[float64](rng, h.numbers()), kerneltest.Random[float64](rng, h.Queries*h.V)
	width := h.Width()
	for i := range 256 * width { // keys and values of the first half, which no query attends to
		if i%width >= h.QK {
			qkv[i] = math.NaN()
		}
	}
	m := masking{at: func(n, b, head, i, j int) float64 { return hideIf(j < 256) }}
	y, d := runAttention[float64](kernel.NewPool(1), h, qkv, m.mask(h), dy, kernel.DropMask{})
	for i, v := range append(y, d...) {
		if math.IsNaN(v) {
			t.Fatalf("entry %d is NaN", i)
		}
	}
}

// TestAttentionFollowsTheMask: the mask may change between two runs.
func TestAttentionFollowsTheMask(t *testing.T) {
	h := self(2, 70, 1, 3, 4)
	rng := rand.New(rand.NewPCG(9, 9))
	p := kernel.NewPool(1)
	qkv, dy := kerneltest.Random[float64](rng, h.numbers()), kerneltest.Random[float64](rng, h.Batch*h.Queries*h.V)
	var spans Spans
	y, lse := make([]float64, len(dy)), make([]float64, 2*h.Batch*h.Queries)
	scratch := make([]float64, FlashScratch(p, h))
	for _, m := range maskings {
		mask := m.mask(h)
		want, _ := denseAttention(h, qkv, mask, nil, kernel.DropMask{})
		f := &Flash[float64]{
			h, gemm.Exact[float64]{}, &spans, Packed(h, qkv), mask, lse, scratch, kernel.DropMask{}, nil, nil, nil,
		}
		f.Forward(p, y)
		compareTo(t, m.name, y, want, 1e-12)
	}
}

// TestAttentionMemoryIsLinear: the memory besides operands and results is linear, at a constant number of tokens.
func TestAttentionMemoryIsLinear(t *testing.T) {
	p := kernel.NewPool(2)
	need := func(n int) int {
		h := self(4096/n, n, 4, 32, 32)
		return FlashScratch(p, h) + 2*h.Batch*h.Heads*n
	}
	if short, long := need(256), need(4096); !(float64(long) <= 1.25*float64(short)) {
		t.Errorf("%d numbers for a context of 256, %d for 4096", short, long)
	}
}

// BenchmarkAttention measures a causal step at 2048 tokens and more, in nanoseconds per token.
func BenchmarkAttention(b *testing.B) {
	for _, h := range []Shape{
		self(12, 64, 4, 32, 32), self(32, 64, 4, 32, 32), self(8, 256, 4, 32, 32), self(2, 1024, 4, 32, 32),
		self(1, 2048, 4, 32, 32), self(1, 2048, 6, 64, 64), self(8, 256, 6, 64, 64), self(1, 256, 12, 64, 64),
	} {
		for _, threads := range []int{1, 2} {
			p, rng, tokens := kernel.NewPool(threads), rand.New(rand.NewPCG(1, 2)), h.Batch*h.Queries
			qkv, dqkv := kerneltest.Random[float32](rng, h.numbers()), make([]float32, h.numbers())
			y, dy := make([]float32, tokens*h.Heads*h.V), kerneltest.Random[float32](rng, tokens*h.Heads*h.V)
			mask, lse, scratch := Mask[float32]{
				kerneltest.Rounded[float32](causal.mask(h).Data), 1, 1, nil,
			}, make([]float32, 2*tokens*h.Heads), make([]float32, FlashScratch(p, h))
			f := &Flash[float32]{
				h, gemm.Exact[float32]{}, &Spans{}, Packed(h, qkv), mask, lse, scratch, kernel.DropMask{}, nil, nil,
				nil,
			}
			for _, pass := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { f.Forward(p, y) }},
				{"backward", func() { f.Backward(p, Packed(h, dqkv), y, dy) }},
			} {
				b.Run(fmt.Sprintf("%dx%dx%dx%d/threads=%d/%s", h.Batch, h.Queries, h.Heads, h.V, threads, pass.name),
					func(b *testing.B) {
						f.Forward(p, y)
						b.ReportAllocs()
						for b.Loop() {
							pass.run()
						}
						b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(tokens), "ns/token")
					})
			}
		}
	}
}
