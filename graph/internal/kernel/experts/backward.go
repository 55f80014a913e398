package experts

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Grads holds the gradients of the operands, and the memory for the backward pass.
type Grads[T kernel.Float] struct {
	X, Gates         []T        // (n, d), (n, E)
	Weights          Weights[T] // nil where no program wants them
	Rows             []T        // (n·k, d)
	Hidden, Gate, Up []T        // (n·k, f)
	Low              Low[T]     // (n·k, r)
	Pairs            []T        // (n·k)
}

// Backward computes the gradients, given dy (n, d), the gates and what Forward has kept. For an expert with the rows x
// and dy of its tokens, and their gates g,
//
//	dg = (dy·w_dᵀ)·h    dh = g∘(dy·w_dᵀ)    dw_d = hᵀ·(g∘dy)
//	dx = dz_g·w_gᵀ + dz_u·w_uᵀ    dw_g = xᵀ·dz_g    dw_u = xᵀ·dz_u
//
// and for y = x·(w + s·a·b) of any of the three matrices
//
//	da = s·xᵀ·(dy·bᵀ)    db = s·(x·a)ᵀ·dy
//
// A gate of 0 has gradient 0, and so do the weights of an expert without a token.
func (m *Mixture[T]) Backward(d Grads[T], dy, gates []T, w Weights[T], k Kept[T]) {
	r := m.Routes
	r.set(m.Layer, gates)
	run(m, len(r.blocks), m.operations(), w, backward[T]{m, d, dy, w, k})
	if d.Gates != nil {
		clear(d.Gates)
		for _, b := range r.blocks {
			for at := b.from; at < b.to; at++ {
				d.Gates[r.token[at]*m.Experts+b.expert] = d.Pairs[at]
			}
		}
	}
	run(m, 3*m.Experts, 3*m.operations(), w, weights[T]{m, d, k})
	run(m, len(r.blocks), 2*m.operations(), w, inputs[T]{m, d, w})
	m.collect(d.X, d.Rows)
}

// backward computes dg and dz of blocks.
type backward[T kernel.Float] struct {
	*Mixture[T]
	d  Grads[T]
	dy []T
	w  Weights[T]
	k  Kept[T]
}

func (g *backward[T]) Do(from, to int) {
	d, inner, w := g.Embd, g.Inner, g.w
	for _, b := range g.Routes.blocks[from:to] {
		dy, dh := rows(g.d.Rows, b, d), rows(g.d.Hidden, b, inner)
		gate, up := rows(g.d.Gate, b, inner), rows(g.d.Up, b, inner)
		low := rows(g.d.Low.Down, b, g.Rank)
		g.gather(dy, g.dy, b)
		g.low(low, dy, w.Down[b.expert], d)
		g.back(dh, dy, w.Down[b.expert], low, inner, d, 0)
		kernel.DotRows(g.d.Pairs[b.from:b.to], dh, rows(g.k.Hidden, b, inner), inner, inner)
		g.scale(dh, b, inner)
		g.scale(dy, b, d)
		g.scale(low, b, g.Rank)
		kernel.SwiGLUBackwardSerial(gate, up, rows(g.k.Gate, b, inner), rows(g.k.Up, b, inner), dh)
		g.low(rows(g.d.Low.Gate, b, g.Rank), gate, w.Gate[b.expert], inner)
		g.low(rows(g.d.Low.Up, b, g.Rank), up, w.Up[b.expert], inner)
	}
}

// low computes dy·bᵀ (n, r) of an adapter, if there is one, for dy (n, out).
func (m *Mixture[T]) low(low, dy []T, w Matrix[T], out int) {
	if w.A != nil {
		m.mul(len(dy)/out, m.Rank, out, 1, gemm.Mat(dy, out), gemm.Mat(w.B, out).T(), 0, gemm.Mat(low, m.Rank))
	}
}

// back computes dx = dy·wᵀ + beta·dx (n, in) for dy (n, out), given the result of low.
func (m *Mixture[T]) back(dx, dy []T, w Matrix[T], low []T, in, out int, beta T) {
	n := len(dy) / out
	m.mul(n, in, out, 1, gemm.Mat(dy, out), gemm.Mat(w.Data, out).T(), beta, gemm.Mat(dx, in))
	if w.A != nil {
		m.mul(n, in, m.Rank, m.Scale, gemm.Mat(low, m.Rank), gemm.Mat(w.A, m.Rank).T(), 1, gemm.Mat(dx, in))
	}
}

// weights computes the gradients of the matrices, three tasks for each expert.
type weights[T kernel.Float] struct {
	*Mixture[T]
	d Grads[T]
	k Kept[T]
}

func (g *weights[T]) Do(from, to int) {
	d, inner := g.Embd, g.Inner
	for task := from; task < to; task++ {
		e := task / 3
		b := block{e, g.Routes.first[e], g.Routes.first[e+1]}
		x := rows(g.k.X, b, d)
		switch task % 3 {
		case 0:
			h, dy := rows(g.k.Hidden, b, inner), rows(g.d.Rows, b, d)
			g.weight(g.d.Weights.Down[e], h, dy, b, g.k.Low.Down, g.d.Low.Down, inner, d)
		case 1:
			g.weight(g.d.Weights.Gate[e], x, rows(g.d.Gate, b, inner), b, g.k.Low.Gate, g.d.Low.Gate, d, inner)
		case 2:
			g.weight(g.d.Weights.Up[e], x, rows(g.d.Up, b, inner), b, g.k.Low.Up, g.d.Low.Up, d, inner)
		}
	}
}

// weight computes the gradients of a matrix and its adapter, given x (n, in), dy (n, out), x·a and dy·bᵀ.
func (m *Mixture[T]) weight(dw Matrix[T], x, dy []T, b block, low, back []T, in, out int) {
	n, r := b.to-b.from, m.Rank
	if dw.Data != nil {
		m.mul(in, out, n, 1, gemm.Mat(x, in).T(), gemm.Mat(dy, out), 0, gemm.Mat(dw.Data, out))
	}
	if dw.A != nil {
		m.mul(in, r, n, m.Scale, gemm.Mat(x, in).T(), gemm.Mat(rows(back, b, r), r), 0, gemm.Mat(dw.A, r))
	}
	if dw.B != nil {
		m.mul(r, out, n, m.Scale, gemm.Mat(rows(low, b, r), r).T(), gemm.Mat(dy, out), 0, gemm.Mat(dw.B, out))
	}
}

// inputs computes dx of blocks.
type inputs[T kernel.Float] struct {
	*Mixture[T]
	d Grads[T]
	w Weights[T]
}

func (g *inputs[T]) Do(from, to int) {
	d, inner := g.Embd, g.Inner
	for _, b := range g.Routes.blocks[from:to] {
		dx, gate, up := rows(g.d.Rows, b, d), rows(g.d.Gate, b, inner), rows(g.d.Up, b, inner)
		g.back(dx, gate, g.w.Gate[b.expert], rows(g.d.Low.Gate, b, g.Rank), d, inner, 0)
		g.back(dx, up, g.w.Up[b.expert], rows(g.d.Low.Up, b, g.Rank), d, inner, 1)
	}
}
