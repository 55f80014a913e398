package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// scanTokens is the number of tokens in a chunk of linear attention: within a chunk it multiplies queries and keys, and
// between chunks it passes on sums.
const scanTokens = 64

// Linear is the attention of every head of packed projections qkv (Batch·Tokens, Heads·(2·QK + V)) with weights
// φ(q)·φ(k), divided by their sum. If it is Causal, a query attends to the keys up to its own, otherwise to all.
type Linear[T kernel.Float] struct {
	Batch, Tokens, Heads, QK, V int // Tokens is the length of a sequence
	Phi                         FeatureMap[T]
	Causal                      bool
}

// ScratchLen returns the number of floats of scratch that Forward and Backward need, with a share for each thread.
func (l Linear[T]) ScratchLen(pool *kernel.Pool) int {
	f, w, c := l.Phi.Size(l.QK), l.V+1, min(l.Tokens, scanTokens)
	return pool.Threads() * ((2*l.Heads*f*w + 3*c*(f+w) + c*c + 15) &^ 15)
}

// Forward computes y (Batch·Tokens, Heads·V), and stores the sum of every query's weights in total (Batch, Heads,
// Tokens). The argument mask is optional: it is the mask's row of the last query (Tokens), or one for each sequence. A
// key that it hides has weight 0. The state is optional: it holds the sums over the tokens before, and Forward adds
// these tokens to it.
func (l Linear[T]) Forward(pool *kernel.Pool, y, total, qkv, mask, state, scratch []T) {
	if l.serial(pool) {
		for b := range l.Batch {
			l.scan(b, 0, l.Heads, qkv, mask, state, scratch).forward(y, total)
		}
		return
	}
	l.forwardPerHead(pool, y, total, qkv, mask, state, scratch)
}

// serial reports whether sharing the forward pass among threads costs more than it saves.
func (l Linear[T]) serial(pool *kernel.Pool) bool {
	return kernel.Worth[T](pool, (4*l.Tokens+2*kernel.FetchRows)*l.Batch*l.Heads*l.Phi.Size(l.QK)*(l.V+1)) == 1
}

func (l Linear[T]) forwardPerHead(pool *kernel.Pool, y, total, qkv, mask, state, scratch []T) {
	tasks, heads := l.tasks(pool)
	perHead(pool, l.Batch*tasks, scratch, func(i int, scratch []T) {
		l.scan(i/tasks, i%tasks*heads, heads, qkv, mask, state, scratch).forward(y, total)
	})
}

// Backward computes dqkv from dy and the results of Forward.
func (l Linear[T]) Backward(pool *kernel.Pool, dqkv, qkv, mask, y, dy, total, scratch []T) {
	tasks, heads := l.tasks(pool)
	perHead(pool, l.Batch*tasks, scratch, func(i int, scratch []T) {
		l.scan(i/tasks, i%tasks*heads, heads, qkv, mask, nil, scratch).backward(dqkv, y, dy, total)
	})
}

// tasks returns the number of parts into which the heads of a sequence are split, and the number of heads in a part. It
// is the smallest number of parts that keeps the threads busy.
func (l Linear[T]) tasks(pool *kernel.Pool) (n, heads int) {
	n = 1
	if pool.Threads() > 1 {
		n = min(l.Heads, (2*pool.Threads()+l.Batch-1)/l.Batch)
	}
	heads = (l.Heads + n - 1) / n
	return (l.Heads + heads - 1) / heads, heads
}

// forward computes φ(q)·prefix + (φ(q)φ(k)ᵀ below the diagonal)·[v, 1] chunk by chunk.
func (s scan[T]) forward(y, total []T) {
	for from := 0; from < s.Tokens && !s.Causal; from += scanTokens {
		for j := s.first; j < s.last; j++ {
			s.addKeys(s.load(j, from))
		}
	}
	for from := 0; from < s.Tokens; from += scanTokens {
		for j := s.first; j < s.last; j++ {
			c := s.load(j, from)
			gemm.MulSerial(c, s.w, s.f, 1, s.phiQ, s.prefix, 0, s.out)
			if s.Causal {
				gemm.MulSerial(c, s.w, c, 1, s.weights(c, s.phiQ, s.phiK, s.f), s.values, 1, s.out)
				s.addKeys(c)
			}
			s.divide(y, total, from, c)
		}
	}
}

// divide writes c rows of the result and the sums of their weights.
func (s *scan[T]) divide(y, total []T, from, c int) {
	total = total[(s.b*s.Heads+s.j)*s.Tokens+from:]
	for i := range c {
		row := s.out.Data[i*s.w:][:s.w]
		sum := row[s.V]
		total[i] = sum
		out := y[((s.b*s.Tokens+from+i)*s.Heads+s.j)*s.V:][:s.V]
		for j, v := range row[:s.V] {
			out[j] = v / sum
		}
	}
}

// addKeys adds c keys and values to the prefix state.
func (s *scan[T]) addKeys(c int) { gemm.MulSerial(s.f, s.w, c, 1, s.phiK.T(), s.values, 1, s.prefix) }

// weights returns x·yᵀ of the first c rows, 0 above the diagonal.
func (s *scan[T]) weights(c int, x, y gemm.Matrix[T], k int) gemm.Matrix[T] {
	a := gemm.Mat(s.a.Data[:c*c], c)
	gemm.MulSerial(c, c, k, 1, x, y.T(), 0, a)
	for i := range c {
		clear(a.Data[i*c+i+1 : (i+1)*c])
	}
	return a
}
