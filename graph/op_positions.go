package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// AddPositions returns the kernel of c·x + table.Gather(ids): x (n, d), table (v, d), ids (n).
func AddPositions(x, table, ids Expr, c float64) (y Expr, ok bool) {
	return x.kernel("add positions", func() (*G.Node, error) {
		if err := ids.ids.check(table.node.Shape()[0], "rows"); err != nil {
			return nil, err
		}
		ids.ids.isLookup = true
		g, shape, n, list := x.g, x.node.Shape(), ids.count(), ids.Ints()
		d := table.node.Shape()[1]
		if len(shape) != 2 || shape[0] != n || shape[1] != d {
			return nil, errors.Errorf("%v is not (%d, %d)", shape, n, d)
		}
		return g.node(&op{
			name: fmt.Sprintf("addpositions(%g)", c), shape: shape, wrt: []bool{true, true, false},
			f32: addPositions[float32](g.pool, list, d, c), f64: addPositions[float64](g.pool, list, d, c),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dx, err := g.scale(grad, c)
				if err != nil {
					return nil, err
				}
				dtable, err := g.scatter("addpositions.dtable", in[1].Shape(), grad, ids)
				return G.Nodes{dx, dtable}, err
			},
		}, x.node, table.node, ids.node)
	}, table, ids)
}

func addPositions[T kernel.Float](p *kernel.Pool, ids []int, d int, c float64) body[T] {
	return func(y []T, in [][]T) { kernel.AddPositions(p, y, in[0], in[1], ids, d, T(c)) }
}

// Rotate returns the kernel of rotary positions. In the first groups·size columns of x (n, ≥ groups·size) it rotates
// each group separately: columns 2i and 2i+1 of a group by the angle φ of row positions[row] and column i of the tables
// cos and sin (T, size/2):
//
//	(a, b) → (a·cos φ − b·sin φ, a·sin φ + b·cos φ)
//
// It leaves the other columns unchanged. The backward pass rotates Δ by −φ.
func Rotate(x, cos, sin, positions Expr, groups int) (y Expr, ok bool) {
	return x.kernel("rotate", func() (*G.Node, error) {
		table, n := cos.node.Shape(), positions.count()
		if len(table) != 2 || !table.Eq(sin.node.Shape()) {
			return nil, errors.Errorf("got cosines %v and sines %v, want two matrices of one shape",
				table, sin.node.Shape())
		}
		if err := positions.ids.check(table[0], "positions"); err != nil {
			return nil, err
		}
		positions.ids.isLookup = true
		if shape := x.node.Shape(); len(shape) != 2 || shape[0] != n || groups < 1 || shape[1] < groups*2*table[1] {
			return nil, errors.Errorf("%v is not (%d, %d or more): %d positions, %d groups of %d columns",
				shape, n, groups*2*table[1], n, groups, 2*table[1])
		}
		return x.g.rotate(x.node, cos.node, sin.node, positions.node, positions.Ints(), groups, false)
	}, cos, sin, positions)
}

func (g *Graph) rotate(x, cos, sin, positions *G.Node, list []int, groups int, back bool) (*G.Node, error) {
	size := 2 * cos.Shape()[1]
	return g.node(&op{
		name: fmt.Sprintf("rotate(%d,%d,%t)", groups, size, back), shape: x.Shape(),
		wrt: []bool{true, false, false, false},
		f32: rotate(g.pool, &kernel.Rotation[float32]{Positions: list, Groups: groups, Size: size, Back: back}),
		f64: rotate(g.pool, &kernel.Rotation[float64]{Positions: list, Groups: groups, Size: size, Back: back}),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(g.rotate(grad, in[1], in[2], in[3], list, groups, !back))
		},
	}, x, cos, sin, positions)
}

func rotate[T kernel.Float](p *kernel.Pool, r *kernel.Rotation[T]) body[T] {
	return func(y []T, in [][]T) { r.Run(p, y, in[0], in[1], in[2]) }
}
