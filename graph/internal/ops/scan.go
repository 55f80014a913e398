package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	G "gorgonia.org/gorgonia"
)

// Scan returns the recurrence l of every entry by itself.
func (b *Builder) Scan(l recurrent.Entrywise, x, c *G.Node) (*G.Node, error) {
	return b.node(&Op{
		name: fmt.Sprintf("scan(%v)", l), shape: x.Shape(),
		f32: scan[float32](b.Pool, l), f64: scan[float64](b.Pool, l),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			dc := &buffer{part: true, size: in[1].Shape().TotalSize()}
			dx, err := b.node(&Op{
				name: fmt.Sprintf("scan.dx(%v)", l), shape: in[0].Shape(), fills: []*buffer{dc},
				f32: scanBackward[float32](b.Pool, l, dc), f64: scanBackward[float64](b.Pool, l, dc),
			}, in[0], in[1], out, grad)
			if err != nil {
				return nil, err
			}
			second, err := b.part("scan.dc", dx, dc, in[1].Shape())
			return G.Nodes{dx, second}, err
		},
	}, x, c)
}

func scan[T kernel.Float](p *kernel.Pool, l recurrent.Entrywise) body[T] {
	return func(h []T, in [][]T) { recurrent.Scan(p, l, h, in[0], in[1], nil) }
}

func scanBackward[T kernel.Float](p *kernel.Pool, l recurrent.Entrywise, dc *buffer) body[T] {
	return func(dx []T, in [][]T) {
		recurrent.ScanBackward(p, l, dx, of[T](dc), in[3], in[2], in[0], in[1])
	}
}

// CachedScan returns Scan for new tokens, which continues from the states in last.
func (b *Builder) CachedScan(l recurrent.Entrywise, last *State, s Step, x, c *G.Node) (*G.Node, error) {
	return b.cached(s, &Op{
		name: fmt.Sprintf("cachedscan(%v)", l), shape: x.Shape(),
		f32: cachedScan[float32](b.Pool, l, last, s.Rows), f64: cachedScan[float64](b.Pool, l, last, s.Rows),
	}, x, c)
}

func cachedScan[T kernel.Float](p *kernel.Pool, l recurrent.Entrywise, state *State, rows []int) body[T] {
	var picked []T
	return func(h []T, in [][]T) {
		with(state, rows, &picked, func(last []T) { recurrent.Scan(p, l, h, in[0], in[1], last) })
	}
}

// AddScaled returns x + y∘d, where every column of y has the factor of its group in d.
func (b *Builder) AddScaled(x, y, d *G.Node) (*G.Node, error) {
	width, factors := x.Shape()[1], d.Shape().TotalSize()
	scratch := &buffer{size: width}
	return b.node(&Op{
		name: "addscaled", shape: x.Shape(), fills: []*buffer{scratch},
		f32: addScaled[float32](b.Pool, scratch), f64: addScaled[float64](b.Pool, scratch),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dd, scratch := &buffer{part: true, size: factors}, &buffer{size: (1 + kernel.Parts) * width}
			dy, err := b.node(&Op{
				name: "addscaled.dy", shape: in[1].Shape(), fills: []*buffer{dd, scratch},
				f32: addScaledBackward[float32](b.Pool, dd, scratch),
				f64: addScaledBackward[float64](b.Pool, dd, scratch),
			}, in[1], in[2], grad)
			if err != nil {
				return nil, err
			}
			part, err := b.part("addscaled.dd", dy, dd, in[2].Shape())
			return G.Nodes{grad, dy, part}, err
		},
	}, x, y, d)
}

func addScaled[T kernel.Float](p *kernel.Pool, scratch *buffer) body[T] {
	return func(z []T, in [][]T) { kernel.AddScaled(p, z, in[0], in[1], in[2], of[T](scratch)) }
}

func addScaledBackward[T kernel.Float](p *kernel.Pool, dd, scratch *buffer) body[T] {
	return func(dy []T, in [][]T) {
		kernel.AddScaledBackward(p, dy, of[T](dd), in[2], in[0], in[1], of[T](scratch))
	}
}
