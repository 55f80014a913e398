package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// linearSize holds the sizes of linear attention without its features.
type linearSize struct{ batch, tokens, heads, qk, v int }

// linearOf adds the named features.
func linearOf[T kernel.Float](s linearSize, causal bool, features string) Linear[T] {
	l := Linear[T]{
		Batch: s.batch, Tokens: s.tokens, Heads: s.heads, QK: s.qk, V: s.v, Causal: causal, Phi: EluPlusOne[T]{},
	}
	if features == "taylor" {
		l.Phi = Taylor[T]{Eps: 1e-5}
	}
	return l
}

// quadratic computes linear attention and its gradient with all weights, key by key for every query.
func quadratic(l Linear[float64], qkv, mask, dy []float64) (y, dqkv []float64) {
	n, f, width := l.Tokens, l.Phi.Size(l.QK), l.Heads*(2*l.QK+l.V)
	y, dqkv = make([]float64, len(dy)), make([]float64, len(qkv))
	for task := range l.Batch * l.Heads {
		b, j := task/l.Heads, task%l.Heads
		columns := func(x []float64, from int) gemm.Matrix[float64] { return gemm.Mat(x, width).From(b*n, from) }
		fromQ, fromK, fromV := j*l.QK, (l.Heads+j)*l.QK, 2*l.Heads*l.QK+j*l.V
		phiQ, phiK := make([]float64, n*f), make([]float64, n*f)
		dphiQ, dphiK := make([]float64, n*f), make([]float64, n*f)
		l.Phi.of(phiQ, columns(qkv, fromQ), l.QK)
		l.Phi.of(phiK, columns(qkv, fromK), l.QK)
		attends := func(i, t int) bool {
			return (t <= i || !l.Causal) && (mask == nil || mask[(b*n+n-1)*n+t] == 0)
		}
		value := func(x []float64, t int) []float64 { return x[(b*n+t)*width+fromV:][:l.V] }
		for i := range n {
			at := ((b*n+i)*l.Heads + j) * l.V
			out, delta, total := y[at:][:l.V], dy[at:][:l.V], 0.
			for t := range n {
				if !attends(i, t) {
					continue
				}
				w := dot(phiQ[i*f:][:f], phiK[t*f:][:f])
				total += w
				for c, v := range value(qkv, t) {
					out[c] += w * v
				}
			}
			for c := range out {
				out[c] /= total
			}
			for t := range n {
				if !attends(i, t) {
					continue
				}
				w, dw := dot(phiQ[i*f:][:f], phiK[t*f:][:f])/total, 0.
				for c, v := range value(qkv, t) {
					value(dqkv, t)[c] += w * delta[c]
					dw += delta[c] * (v - out[c]) / total
				}
				for c := range f {
					dphiQ[i*f+c] += dw * phiK[t*f+c]
					dphiK[t*f+c] += dw * phiQ[i*f+c]
				}
			}
		}
		l.Phi.back(columns(dqkv, fromQ), dphiQ, phiQ, columns(qkv, fromQ), l.QK)
		l.Phi.back(columns(dqkv, fromK), dphiK, phiK, columns(qkv, fromK), l.QK)
	}
	return y, dqkv
}

// runLinear runs both passes on memory full of NaN.
func runLinear[T kernel.Float](p *kernel.Pool, l Linear[T], qkv, mask, dy []float64) (y, dqkv []T) {
	dirty := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(math.NaN())
		}
		return x
	}
	var m []T
	if mask != nil {
		m = kerneltest.Rounded[T](lastRows(mask, l.Tokens))
	}
	x := kerneltest.Rounded[T](qkv)
	y, dqkv = dirty(len(dy)), dirty(len(qkv))
	total := dirty(l.Batch * l.Heads * l.Tokens)
	l.Forward(p, y, total, x, m, nil, dirty(l.ScratchLen(p)))
	l.Backward(p, dqkv, x, m, y, kerneltest.Rounded[T](dy), total, dirty(l.ScratchLen(p)))
	return y, dqkv
}

// lastRows returns the last row of each matrix (n, n).
func lastRows(mask []float64, n int) (rows []float64) {
	for end := n * n; end <= len(mask); end += n * n {
		rows = append(rows, mask[end-n:end]...)
	}
	return rows
}

// linearData returns random projections, Δ, and a mask that hides the ends of all sequences but the first.
func linearData(s linearSize) (qkv, dy, mask []float64) {
	rng := rand.New(rand.NewPCG(uint64(s.tokens), 3))
	qkv = kerneltest.Random[float64](rng, s.batch*s.tokens*s.heads*(2*s.qk+s.v))
	dy = kerneltest.Random[float64](rng, s.batch*s.tokens*s.heads*s.v)
	mask = make([]float64, s.batch*s.tokens*s.tokens)
	for i := range mask {
		mask[i] = hideIf(i%s.tokens > s.tokens/(i/(s.tokens*s.tokens)+1))
	}
	return qkv, dy, mask
}

// TestI45ScanEqualsQuadraticInTheKernel: sums over chunks equal sums over all pairs of tokens, forwards and backwards.
func TestI45ScanEqualsQuadraticInTheKernel(t *testing.T) {
	p := kernel.NewPool(2)
	for _, n := range []int{1, 2, 63, 64, 65, 128, 200} {
		s := linearSize{2, n, 3, 5, 7}
		qkv, dy, mask := linearData(s)
		for i := range 4 {
			m := mask
			if i%2 == 0 {
				m = nil
			}
			for _, features := range []string{"elu", "taylor"} {
				t.Run(fmt.Sprintf("%d/causal=%t/padded=%t/%s", n, i < 2, m != nil, features), func(t *testing.T) {
					want, dwant := quadratic(linearOf[float64](s, i < 2, features), qkv, m, dy)
					y, d := runLinear(p, linearOf[float64](s, i < 2, features), qkv, m, dy)
					compareTo(t, "y", y, want, 1e-12)
					compareTo(t, "dqkv", d, dwant, 1e-12)
					y32, d32 := runLinear(p, linearOf[float32](s, i < 2, features), qkv, m, dy)
					compareTo(t, "y in float32", y32, want, 1e-4)
					compareTo(t, "dqkv in float32", d32, dwant, 1e-4)
				})
			}
		}
	}
}

// TestLinearAttentionBits: the result depends in no bit on the threads or the instruction set.
func TestLinearAttentionBits(t *testing.T) {
	s := linearSize{2, 130, 3, 16, 31}
	qkv, dy, mask := linearData(s)
	for _, causal := range []bool{true, false} {
		l := linearOf[float32](s, causal, "elu")
		y, d := runLinear(kernel.NewPool(1), l, qkv, mask, dy)
		for _, threads := range []int{2, 8} {
			if again, dagain := runLinear(kernel.NewPool(threads), l, qkv, mask, dy); !kerneltest.SameBits(again, y) ||
				!kerneltest.SameBits(dagain, d) {
				t.Errorf("causal %t: %d threads give other bits", causal, threads)
			}
		}
		if len(simd.Sets()) == 0 {
			continue
		}
		kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
			if again, dagain := runLinear(kernel.NewPool(1), l, qkv, mask, dy); !kerneltest.SameBits(again, y) ||
				!kerneltest.SameBits(dagain, d) {
				t.Errorf("causal %t: other bits", causal)
			}
		})
	}
}

// TestLinearAttentionGoesOn: two parts, the second beginning with the state after the first, give the same as one.
func TestLinearAttentionGoesOn(t *testing.T) {
	s := linearSize{2, 150, 2, 4, 6}
	p, width := kernel.NewPool(1), s.heads*(2*s.qk+s.v)
	qkv, dy, _ := linearData(s)
	full := linearOf[float64](s, true, "taylor")
	want, _ := quadratic(full, qkv, nil, dy)
	state := make([]float64, full.StateLen())
	from := 0
	for _, tokens := range []int{70, 1, 79} {
		part := full
		part.Tokens = tokens
		var x, rows []float64
		for b := range s.batch {
			x = append(x, qkv[(b*s.tokens+from)*width:][:tokens*width]...)
			rows = append(rows, want[(b*s.tokens+from)*s.heads*s.v:][:tokens*s.heads*s.v]...)
		}
		y := make([]float64, len(rows))
		part.Forward(p, y, make([]float64, s.batch*s.heads*tokens), x, nil, state, make([]float64, part.ScratchLen(p)))
		compareTo(t, fmt.Sprintf("tokens from %d", from), y, rows, 1e-12)
		from += tokens
	}
}

// TestLinearAttentionOfLargeNumbers: features of large queries and keys are finite, and so are their slopes.
func TestLinearAttentionOfLargeNumbers(t *testing.T) {
	x := []float32{-200, -100, -1, 0, 1, 100, 1e4}
	phi, dx, ones := make([]float32, len(x)), make([]float32, len(x)), []float32{1, 1, 1, 1, 1, 1, 1}
	EluPlusOne[float32]{}.of(phi, gemm.Mat(x, len(x)), len(x))
	EluPlusOne[float32]{}.back(gemm.Mat(dx, len(x)), ones, phi, gemm.Mat(x, len(x)), len(x))
	for i, v := range x {
		want, slope := math.Exp(float64(v)), math.Exp(float64(v))
		if v > 0 {
			want, slope = float64(v)+1, 1
		}
		if !(math.Abs(float64(phi[i])-want) <= 1e-6*want+1e-38) ||
			!(math.Abs(float64(dx[i])-slope) <= 1e-6*slope+1e-38) {
			t.Errorf("x = %v: got φ = %v and φ' = %v, want %v and %v", v, phi[i], dx[i], want, slope)
		}
	}
}

// BenchmarkLinearAttention measures 4096 tokens in sequences of several lengths, in nanoseconds per token.
func BenchmarkLinearAttention(b *testing.B) {
	for _, n := range []int{512, 1024, 2048, 4096} {
		s := linearSize{4096 / n, n, 4, 32, 32}
		p, l, rng := kernel.NewPool(1), linearOf[float32](s, true, "elu"), rand.New(rand.NewPCG(1, 2))
		qkv, dqkv := kerneltest.Random[float32](rng, 4096*s.heads*96), make([]float32, 4096*s.heads*96)
		y, dy := make([]float32, 4096*s.heads*32), kerneltest.Random[float32](rng, 4096*s.heads*32)
		total := make([]float32, 4096*s.heads)
		scratch := make([]float32, l.ScratchLen(p))
		for name, pass := range map[string]func(){
			"forward":  func() { l.Forward(p, y, total, qkv, nil, nil, scratch) },
			"backward": func() { l.Backward(p, dqkv, qkv, nil, y, dy, total, scratch) },
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					pass()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/4096, "ns/token")
			})
		}
	}
}

// TestLinearTasks: there are enough parts for twice the number of threads if possible, and each consists of full heads.
func TestLinearTasks(t *testing.T) {
	for _, c := range []struct{ threads, batch, heads, n, each int }{
		{1, 1, 7, 1, 7}, {2, 1, 7, 4, 2}, {2, 1, 2, 2, 1}, {2, 2, 3, 2, 2}, {2, 3, 7, 2, 4}, {2, 4, 7, 1, 7},
		{2, 5, 7, 1, 7}, {3, 1, 8, 4, 2},
	} {
		n, each := Linear[float64]{Batch: c.batch, Heads: c.heads}.tasks(kernel.NewPool(c.threads))
		if n != c.n || each != c.each {
			t.Errorf(
				"%d threads, %d sequences of %d heads: got %d parts of %d, want %d of %d", c.threads, c.batch, c.heads,
				n, each, c.n, c.each,
			)
		}
	}
}

// TestLinearHeadsAreShared: threads that take several heads each give the result and the sums of a single thread.
func TestLinearHeadsAreShared(t *testing.T) {
	s := linearSize{1, 3, 7, 2, 3}
	qkv, _, _ := linearData(s)
	l := linearOf[float64](s, true, "elu")
	run := func(threads int) []float64 {
		p := kernel.NewPool(threads)
		y, total := make([]float64, s.tokens*s.heads*s.v), make([]float64, s.heads*s.tokens)
		state := make([]float64, l.StateLen())
		for range 2 {
			l.forwardPerHead(p, y, total, qkv, nil, state, make([]float64, l.ScratchLen(p)))
		}
		return append(append(y, total...), state...)
	}
	if want, got := run(1), run(2); !kerneltest.SameBits(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// StateLen returns the number of floats in the sums of all heads, φ(k)ᵀ[v, 1] each.
func (l Linear[T]) StateLen() int {
	return l.Batch * l.Heads * l.Phi.Size(l.QK) * (l.V + 1)
}
