package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// grain is the number of entries in a chunk of an elementwise loop: some microseconds of work.
const grain = 8192

// rowGrain returns the number of rows of d entries in a chunk of a loop over tokens.
func rowGrain(d int) int { return max(1, grain/d) }

// entrywise is an operation z = f(x, y) on each entry separately. The operation is a type rather than a function, so
// that passing it to another thread allocates no closure.
type entrywise[T Float] interface{ of(z, x, y []T) }

// entriesTask is an entrywise operation and its arguments; y is nil if the operation has only one argument.
type entriesTask[T Float] struct {
	f       entrywise[T]
	z, x, y []T
}

func (e *entriesTask[T]) Do(from, to int) {
	y := e.y
	if y != nil {
		y = y[from:to]
	}
	e.f.of(e.z[from:to], e.x[from:to], y)
}

// each computes z = f(x, y) on the pool's threads.
func each[T Float](p *Pool, f entrywise[T], z, x, y []T) {
	if len(z) <= grain {
		f.of(z, x, y)
		return
	}
	Spread(p, len(z), grain, entriesTask[T]{f, z, x, y})
}

// Add computes z = x + y.
func Add[T Float](p *Pool, z, x, y []T) { each[T](p, addTask[T]{}, z, x, y) }

type addTask[T Float] struct{}

func (addTask[T]) of(z, x, y []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Add(simd.Float32s(z), simd.Float32s(x), simd.Float32s(y))
		return
	}
	for i, v := range x {
		z[i] = v + y[i]
	}
}

// Mul computes z = x∘y.
func Mul[T Float](z, x, y []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Mul(simd.Float32s(z), simd.Float32s(x), simd.Float32s(y))
		return
	}
	for i, v := range x {
		z[i] = v * y[i]
	}
}

// DotRows computes the dot products of the rows of x and y, which are cols wide and lie stride apart.
func DotRows[T Float](dots, x, y []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.DotRows(simd.Float32s(dots), simd.Float32s(x), simd.Float32s(y), cols, stride)
		return
	}
	for i := range dots {
		sum := T(0)
		y := y[i*stride:][:cols]
		for j, v := range x[i*stride:][:cols] {
			sum += T(v * y[j])
		}
		dots[i] = sum
	}
}

// ScaleRows multiplies every row of x, cols wide and stride apart, by its factor.
func ScaleRows[T Float](x, factors []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.ScaleRows(simd.Float32s(x), simd.Float32s(factors), cols, stride)
		return
	}
	for i, factor := range factors {
		row := x[i*stride:][:cols]
		for j := range row {
			row[j] *= factor
		}
	}
}

// ScaleCols multiplies every column of x, whose rows are stride apart, by its factor.
func ScaleCols[T Float](x, factors []T, rows, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.ScaleCols(simd.Float32s(x), simd.Float32s(factors), rows, stride)
		return
	}
	for i := range rows {
		row := x[i*stride:][:len(factors)]
		for j, factor := range factors {
			row[j] *= factor
		}
	}
}

// MulAddRows adds every row of x, cols wide and stride apart, multiplied by its factor, to the same row of z.
func MulAddRows[T Float](z, x, factors []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil {
		fast.MulAddRows(simd.Float32s(z), simd.Float32s(x), simd.Float32s(factors), cols, stride)
		return
	}
	for i, factor := range factors {
		z := z[i*stride:][:cols]
		for j, v := range x[i*stride:][:cols] {
			z[j] += T(v * factor)
		}
	}
}

// Inverse computes y = 1/x.
func Inverse[T Float](y, x []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Inverse(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		y[i] = 1 / v
	}
}

// Bfloat16 computes y = RoundBfloat16(x) for every number. y may be x.
func Bfloat16(y, x []float32) {
	if fast := simd.Of[float32](); fast != nil {
		fast.Bfloat16(y, x)
		return
	}
	for i, v := range x {
		y[i] = RoundBfloat16(v)
	}
}

// RoundBfloat16 returns the nearest number with 8 significant bits, the even one of two, in the range of float32. NaN
// stays NaN, and numbers below 2⁻¹²⁶ become 0 of the same sign, as in the processors' instructions.
func RoundBfloat16(x float32) float32 {
	const quiet = 1 << 22
	switch bits := math.Float32bits(x); {
	case x != x:
		return math.Float32frombits((bits | quiet) &^ 0xffff)
	case bits&^(1<<31) < 1<<23:
		return math.Float32frombits(bits & (1 << 31))
	default:
		return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
	}
}

// ReLU computes y = max(x, 0).
func ReLU[T Float](p *Pool, y, x []T) { each[T](p, relu[T]{}, y, x, nil) }

type relu[T Float] struct{}

func (relu[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Relu(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

// ReLUBackward computes dx = dy where x > 0, else 0.
func ReLUBackward[T Float](p *Pool, dx, x, dy []T) { each[T](p, reluSlope[T]{}, dx, x, dy) }

type reluSlope[T Float] struct{}

func (reluSlope[T]) of(dx, x, dy []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.ReluBackward(simd.Float32s(dx), simd.Float32s(x), simd.Float32s(dy))
		return
	}
	for i, v := range x {
		d := dy[i] // dx may be dy
		if !(v > 0) {
			d = 0
		}
		dx[i] = d
	}
}

// ReLU2 computes y = max(x, 0)².
func ReLU2[T Float](p *Pool, y, x []T) { each[T](p, relu2[T]{}, y, x, nil) }

type relu2[T Float] struct{}

func (relu2[T]) of(y, x, _ []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Relu2(simd.Float32s(y), simd.Float32s(x))
		return
	}
	for i, v := range x {
		v = max(v, 0)
		y[i] = v * v
	}
}

// ReLU2Backward computes dx = 2·dy∘max(x, 0).
func ReLU2Backward[T Float](p *Pool, dx, x, dy []T) { each[T](p, relu2Slope[T]{}, dx, x, dy) }

type relu2Slope[T Float] struct{}

func (relu2Slope[T]) of(dx, x, dy []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Relu2Backward(simd.Float32s(dx), simd.Float32s(x), simd.Float32s(dy))
		return
	}
	for i, v := range x {
		dx[i] = 2 * T(dy[i]*max(v, 0))
	}
}
