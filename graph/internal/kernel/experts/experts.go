package experts

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Layer has the sizes of a mixture of experts: y_i = Σ_e g_ie·(silu(x_i·w_g,e)∘(x_i·w_u,e))·w_d,e over the experts e
// whose gates g_ie are not 0.
type Layer struct {
	Tokens, Embd, Inner int // n, d and f
	Experts, Active     int // E, and the largest number k of gates of a token that are not 0
}

// Places returns the largest number of pairs of a token and an expert.
func (l Layer) Places() int { return l.Tokens * l.Active }

// RowsLen and HiddenLen return the numbers of entries of buffers of rows (n·k, d) and (n·k, f).
func (l Layer) RowsLen() int   { return l.Places() * l.Embd }
func (l Layer) HiddenLen() int { return l.Places() * l.Inner }

// Weights holds w_g (d, f), w_u (d, f) and w_d (f, d) of every expert.
type Weights[T kernel.Float] struct{ Gate, Up, Down []Matrix[T] }

// Matrix is a matrix of numbers, or one that is stored in fewer bits.
type Matrix[T kernel.Float] struct {
	Data   []T
	Packed Packed // nil for numbers; only for float32
}

// Packed is a matrix w that is stored in fewer bits.
type Packed interface {
	MulAdd(p *kernel.Pool, m int, x, bias, y []float32) // y = x·w + bias, which may be nil
}

// Kept holds what the backward pass needs. The rows belong to pairs of a token and an expert, sorted by the expert.
type Kept[T kernel.Float] struct {
	X                []T // the tokens                          (n·k, d)
	Gate, Up, Hidden []T // x·w_g, x·w_u, silu(x·w_g)∘(x·w_u)   (n·k, f)
}

// Routes sorts the pairs of a token and an expert by the expert, and those of an expert by the token.
type Routes[T kernel.Float] struct {
	first []int // of the pairs of every expert, and the number of all pairs
	token []int // of every pair
	gate  []T   // of every pair
	of    []int // the pairs of every token, in the order of the experts; −1 after the last
	next  []int
}

// NewRoutes returns the memory for the pairs of l.
func NewRoutes[T kernel.Float](l Layer) *Routes[T] {
	return &Routes[T]{
		first: make([]int, l.Experts+1), next: make([]int, l.Experts),
		token: make([]int, l.Places()), gate: make([]T, l.Places()), of: make([]int, l.Places()),
	}
}

// set finds the pairs of the gates (n, E). It panics if a token has more than k of them.
func (r *Routes[T]) set(l Layer, gates []T) {
	clear(r.first)
	for i, g := range gates {
		if g != 0 {
			r.first[i%l.Experts+1]++
		}
	}
	for e := range l.Experts {
		r.first[e+1] += r.first[e]
	}
	copy(r.next, r.first)
	for i := range l.Tokens {
		own := r.of[i*l.Active : (i+1)*l.Active]
		n := 0
		for e, g := range gates[i*l.Experts : (i+1)*l.Experts] {
			if g == 0 {
				continue
			}
			if n == l.Active {
				panic(fmt.Sprintf("token %d: got more than %d gates that are not 0", i, l.Active))
			}
			at := r.next[e]
			r.next[e]++
			r.token[at], r.gate[at], own[n] = i, g, at
			n++
		}
		for ; n < l.Active; n++ {
			own[n] = -1
		}
	}
}

// pairs returns the number of pairs.
func (r *Routes[T]) pairs() int { return r.first[len(r.first)-1] }

// Mixture computes the layer l in the given products.
type Mixture[T kernel.Float] struct {
	Layer
	Pool     *kernel.Pool
	Products gemm.Products[T]
	Routes   *Routes[T]
}

// Forward computes y (n, d) of x (n, d), given the gates (n, E). rows is memory for (n·k, d).
func (m *Mixture[T]) Forward(y, x, gates []T, w Weights[T], k Kept[T], rows []T) {
	r := m.Routes
	r.set(m.Layer, gates)
	m.gather(k.X, x)
	for e := range m.Experts {
		m.multiply(k.Gate, k.X, w.Gate, e, m.Inner, m.Embd)
		m.multiply(k.Up, k.X, w.Up, e, m.Inner, m.Embd)
	}
	n := r.pairs() * m.Inner
	kernel.SwiGLU(m.Pool, k.Hidden[:n], k.Gate[:n], k.Up[:n])
	for e := range m.Experts {
		m.multiply(rows, k.Hidden, w.Down, e, m.Embd, m.Inner)
	}
	m.scale(rows, m.Embd)
	m.collect(y, rows)
}

// multiply computes the rows of c (n·k, cols) that belong to expert e, a·w for a (n·k, inner).
func (m *Mixture[T]) multiply(c, a []T, w []Matrix[T], e, cols, inner int) {
	from, to := m.Routes.first[e], m.Routes.first[e+1]
	switch packed := w[e].Packed; {
	case packed == nil:
		m.product(c, a, gemm.Mat(w[e].Data, cols), e, cols, inner, 0)
	case from < to:
		x, y := any(a[from*inner:to*inner]).([]float32), any(c[from*cols:to*cols]).([]float32)
		packed.MulAdd(m.Pool, to-from, x, nil, y)
	}
}

// back computes a·wᵀ + beta·c in the rows of c.
func (m *Mixture[T]) back(c, a []T, w []Matrix[T], e, cols, inner int, beta T) {
	m.product(c, a, gemm.Mat(w[e].Data, inner).T(), e, cols, inner, beta)
}

func (m *Mixture[T]) product(c, a []T, b gemm.Matrix[T], e, cols, inner int, beta T) {
	from, to := m.Routes.first[e], m.Routes.first[e+1]
	if from == to {
		return
	}
	rows, out := gemm.Mat(a[from*inner:], inner), gemm.Mat(c[from*cols:], cols)
	m.Products.Mul(m.Pool, to-from, cols, inner, 1, rows, b, beta, out)
}

// weight computes dw = aᵀ·b over the rows of expert e, unless dw is nil.
func (m *Mixture[T]) weight(dw, a, b []T, e, rows, cols int) {
	if dw == nil {
		return
	}
	from, to := m.Routes.first[e], m.Routes.first[e+1]
	left, right := gemm.Mat(a[from*rows:], rows).T(), gemm.Mat(b[from*cols:], cols)
	m.Products.Mul(m.Pool, rows, cols, to-from, 1, left, right, 0, gemm.Mat(dw, cols))
}

// Grads holds the gradients of the operands, and the memory for the backward pass.
type Grads[T kernel.Float] struct {
	X, Gates         []T        // (n, d), (n, E)
	Weights          Weights[T] // nil where no program wants them
	Rows             []T        // (n·k, d)
	Hidden, Gate, Up []T        // (n·k, f)
	Pairs            []T        // (n·k)
}

// Backward computes the gradients, given dy (n, d), the gates and what Forward has kept. For an expert with the rows x
// and dy of its tokens, and their gates g,
//
//	dg = (dy·w_dᵀ)·h    dh = g∘(dy·w_dᵀ)    dw_d = hᵀ·(g∘dy)
//	dx = dz_g·w_gᵀ + dz_u·w_uᵀ    dw_g = xᵀ·dz_g    dw_u = xᵀ·dz_u
//
// A gate of 0 has gradient 0, and so do the weights of an expert without a token.
func (m *Mixture[T]) Backward(d Grads[T], dy, gates []T, w Weights[T], k Kept[T]) {
	r := m.Routes
	r.set(m.Layer, gates)
	m.gather(d.Rows, dy)
	for e := range m.Experts {
		m.back(d.Hidden, d.Rows, w.Down, e, m.Inner, m.Embd, 0)
	}
	m.gateGradients(d.Gates, d.Pairs, d.Hidden, k.Hidden)
	m.scale(d.Hidden, m.Inner)
	m.scale(d.Rows, m.Embd)
	n := r.pairs() * m.Inner
	kernel.SwiGLUBackward(m.Pool, d.Gate[:n], d.Up[:n], k.Gate[:n], k.Up[:n], d.Hidden[:n])
	for e := range m.Experts {
		m.weight(d.Weights.Down[e].Data, k.Hidden, d.Rows, e, m.Inner, m.Embd)
		m.weight(d.Weights.Gate[e].Data, k.X, d.Gate, e, m.Embd, m.Inner)
		m.weight(d.Weights.Up[e].Data, k.X, d.Up, e, m.Embd, m.Inner)
	}
	for e := range m.Experts {
		m.back(d.Rows, d.Gate, w.Gate, e, m.Embd, m.Inner, 0)
		m.back(d.Rows, d.Up, w.Up, e, m.Embd, m.Inner, 1)
	}
	m.collect(d.X, d.Rows)
}

// gateGradients computes the gradients of the gates, the products of the rows of dh and h. pairs is memory.
func (m *Mixture[T]) gateGradients(dg, pairs, dh, h []T) {
	if dg == nil {
		return
	}
	r := m.Routes
	kernel.Spread(m.Pool, r.pairs(), chunk(m.Inner), dots[T]{pairs, dh, h, m.Inner})
	clear(dg)
	for e := range m.Experts {
		for at := r.first[e]; at < r.first[e+1]; at++ {
			dg[r.token[at]*m.Experts+e] = pairs[at]
		}
	}
}
