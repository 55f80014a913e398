package experts

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Layer has the sizes of a mixture of experts: y_i = Σ_e g_ie·(silu(x_i·w_g,e)∘(x_i·w_u,e))·w_d,e over the experts e
// whose gates g_ie are not 0.
type Layer struct {
	Tokens, Embd, Inner int // n, d and f
	Experts, Active     int // E, and the largest number k of gates of a token that are not 0
	Rank                int // r of the adapters; 0 without
}

// Places returns the largest number of pairs of a token and an expert.
func (l Layer) Places() int { return l.Tokens * l.Active }

// RowsLen, HiddenLen and LowLen return the numbers of entries of buffers of rows (n·k, d), (n·k, f) and (n·k, r).
func (l Layer) RowsLen() int   { return l.Places() * l.Embd }
func (l Layer) HiddenLen() int { return l.Places() * l.Inner }
func (l Layer) LowLen() int    { return l.Places() * l.Rank }

// Weights holds w_g (d, f), w_u (d, f) and w_d (f, d) of every expert.
type Weights[T kernel.Float] struct{ Gate, Up, Down []Matrix[T] }

// Matrix is a matrix w of numbers, or one that is stored in fewer bits. With an adapter it is w + s·a·b.
type Matrix[T kernel.Float] struct {
	Data   []T
	Packed Packed // nil for numbers; only for float32
	A, B   []T    // a (in, r) and b (r, out); nil without an adapter
}

// Packed is a matrix w that is stored in fewer bits.
type Packed interface {
	MulAdd(p *kernel.Pool, m int, x, bias, y []float32) // y = x·w + bias, which may be nil
}

// Kept holds what the backward pass needs. The rows belong to pairs of a token and an expert, sorted by the expert.
type Kept[T kernel.Float] struct {
	X                []T    // the tokens                              (n·k, d)
	Gate, Up, Hidden []T    // x·w_g, x·w_u, h = silu(x·w_g)∘(x·w_u)   (n·k, f)
	Low              Low[T] // x·a_g, x·a_u and h·a_d
}

// Low holds rows of the rank of the adapters of w_g, w_u and w_d; nil without.
type Low[T kernel.Float] struct{ Gate, Up, Down []T } // (n·k, r)

// Mixture computes the layer l in the given products.
type Mixture[T kernel.Float] struct {
	Layer
	Pool     *kernel.Pool
	Products gemm.Products[T]
	Routes   *Routes[T]
	Scale    T // s of the adapters

	serial bool // the threads divide the tasks, not the products of each
}

// run does tasks 0 … n−1, which take the given number of operations together. With enough tasks, threads divide the
// tasks. Otherwise they divide the products within each task. Both ways give the same bits.
func run[T kernel.Float, X any, J interface {
	*X
	kernel.Job
}](m *Mixture[T], n, operations int, w Weights[T], task X) {
	threads := kernel.Worth[T](m.Pool, operations)
	if m.serial = (n >= 2*threads || n == threads) && !w.packed(); !m.serial {
		threads = 1
	}
	kernel.SpreadOn[X, J](m.Pool, threads, n, 1, task)
}

// packed reports whether a matrix is packed: its products need the pool.
func (w Weights[T]) packed() bool {
	packed := func(m Matrix[T]) bool { return m.Packed != nil }
	return slices.ContainsFunc(w.Gate, packed) || slices.ContainsFunc(w.Up, packed) ||
		slices.ContainsFunc(w.Down, packed)
}

// operations returns the operations of a matrix (d, f) of every expert for all pairs. A thread fetches each of them.
func (m *Mixture[T]) operations() int {
	return 2 * m.Embd * m.Inner * (m.Routes.pairs() + kernel.FetchRows*len(m.Routes.blocks))
}

// mul computes c = alpha·a·b + beta·c.
func (m *Mixture[T]) mul(rows, cols, inner int, alpha T, a, b gemm.Matrix[T], beta T, c gemm.Matrix[T]) {
	if m.serial {
		m.Products.MulSerial(rows, cols, inner, alpha, a, b, beta, c)
	} else {
		m.Products.Mul(m.Pool, rows, cols, inner, alpha, a, b, beta, c)
	}
}

// Forward computes y (n, d) of x (n, d), given the gates (n, E). rows is memory for (n·k, d).
func (m *Mixture[T]) Forward(y, x, gates []T, w Weights[T], k Kept[T], rows []T) {
	m.Routes.set(m.Layer, gates)
	run(m, len(m.Routes.blocks), 3*m.operations(), w, forward[T]{m, x, w, k, rows})
	m.collect(y, rows)
}

// forward computes the results of blocks.
type forward[T kernel.Float] struct {
	*Mixture[T]
	x    []T
	w    Weights[T]
	k    Kept[T]
	rows []T
}

func (f *forward[T]) Do(from, to int) {
	d, inner := f.Embd, f.Inner
	for _, b := range f.Routes.blocks[from:to] {
		x, h := rows(f.k.X, b, d), rows(f.k.Hidden, b, inner)
		gate, up := rows(f.k.Gate, b, inner), rows(f.k.Up, b, inner)
		f.gather(x, f.x, b)
		f.multiply(gate, x, f.w.Gate[b.expert], rows(f.k.Low.Gate, b, f.Rank), d, inner)
		f.multiply(up, x, f.w.Up[b.expert], rows(f.k.Low.Up, b, f.Rank), d, inner)
		kernel.SwiGLUSerial(h, gate, up)
		y := rows(f.rows, b, d)
		f.multiply(y, h, f.w.Down[b.expert], rows(f.k.Low.Down, b, f.Rank), inner, d)
		f.scale(y, b, d)
	}
}

// multiply computes y = x·w (n, out) for x (n, in), and low = x·a with an adapter.
func (m *Mixture[T]) multiply(y, x []T, w Matrix[T], low []T, in, out int) {
	n := len(x) / in
	if w.Packed == nil {
		m.mul(n, out, in, 1, gemm.Mat(x, in), gemm.Mat(w.Data, out), 0, gemm.Mat(y, out))
	} else {
		w.Packed.MulAdd(m.Pool, n, any(x).([]float32), nil, any(y).([]float32))
	}
	if w.A != nil {
		m.mul(n, m.Rank, in, 1, gemm.Mat(x, in), gemm.Mat(w.A, m.Rank), 0, gemm.Mat(low, m.Rank))
		m.mul(n, out, m.Rank, m.Scale, gemm.Mat(low, m.Rank), gemm.Mat(w.B, out), 1, gemm.Mat(y, out))
	}
}
