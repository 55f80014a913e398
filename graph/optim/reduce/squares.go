package reduce

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// squares returns the sum of the squares of all gradients, in the order in which a machine alone adds them up. Each
// machine has the sums of its chunks, and fetches the others'.
func (c *Gradients) squares(grads []graph.Tensor) (squares float64, err error) {
	if !c.scattered() {
		return c.sumSquares(grads)
	}
	var all []float32
	borders := []int{0}
	sums := make([][]float64, len(c.params))
	var order []stretch
	for part := range c.machines.Size() {
		for _, s := range c.stretches(part) {
			n := kernel.Chunks(s.to - s.from)
			if sums[s.param] == nil {
				sums[s.param] = make([]float64, kernel.Chunks(grads[s.param].Len()))
			}
			if part == c.machines.Part() {
				own := sums[s.param][s.from/kernel.Grain:][:n]
				kernel.Squares(c.pool, grads[s.param].F32[s.from:s.to], own)
				for _, x := range own {
					all = split(all, x)
				}
			} else {
				all = append(all, make([]float32, 4*n)...)
			}
			order = append(order, s)
		}
		borders = append(borders, len(all))
	}
	if err := c.machines.Gather(all, borders); err != nil {
		return 0, errors.Wrap(err, c.name)
	}
	for _, s := range order {
		for i := range kernel.Chunks(s.to - s.from) {
			sums[s.param][s.from/kernel.Grain+i], all = join(all), all[4:]
		}
	}
	for i, x := range c.params {
		sum := 0.0
		for _, s := range sums[i] {
			sum += s
		}
		if err := finiteSum(x, sum); err != nil {
			return math.NaN(), err
		}
		squares += sum
	}
	return squares, nil
}

// split appends a float64 as four numbers that any float32 represents exactly.
func split(list []float32, x float64) []float32 {
	b := math.Float64bits(x)
	return append(list, float32(b>>48), float32(b>>32&0xffff), float32(b>>16&0xffff), float32(b&0xffff))
}

// join returns the float64 that split has divided.
func join(x []float32) float64 {
	return math.Float64frombits(uint64(x[0])<<48 | uint64(x[1])<<32 | uint64(x[2])<<16 | uint64(x[3]))
}

// sumSquares returns Σ g² of all gradients, in their order.
func (c *Gradients) sumSquares(grads []graph.Tensor) (squares float64, err error) {
	for i, x := range c.params {
		s := sumSquares(c.pool, grads[i])
		if err := finiteSum(x, s); err != nil {
			return 0, err
		}
		squares += s
	}
	return squares, nil
}

// finiteSum returns an error if the sum of the squares of a parameter's gradient is not finite.
func finiteSum(x graph.Expr, sum float64) error {
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return errors.Wrapf(graph.ErrNotFinite, "the gradient of %s", x.Name())
	}
	return nil
}

func sumSquares(p *kernel.Pool, t graph.Tensor) float64 {
	if t.F32 != nil {
		return kernel.SumSquares(p, t.F32)
	}
	return kernel.SumSquares(p, t.F64)
}
