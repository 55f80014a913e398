package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gather returns the matrix whose row i is row ids[i] of table (v, d).
func (b *Builder) Gather(table *G.Node, ids IDs) (*G.Node, error) {
	n, d := ids.Node.Shape()[0], table.Shape()[1]
	return b.node(&Op{
		name: "gather", shape: tensor.Shape{n, d}, wrt: []bool{true, false},
		f32: gather[float32](b.Pool, ids.List, d), f64: gather[float64](b.Pool, ids.List, d),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.scatter("gather.dtable", in[0].Shape(), grad, ids))
		},
	}, table, ids.Node)
}

func gather[T kernel.Float](p *kernel.Pool, ids []int, d int) body[T] {
	return func(y []T, in [][]T) { kernel.Gather(p, y, in[0], ids, d) }
}

// scatter returns the gradient of a table: the sum of Δ over equal ids.
func (b *Builder) scatter(name string, table tensor.Shape, grad *G.Node, ids IDs) (*G.Node, error) {
	return b.node(&Op{
		name: name, shape: table, rows: &ids,
		f32: scatter[float32](b.Pool, ids.List, table[1]), f64: scatter[float64](b.Pool, ids.List, table[1]),
	}, grad)
}

func scatter[T kernel.Float](p *kernel.Pool, ids []int, d int) body[T] {
	return func(dtable []T, in [][]T) { kernel.ScatterAdd(p, dtable, in[0], ids, d) }
}

// PackedGather returns rows of a packed table, which is stored as its transpose and is not an operand of the graph. It
// has no derivative.
func (b *Builder) PackedGather(table Weights, ids IDs) (*G.Node, error) {
	d, _ := table.Size()
	return b.node(&Op{
		name: "packed gather", shape: tensor.Shape{ids.Node.Shape()[0], d}, wrt: []bool{false},
		f32: func(y []float32, _ [][]float32) {
			for i, id := range ids.List {
				table.Column(y[i*d:(i+1)*d], id)
			}
		},
	}, ids.Node)
}

// AddPositions returns c·x + the rows ids of table.
func (b *Builder) AddPositions(x, table *G.Node, ids IDs, c float64) (*G.Node, error) {
	d := table.Shape()[1]
	return b.node(&Op{
		name: fmt.Sprintf("addpositions(%g)", c), shape: x.Shape(), wrt: []bool{true, b.Rule(table) == nil, false},
		before: b.lookUp(ids, table),
		f32:    addPositions[float32](b.Pool, b.Rule(table), ids.List, d, c),
		f64:    addPositions[float64](b.Pool, b.Rule(table), ids.List, d, c),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dx, err := b.Scale(grad, c)
			if err != nil || b.Rule(table) != nil {
				return G.Nodes{dx}, err
			}
			dtable, err := b.scatter("addpositions.dtable", in[1].Shape(), grad, ids)
			return G.Nodes{dx, dtable}, err
		},
	}, x, table, ids.Node)
}

func addPositions[T kernel.Float](p *kernel.Pool, r *Rule, ids []int, d int, c float64) body[T] {
	return func(y []T, in [][]T) { kernel.AddPositions(p, y, in[0], tableOf(in[1], r), ids, d, T(c)) }
}

// Rotate rotates groups of columns of x by the angles of their positions, whose cosines and sines are tables. If back
// is set, the angles are negative.
func (b *Builder) Rotate(x, cos, sin *G.Node, positions IDs, groups int, back bool) (*G.Node, error) {
	size, list := 2*cos.Shape()[1], positions.List
	return b.node(&Op{
		name: fmt.Sprintf("rotate(%d,%d,%t)", groups, size, back), shape: x.Shape(),
		wrt: []bool{true, false, false, false}, before: b.lookUp(positions, cos, sin),
		f32: rotate(
			b, &kernel.Rotation[float32]{Positions: list, Groups: groups, Size: size, Back: back}, cos, sin),
		f64: rotate(
			b, &kernel.Rotation[float64]{Positions: list, Groups: groups, Size: size, Back: back}, cos, sin),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.Rotate(grad, in[1], in[2], positions, groups, !back))
		},
	}, x, cos, sin, positions.Node)
}

func rotate[T kernel.Float](b *Builder, r *kernel.Rotation[T], cos, sin *G.Node) body[T] {
	p, cosines, sines := b.Pool, b.Rule(cos), b.Rule(sin)
	return func(y []T, in [][]T) { r.Run(p, y, in[0], tableOf(in[1], cosines), tableOf(in[2], sines)) }
}

// OneHot returns the matrix whose row i is 1 in column ids[i] and 0 elsewhere. The row of an ignored id is all 0.
func (b *Builder) OneHot(ids IDs, classes, ignore int) (*G.Node, error) {
	return b.node(&Op{
		name: "onehot", shape: tensor.Shape{ids.Node.Shape()[0], classes}, wrt: []bool{false},
		f32: oneHot[float32](ids.List, classes, ignore), f64: oneHot[float64](ids.List, classes, ignore),
	}, ids.Node)
}

// Ints returns the integers that compute writes to list in every run, one for each of the first operand.
func (b *Builder) Ints(name string, list []int, compute func(), operands ...*G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: name, shape: tensor.Shape{operands[0].Shape()[0]}, wrt: make([]bool, len(operands)),
		f32: integers[float32](list, compute), f64: integers[float64](list, compute),
	}, operands...)
}

func integers[T kernel.Float](list []int, compute func()) body[T] {
	return func(out []T, _ [][]T) {
		compute()
		for i, id := range list {
			out[i] = T(id)
		}
	}
}

func oneHot[T kernel.Float](ids []int, classes, ignore int) body[T] {
	return func(out []T, _ [][]T) {
		clear(out)
		for i, id := range ids {
			if id != ignore {
				out[i*classes+id] = 1
			}
		}
	}
}
