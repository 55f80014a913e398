package exact

import "math"

// Real returns the constant c. A fraction of small integers is itself, and so is its root: 1/√3 is 1/√3. A multiple of
// √π or of its powers is a multiple of one random number. Any other constant is a random number, always the same one.
func (d *Draw) Real(c float64) Number {
	if out, ok := d.constants[c]; ok {
		return out
	}
	out := Number{Real: c}
	if c < 0 {
		out.Value = d.Real(-c).Value.neg()
	} else if c > 0 && !math.IsInf(c, 1) {
		out.Value = d.constant(c)
	}
	d.constants[c] = out
	return out
}

// The largest products of numerator and denominator that are taken for a fraction: few random numbers are as close to
// one.
const (
	largeFraction = 1 << 44
	largeSquare   = 1 << 26
)

func (d *Draw) constant(c float64) Element {
	if n, m, ok := fraction(c, largeFraction); ok {
		return quotient(n, m)
	}
	root := d.value("√π", 0, 0)
	for _, powers := range []int{0, 1, -1, 2, -2} { // c² πᵏ is a fraction
		n, m, ok := fraction(c*c*math.Pow(math.Pi, float64(powers)), largeSquare)
		if !ok {
			continue
		}
		value := rootOf(n * m).mul(quotient(1, m)) // √(n/m) = √(nm)/m
		for ; powers > 0; powers-- {
			value = value.mul(root.inverse())
		}
		for ; powers < 0; powers++ {
			value = value.mul(root)
		}
		return value
	}
	return d.value("constant", Element(math.Float64bits(c)%P), 0)
}

func quotient(n, m int64) Element { return Of(n).mul(Of(m).inverse()) }

// rootOf returns √n, where the root of a square is its positive root and roots multiply.
func rootOf(n int64) Element {
	value := Element(1)
	for prime := int64(2); prime*prime <= n; prime++ {
		for ; n%(prime*prime) == 0; n /= prime * prime {
			value = value.mul(Of(prime))
		}
	}
	return value.mul(Of(n).root())
}

// fraction returns c as a fraction of integers whose product is at most the given one, by its continued fraction.
func fraction(c, most float64) (n, m int64, ok bool) {
	const rounding = 16 * 0x1p-53
	n0, m0, n1, m1 := 0.0, 1.0, 1.0, 0.0 // the last two convergents
	for rest := c; ; rest = 1 / (rest - math.Floor(rest)) {
		whole := math.Floor(rest)
		n0, m0, n1, m1 = n1, m1, whole*n1+n0, whole*m1+m0
		if !(n1*m1 <= most) {
			return 0, 0, false
		}
		if math.Abs(n1/m1-c) <= rounding*c {
			return int64(n1), int64(m1), true
		}
	}
}
