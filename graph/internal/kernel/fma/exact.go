//go:build !(arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package fma

import "math"

// In float64 a product of two float32 is exact, and only the sum is rounded. To round it again, to float32, gives
// another result only if the sum appears to lie in the middle of two numbers of float32. This is rare. The functions
// therefore look for it in all sums at once, without branches, and compute again if it occurs.

// Number is the type to which Product takes its operands converted.
type Number = float64

const (
	dropped = 29                    // bits that float64 has and float32 has not
	least   = int64(1023-126) << 52 // the bits of 2⁻¹²⁶, the least normal float32
	sign    = uint64(1) << 63
)

// middle is negative if sum appears to lie in the middle of two numbers of float32: if all of the dropped bits but the
// first are 0.
func middle(sum float64) int64 {
	bits := int64(math.Float64bits(sum) << (64 - dropped))
	return bits & -bits
}

// small is negative if sum is below the normal numbers of float32, and not 0.
func small(sum float64) int64 {
	bits := int64(math.Float64bits(sum) &^ sign)
	return (bits - least) &^ (bits - 1)
}

// Float32 returns x·y + z, rounded once.
func Float32(x, y, z float32) float32 {
	product := float64(x) * float64(y)
	sum := product + float64(z)
	if middle(sum)|small(sum) < 0 {
		sum = odd(product, float64(z), sum)
	}
	return float32(sum)
}

// odd returns x + y, whose nearest number is sum, rounded to the neighbour whose last bit is 1 unless it is exact. From
// there, rounding to float32 gives the nearest number to x + y, also below the normal numbers.
func odd(x, y, sum float64) float64 {
	part := sum - x
	rest := (x - (sum - part)) + (y - part) // x + y − sum
	bits := math.Float64bits(sum)
	switch {
	case rest == 0 || bits&1 == 1:
		return sum
	case (rest > 0) == (sum > 0):
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// Lanes computes to = x∘y + z, each entry rounded once.
func Lanes(to, x, y, z *[Block]float32) {
	unsure, sums := int64(0), [Block]float32{}
	for i, v := range x {
		sum := float64(v)*float64(y[i]) + float64(z[i])
		unsure |= middle(sum) | small(sum)
		sums[i] = float32(sum)
	}
	if unsure < 0 {
		for i, v := range x {
			sums[i] = Float32(v, y[i], z[i])
		}
	}
	*to = sums
}

// Scaled adds x·y to sum, each entry rounded once.
func Scaled(sum *[Block]float32, x float32, y *[Block]float32) {
	unsure, sums := int64(0), [Block]float32{}
	for i, v := range y {
		sum := float64(x)*float64(v) + float64(sum[i])
		unsure |= middle(sum) | small(sum)
		sums[i] = float32(sum)
	}
	if unsure < 0 {
		for i, v := range y {
			sums[i] = Float32(x, v, sum[i])
		}
	}
	*sum = sums
}

// Negated computes to = −x∘y + z, each entry rounded once.
func Negated(to, x, y, z *[Block]float32) {
	unsure, sums := int64(0), [Block]float32{}
	for i, v := range x {
		sum := float64(z[i]) - float64(v)*float64(y[i])
		unsure |= middle(sum) | small(sum)
		sums[i] = float32(sum)
	}
	if unsure < 0 {
		for i, v := range x {
			sums[i] = Float32(-v, y[i], z[i])
		}
	}
	*to = sums
}

// few are the bits that are 0 in numbers of at most 14 significant bits, such as numbers of bfloat16.
const few = 1<<10 - 1

// product is Product, unless a sum may have been rounded twice: then it returns false. Products of at most 28 bits
// reach the middle of two numbers only if their sum is exact. A sum is exact below the normal numbers if no product is
// a fraction of the least number.
func product(c *[Tile][Tile]float32, a, b *Panel) (sure bool) {
	if (a.bits|b.bits)&few == 0 {
		short(c, a.numbers, b.numbers)
		return true
	}
	unsure := int64(0)
	for i := range c {
		var c0, c1, c2, c3 float64
		for l := 0; l+Tile <= len(a.numbers) && l+Tile <= len(b.numbers); l += Tile {
			x, y := a.numbers[l+i], b.numbers[l:l+Tile:l+Tile]
			s0, s1, s2, s3 := x*y[0]+c0, x*y[1]+c1, x*y[2]+c2, x*y[3]+c3
			unsure |= middle(s0) | middle(s1) | middle(s2) | middle(s3)
			c0, c1, c2, c3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
		}
		c[i] = [Tile]float32{float32(c0), float32(c1), float32(c2), float32(c3)}
	}
	const fraction = 2*127 + 2*23 - 149
	return unsure >= 0 && a.least+b.least >= fraction
}

// short is product for numbers of few bits.
func short(c *[Tile][Tile]float32, a, b []Number) {
	for i := range c {
		var c0, c1, c2, c3 float64
		for l := 0; l+Tile <= len(a) && l+Tile <= len(b); l += Tile {
			x, y := a[l+i], b[l:l+Tile:l+Tile]
			c0, c1 = float64(float32(x*y[0]+c0)), float64(float32(x*y[1]+c1))
			c2, c3 = float64(float32(x*y[2]+c2)), float64(float32(x*y[3]+c3))
		}
		c[i] = [Tile]float32{float32(c0), float32(c1), float32(c2), float32(c3)}
	}
}
