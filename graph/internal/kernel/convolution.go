package kernel

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// Convolution describes causal convolutions of the features of tokens, each by itself. Sequences of Length tokens are
// contiguous, and a token is combined with the Taps − 1 tokens before it.
type Convolution struct{ Length, Taps int }

// Convolve computes y_t = Σ_i w_i∘x_{t−i} in every sequence: x and y (n, d), w (Taps, d). past (sequences, Taps−1, d)
// holds the tokens before each sequence in their order; without it they are 0.
func Convolve[T Float](p *Pool, c Convolution, y, x, w, past []T) {
	d := len(w) / c.Taps
	Spread(p, len(x)/d, rowGrain(c.Taps*d), convolution[T]{c, y, x, w, past})
}

type convolution[T Float] struct {
	Convolution
	y, x, w, past []T
}

func (c *convolution[T]) Do(from, to int) {
	d, before := len(c.w)/c.Taps, c.Taps-1
	for row := from; row < to; row++ {
		y, t := c.y[row*d:][:d], row%c.Length
		Mul(y, c.x[row*d:][:d], c.w[:d])
		for i := 1; i < c.Taps; i++ {
			switch w := c.w[i*d:][:d]; {
			case i <= t:
				MulAdd(y, w, c.x[(row-i)*d:][:d])
			case c.past != nil:
				MulAdd(y, w, c.past[(row/c.Length*before+before+t-i)*d:][:d])
			}
		}
	}
}

// ConvolveBackward computes dx_t = Σ_i w_i∘dy_{t+i} and dw_i = Σ_t dy_t∘x_{t−i}. dw is optional. scratch holds Parts
// times as many numbers as w.
func ConvolveBackward[T Float](p *Pool, c Convolution, dx, dw, x, w, dy, scratch []T) {
	d := len(w) / c.Taps
	Spread(p, len(x)/d, rowGrain(c.Taps*d), convolutionBackward[T]{c, dx, w, dy})
	if dw != nil {
		Spread(p, Parts, 1, convolutionSums[T]{c, x, dy, scratch, len(w)})
		fold(p, dw, scratch)
	}
}

type convolutionBackward[T Float] struct {
	Convolution
	dx, w, dy []T
}

func (c *convolutionBackward[T]) Do(from, to int) {
	d := len(c.w) / c.Taps
	for row := from; row < to; row++ {
		dx := c.dx[row*d:][:d]
		Mul(dx, c.dy[row*d:][:d], c.w[:d])
		for i := 1; i < c.Taps && row%c.Length+i < c.Length; i++ {
			MulAdd(dx, c.w[i*d:][:d], c.dy[(row+i)*d:][:d])
		}
	}
}

type convolutionSums[T Float] struct {
	Convolution
	x, dy, parts []T
	size         int // of w
}

func (c *convolutionSums[T]) Do(part, _ int) {
	d := c.size / c.Taps
	n, sum := len(c.x)/d, c.parts[part*c.size:][:c.size]
	clear(sum)
	for row := part * n / Parts; row < (part+1)*n/Parts; row++ {
		for i := 0; i < c.Taps && i <= row%c.Length; i++ {
			MulAdd(sum[i*d:][:d], c.dy[row*d:][:d], c.x[(row-i)*d:][:d])
		}
	}
}

// Remember replaces past (sequences, size) by the last numbers of past and x in each sequence.
func Remember[T Float](past, x []T, sequences int) {
	size, n := len(past)/sequences, len(x)/sequences
	for s := range sequences {
		past, x := past[s*size:][:size], x[s*n:][:n]
		kept := max(0, size-n)
		copy(past, past[size-kept:])
		copy(past[kept:], x[max(0, n-size):])
	}
}

// MulAdd computes z = z + x∘y.
func MulAdd[T Float](z, x, y []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.MulAdd(simd.Float32s(z), simd.Float32s(x), simd.Float32s(y))
		return
	}
	for i, v := range x {
		z[i] += T(v * y[i])
	}
}
