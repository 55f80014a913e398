package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Columns returns columns from … to−1 of a matrix.
func (b *Builder) Columns(x *G.Node, from, to int) (*G.Node, error) {
	rows, d, w := x.Shape()[0], x.Shape()[1], to-from
	return b.node(&Op{
		name: "cols", shape: tensor.Shape{rows, w},
		f32: moveCols[float32](rows, w, w, 0, d, from, false), f64: moveCols[float64](rows, w, w, 0, d, from, false),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.place(grad, from, d)) },
	}, x)
}

// place returns a matrix of width d with n in the columns from … and 0 elsewhere, for the backward pass.
func (b *Builder) place(n *G.Node, from, d int) (*G.Node, error) {
	rows, w := n.Shape()[0], n.Shape()[1]
	return b.node(&Op{
		name: "place", shape: tensor.Shape{rows, d},
		f32: moveCols[float32](rows, w, d, from, w, 0, true), f64: moveCols[float64](rows, w, d, from, w, 0, true),
	}, n)
}

func moveCols[T kernel.Float](rows, w, outStride, outAt, inStride, inAt int, zero bool) body[T] {
	return func(out []T, in [][]T) {
		if zero {
			clear(out)
		}
		for i := range rows {
			copy(out[i*outStride+outAt:][:w], in[0][i*inStride+inAt:])
		}
	}
}

// Join returns matrices with the same number of rows side by side.
func (b *Builder) Join(list G.Nodes) (*G.Node, error) {
	rows, d := list[0].Shape()[0], 0
	for _, x := range list {
		d += x.Shape()[1]
	}
	return b.node(&Op{
		name: "join", shape: tensor.Shape{rows, d}, f32: joinCols[float32](rows, d), f64: joinCols[float64](rows, d),
		diff: func(in G.Nodes, _, grad *G.Node) (grads G.Nodes, err error) {
			at := 0
			for _, c := range in {
				part, err := b.Columns(grad, at, at+c.Shape()[1])
				if err != nil {
					return nil, err
				}
				grads = append(grads, part)
				at += c.Shape()[1]
			}
			return grads, nil
		},
	}, list...)
}

func joinCols[T kernel.Float](rows, d int) body[T] {
	return func(out []T, in [][]T) {
		at := 0
		for _, x := range in {
			w := len(x) / rows
			for i := range rows {
				copy(out[i*d+at:][:w], x[i*w:])
			}
			at += w
		}
	}
}

// GatherCols returns the matrix whose column c is column order[c] of x, or 0 if order[c] is −1.
func (b *Builder) GatherCols(x *G.Node, order []int) (*G.Node, error) {
	n, d, of := x.Shape()[0], x.Shape()[1], kernel.NewOrder(order)
	return b.node(&Op{
		name: "gathercols", shape: tensor.Shape{n, len(order)},
		f32: gatherCols[float32](b.Pool, of, d), f64: gatherCols[float64](b.Pool, of, d),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: "gathercols.dx", shape: tensor.Shape{n, d},
				f32: gatherColsBackward[float32](b.Pool, of, d), f64: gatherColsBackward[float64](b.Pool, of, d),
			}, grad))
		},
	}, x)
}

func gatherCols[T kernel.Float](p *kernel.Pool, order kernel.Order, d int) body[T] {
	return func(y []T, in [][]T) { kernel.GatherCols(p, y, in[0], order, d) }
}

func gatherColsBackward[T kernel.Float](p *kernel.Pool, order kernel.Order, d int) body[T] {
	return func(dx []T, in [][]T) { kernel.GatherColsBackward(p, dx, in[0], order, d) }
}

// MixColumns returns [a | λ₁·b + λ₂·c] for x = [a | b] and λ = [λ₁, λ₂], or [λ₂] if λ₁ is 1.
func (b *Builder) MixColumns(x, c, lambda *G.Node) (*G.Node, error) {
	d, factors := x.Shape()[1], 2*c.Shape()[1]
	scratch := &buffer{size: factors}
	return b.node(&Op{
		name: "mixcolumns", shape: x.Shape(), fills: []*buffer{scratch},
		f32: mixColumns[float32](b.Pool, d, scratch), f64: mixColumns[float64](b.Pool, d, scratch),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dc := &buffer{part: true, size: in[1].Shape().TotalSize()}
			dlambda := &buffer{part: true, size: in[2].Shape().TotalSize()}
			of := mixing{b.Pool, d, dc, dlambda, &buffer{size: factors}, &buffer{size: 4 * kernel.Parts}}
			dx, err := b.node(&Op{
				name: "mixcolumns.dx", shape: in[0].Shape(), fills: []*buffer{dc, dlambda, of.factors, of.sums},
				f32: mixColumnsBackward[float32](of), f64: mixColumnsBackward[float64](of),
			}, in[0], in[1], in[2], grad)
			if err != nil {
				return nil, err
			}
			first, err := b.part("mixcolumns.dc", dx, dc, in[1].Shape())
			if err != nil {
				return nil, err
			}
			second, err := b.part("mixcolumns.dlambda", dx, dlambda, in[2].Shape())
			return G.Nodes{dx, first, second}, err
		},
	}, x, c, lambda)
}

func mixColumns[T kernel.Float](p *kernel.Pool, d int, scratch *buffer) body[T] {
	return func(y []T, in [][]T) { kernel.MixColumns(p, y, in[0], in[1], in[2], of[T](scratch), d) }
}

// mixing is the backward pass of MixColumns.
type mixing struct {
	pool                       *kernel.Pool
	d                          int
	dc, dlambda, factors, sums *buffer
}

func mixColumnsBackward[T kernel.Float](m mixing) body[T] {
	return func(dx []T, in [][]T) {
		kernel.MixColumnsBackward(m.pool, dx, of[T](m.dc), of[T](m.dlambda), in[0], in[1], in[2], in[3],
			of[T](m.factors), of[T](m.sums), m.d)
	}
}
