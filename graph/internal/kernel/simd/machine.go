package simd

import (
	"math"
	"unsafe"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/fma"
)

// The instructions of AVX-512 in plain Go, for the kernels of plain.go: each function does what the instruction does to
// which it is translated, lane by lane, and rounds once. The operands have the order of an expression, and the result
// comes first. A conversion of every product keeps the compiler from fusing it with a sum.

// vector is a register of 16 numbers in float32, 8 in float64, or as many integers.
type vector [8]uint64

// lanes is a register of one bit for each lane.
type lanes uint16

// every has every lane.
const every lanes = 1<<16 - 1

func (v *vector) f32() *[16]float32 { return (*[16]float32)(unsafe.Pointer(v)) }
func (v *vector) u32() *[16]uint32  { return (*[16]uint32)(unsafe.Pointer(v)) }
func (v *vector) f64() *[8]float64  { return (*[8]float64)(unsafe.Pointer(v)) }

// splat sets all lanes.
func splat(v *vector, x float32) {
	for i := range v.f32() {
		v.f32()[i] = x
	}
}

// splatBits sets all lanes of 32 bits.
func splatBits(v *vector, bits uint32) {
	for i := range v.u32() {
		v.u32()[i] = bits
	}
}

// splatWords sets all lanes of 64 bits.
func splatWords(v *vector, bits uint64) {
	for i := range v {
		v[i] = bits
	}
}

// first returns the first n lanes: none if n is negative, and every lane if n is large.
func first(n int) lanes {
	switch {
	case n <= 0:
		return 0
	case n >= 16:
		return every
	}
	return 1<<n - 1
}

func load(v *vector, x []float32)  { *v.f32() = [16]float32(x) }
func store(x []float32, v *vector) { *(*[16]float32)(x) = *v.f32() }

func loadDoubles(v *vector, x []float64)  { *v.f64() = [8]float64(x) }
func storeDoubles(x []float64, v *vector) { *(*[8]float64)(x) = *v.f64() }

// loadMasked loads the lanes of k, and sets the others to 0.
func loadMasked(v *vector, k lanes, x []float32) {
	if k == every {
		load(v, x)
		return
	}
	*v = vector{}
	for i := 0; k>>i != 0; i++ {
		if k>>i&1 == 1 {
			v.f32()[i] = x[i]
		}
	}
}

// storeMasked stores the lanes of k, and leaves the others.
func storeMasked(x []float32, k lanes, v *vector) {
	if k == every {
		store(x, v)
		return
	}
	for i := 0; k>>i != 0; i++ {
		if k>>i&1 == 1 {
			x[i] = v.f32()[i]
		}
	}
}

// only sets the lanes outside k to 0; merge sets the lanes of k to the lanes of v.
func only(to *vector, k lanes, v *vector)  { choose(to, k, v, &vector{}) }
func merge(to *vector, k lanes, v *vector) { choose(to, k, v, to) }

// choose takes the lanes of k from x and the others from y.
func choose(to *vector, k lanes, x, y *vector) {
	for i := range to.u32() {
		if k>>i&1 == 1 {
			to.u32()[i] = x.u32()[i]
		} else {
			to.u32()[i] = y.u32()[i]
		}
	}
}

func add(to, x, y *vector) { addLow(to, x, y, 16) }

// addLow adds the first n lanes.
func addLow(to, x, y *vector, n int) {
	a, b, c := to.f32()[:n], x.f32()[:n], y.f32()[:n]
	for i := range a {
		a[i] = b[i] + c[i]
	}
}

func sub(to, x, y *vector) {
	for i, v := range x.f32() {
		to.f32()[i] = v - y.f32()[i]
	}
}

func mul(to, x, y *vector) {
	for i, v := range x.f32() {
		to.f32()[i] = float32(v * y.f32()[i])
	}
}

func div(to, x, y *vector) {
	for i, v := range x.f32() {
		to.f32()[i] = v / y.f32()[i]
	}
}

func sqrt(to, x *vector) {
	for i, v := range x.f32() {
		to.f32()[i] = root(v)
	}
}

// root returns the square root of x. Rounding the root in float64 to float32 gives the nearest number.
func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// least and most return y if one of the numbers is NaN, or if both are 0.
func least(x, y float32) float32 {
	if x < y {
		return x
	}
	return y
}

func most(x, y float32) float32 {
	if x > y {
		return x
	}
	return y
}

func lower(to, x, y *vector) {
	for i, v := range x.f32() {
		to.f32()[i] = least(v, y.f32()[i])
	}
}

func higher(to, x, y *vector) { higherLow(to, x, y, 16) }

func higherLow(to, x, y *vector, n int) {
	a, b, c := to.f32()[:n], x.f32()[:n], y.f32()[:n]
	for i := range a {
		a[i] = most(b[i], c[i])
	}
}

// mulAdd computes x∘y + z, mulSub x∘y − z, and negMulAdd −x∘y + z.
func mulAdd(to, x, y, z *vector)    { fma.Lanes(to.f32(), x.f32(), y.f32(), z.f32()) }
func negMulAdd(to, x, y, z *vector) { fma.Negated(to.f32(), x.f32(), y.f32(), z.f32()) }

func mulSub(to, x, y, z *vector) {
	var negative [16]float32
	for i, v := range z.f32() {
		negative[i] = -v
	}
	fma.Lanes(to.f32(), x.f32(), y.f32(), &negative)
}

// timesPower computes x·2ⁿ for integers n in the lanes of k, and 0 in the others.
func timesPower(to *vector, k lanes, x, n *vector) {
	for i, v := range x.f32() {
		power, product := n.f32()[i], float32(0)
		if k>>i&1 == 1 {
			product = ldexp(v, power)
		}
		to.f32()[i] = product
	}
}

// ldexp returns x·2ⁿ. In float64 the product is exact.
func ldexp(x, n float32) float32 {
	if n != n {
		return n
	}
	bits := uint64(1023+int64(max(-1000, min(n, 1000)))) << 52
	return float32(float64(x) * math.Float64frombits(bits))
}

// Predicates of compare. The ones that end in Or are true of NaN.
const (
	equal = iota
	less
	greater
	atLeast
	unequalOr
	notLessOr
	notGreaterOr
	notAtLeastOr
)

// compare returns the lanes in which the comparison of x with y is true.
func compare(x *vector, predicate int, y *vector) (k lanes) {
	for i, v := range x.f32() {
		w, is := y.f32()[i], false
		switch predicate {
		case equal:
			is = v == w
		case less:
			is = v < w
		case greater:
			is = v > w
		case atLeast:
			is = v >= w
		case unequalOr:
			is = v != w
		case notLessOr:
			is = !(v < w)
		case notGreaterOr:
			is = !(v > w)
		case notAtLeastOr:
			is = !(v >= w)
		}
		if is {
			k |= 1 << i
		}
	}
	return k
}

// common returns the lanes in which x and y share a bit.
func common(x, y *vector) (k lanes) {
	for i, v := range x.u32() {
		if v&y.u32()[i] != 0 {
			k |= 1 << i
		}
	}
	return k
}

// signs returns the lanes whose sign is negative.
func signs(x *vector) (k lanes) {
	for i, v := range x.u32() {
		k |= lanes(v>>31) << i
	}
	return k
}

// otherBits returns the lanes in which the bits of x differ from the numbers in memory.
func otherBits(x *vector, y []float32) (k lanes) {
	for i, v := range x.u32() {
		if v != math.Float32bits(y[i]) {
			k |= 1 << i
		}
	}
	return k
}

// notBelow returns the lanes of 64 bits in which x is at least y.
func notBelow(x, y *vector) (k lanes) {
	for i, v := range x {
		if v >= y[i] {
			k |= 1 << i
		}
	}
	return k
}

func and(to, x, y *vector) {
	for i, v := range x {
		to[i] = v & y[i]
	}
}

func or(to, x, y *vector) {
	for i, v := range x {
		to[i] = v | y[i]
	}
}

func xor(to, x, y *vector) {
	for i, v := range x {
		to[i] = v ^ y[i]
	}
}

func addBits(to, x, y *vector) {
	for i, v := range x.u32() {
		to.u32()[i] = v + y.u32()[i]
	}
}

func shiftBits(to, x *vector, n int) {
	for i, v := range x.u32() {
		to.u32()[i] = v >> n
	}
}

func addWords(to, x, y *vector) {
	for i, v := range x {
		to[i] = v + y[i]
	}
}

func mulWords(to, x, y *vector) {
	for i, v := range x {
		to[i] = v * y[i]
	}
}

func shiftWords(to, x *vector, n int) {
	for i, v := range x {
		to[i] = v >> n
	}
}

// widen converts the first 8 lanes to float64; narrow rounds 8 lanes to float32.
func widen(to, x *vector) {
	low := [8]float32(x.f32()[:8])
	for i, v := range low {
		to.f64()[i] = float64(v)
	}
}

func narrow(to, x *vector) {
	low := *x.f64()
	*to = vector{}
	for i, v := range low {
		to.f32()[i] = float32(v)
	}
}

func addDoubles(to, x, y *vector) { addDoublesLow(to, x, y, 8) }

func addDoublesLow(to, x, y *vector, n int) {
	a, b, c := to.f64()[:n], x.f64()[:n], y.f64()[:n]
	for i := range a {
		a[i] = b[i] + c[i]
	}
}

func subDoubles(to, x, y *vector) {
	for i, v := range x.f64() {
		to.f64()[i] = v - y.f64()[i]
	}
}

func mulDoubles(to, x, y *vector) {
	for i, v := range x.f64() {
		to.f64()[i] = float64(v * y.f64()[i])
	}
}

// mulAddDoubles computes x∘y + z. The kernels multiply numbers of float32, whose products are exact.
func mulAddDoubles(to, x, y, z *vector) {
	for i, v := range x.f64() {
		to.f64()[i] = float64(v*y.f64()[i]) + z.f64()[i]
	}
}

// upper moves lanes 8 … 15, and upperFour lanes 4 … 7, to the beginning.
func upper(to, x *vector)     { *to = vector{x[4], x[5], x[6], x[7]} }
func upperFour(to, x *vector) { *to = vector{x[2], x[3]} }

// join sets lanes 8 … 15 of x to the first 8 lanes of y.
func join(to, x, y *vector) { *to = vector{x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]} }

// pick sets lane 0 to lane i, and lane 1 to lane j; pickDouble does so with a single lane of float64.
func pick(to, x *vector, i, j int) {
	a, b := x.f32()[i], x.f32()[j]
	to.f32()[0], to.f32()[1] = a, b
}

func pickDouble(to, x *vector, i int) { to.f64()[0] = x.f64()[i] }
