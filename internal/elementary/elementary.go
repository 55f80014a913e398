// Package elementary computes elementary functions in float64 with the same bits on every processor. The functions of
// package math have other bits on some: assembly replaces a few of them, and the compiler may fuse a product and a sum
// of the others. The functions here convert every product that is added, which keeps the compiler from fusing it.
//
// The results are within 2 units in the last place of float64, unless a function says otherwise.
package elementary

import "math"

// ln 2, log₂e and π/2 as sums of numbers. The product of ln2High, which has 32 bits, with an exponent is exact.
const (
	ln2High   = 0x1.62e42feep-1
	ln2Low    = math.Ln2 - ln2High
	log2e     = 1 / math.Ln2
	halfPi    = 0x1.921fb54442d18p0
	halfPiLow = 0x1.1a62633145c07p-54
	halfPiEnd = -0x1.f1976b7ed8fbcp-110
)

// horner returns Σ c[k]·xᵏ.
func horner(x float64, c ...float64) float64 {
	sum := c[len(c)-1]
	for k := len(c) - 2; k >= 0; k-- {
		sum = float64(sum*x) + c[k]
	}
	return sum
}

// exponential and inverse hold the coefficients of the series of (eʳ − 1 − r)/r² in r and of artanh(s)/s − 1 in s²,
// without the factor s².
var (
	exponential = [12]float64{1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
		1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800}
	inverse = [12]float64{1. / 3, 1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23,
		1. / 25}
)

// series returns Σ c[k]·xᵏ. It adds neighbours first, so that the processor computes several at a time.
func series(x float64, c *[12]float64) float64 {
	x2 := float64(x * x)
	x4 := float64(x2 * x2)
	a := (c[0] + float64(c[1]*x)) + float64((c[2]+float64(c[3]*x))*x2)
	b := (c[4] + float64(c[5]*x)) + float64((c[6]+float64(c[7]*x))*x2)
	d := (c[8] + float64(c[9]*x)) + float64((c[10]+float64(c[11]*x))*x2)
	return a + float64((b+float64(d*x4))*x4)
}

// times returns x·2ⁿ, rounded once.
func times(x float64, n int) float64 {
	if n < -1000 || n > 1000 {
		return math.Ldexp(x, n)
	}
	return x * math.Float64frombits(uint64(1023+n)<<52)
}

// less1 returns e^(r+low) − 1 = (eʳ − 1) + low·eʳ for |r| ≤ ½·ln 2 and a low far below r, by Taylor's series to r¹³.
func less1(r, low float64) float64 {
	tail := float64(r * r * series(r, &exponential))
	return r + (float64(low*(1+r+tail)) + tail)
}

// reduced returns n and r + low = x + rest − n·ln 2 with |r| ≤ ½·ln 2.
func reduced(x, rest float64) (n int, r, low float64) {
	whole := math.RoundToEven(float64(x * log2e))
	high, tail := x-float64(whole*ln2High), float64(whole*ln2Low)
	r = high - tail
	return int(whole), r, (high - r - tail) + rest
}

// exp returns e^(x+rest) for a rest far below x.
func exp(x, rest float64) float64 {
	switch {
	case x != x || x > 800:
		return x * x // +∞ or NaN
	case x < -800:
		return 0
	}
	n, r, low := reduced(x, rest)
	return times(1+less1(r, low), n)
}

// Exp returns eˣ.
func Exp(x float64) float64 {
	if x > 710 {
		return math.Inf(1)
	}
	return exp(x, 0)
}

// Expm1 returns eˣ − 1.
func Expm1(x float64) float64 {
	switch {
	case x == 0 || x != x:
		return x
	case x > 710:
		return math.Inf(1)
	case x < -50:
		return -1
	}
	n, r, low := reduced(x, 0)
	if n == 0 {
		return less1(x, 0)
	}
	return times(less1(r, low)+(1-times(1, -n)), n)
}

// artanh returns 2·artanh(s) − 2s for |s| < 0.18, by its series to s²⁵.
func artanh(s float64) float64 {
	z := float64(s * s)
	return float64(2 * s * z * series(z, &inverse))
}

// near1 returns ln(1 + f) for 1 + f between √½ and √2: 2s = f − s·f with s = f/(2 + f).
func near1(f float64) float64 {
	s := f / (2 + f)
	return f - (float64(s*f) - artanh(s))
}

// parts returns x = (1 + f)·2ⁿ with 1 + f between √½ and √2.
func parts(x float64) (f float64, n int) {
	m, n := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, n = 2*m, n-1
	}
	return m - 1, n
}

// Log returns ln x.
func Log(x float64) float64 {
	if !(x > 0) || x > math.MaxFloat64 {
		return math.Log(x) // −∞, ∞ or NaN
	}
	f, n := parts(x)
	if n == 0 {
		return near1(f)
	}
	return float64(float64(n)*ln2High) + (near1(f) + float64(float64(n)*ln2Low))
}

// Log1p returns ln(1 + x).
func Log1p(x float64) float64 {
	switch {
	case x == 0:
		return x
	case x > -0.29 && x < 0.41:
		return near1(x)
	case !(x > -1) || x > 0x1p60:
		return Log(1 + x)
	}
	sum := 1 + x
	return Log(sum) + (x-(sum-1))/sum
}

// Tanh returns tanh x = (e²ˣ − 1)/(e²ˣ + 1), within 4 units in the last place.
func Tanh(x float64) float64 {
	switch {
	case x > 22:
		return 1
	case x < -22:
		return -1
	case x < 0:
		return -Tanh(-x)
	}
	t := Expm1(2 * x)
	return t / (t + 2)
}

// Pow returns xʸ, with the special cases of math.Pow. It is within (2 + |y·ln x|/64) units in the last place.
func Pow(x, y float64) float64 {
	switch {
	case x == 0 || y == 0 || x != x || y != y || math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Pow(x, y)
	case x < 0:
		whole := math.Trunc(y)
		if whole != y {
			return math.NaN()
		}
		if power := Pow(-x, y); math.Mod(whole, 2) == 0 {
			return power
		} else {
			return -power
		}
	}
	high, low := logarithm(x)
	product := float64(y * high)
	if math.Abs(product) > 800 {
		return Exp(product)
	}
	return exp(product, math.FMA(y, high, -product)+float64(y*low))
}

// logarithm returns ln x as a sum, within 2⁻⁵⁹ of it.
func logarithm(x float64) (high, low float64) {
	f, n := parts(x)
	d := 2 + f
	s := f / d
	rest := (math.FMA(-s, d, f) - float64(s*(f-(d-2)))) / d // of s
	first := float64(float64(n) * ln2High)
	high = first + 2*s
	part := high - first
	low = (first - (high - part)) + (2*s - part)
	low += 2*rest + artanh(s) + float64(float64(n)*ln2Low)
	return high + low, low - ((high + low) - high)
}

// Sin returns sin x. Above 2³⁰ it has the bits of math.Sin.
func Sin(x float64) float64 {
	if !(math.Abs(x) <= 1<<30) {
		return math.Sin(x)
	}
	return circle(x, 0)
}

// Cos returns cos x. Above 2³⁰ it has the bits of math.Cos.
func Cos(x float64) float64 {
	if !(math.Abs(x) <= 1<<30) {
		return math.Cos(x)
	}
	return circle(x, 1)
}

// circle returns sin(x + quarters·π/2).
func circle(x float64, quarters int) float64 {
	whole := math.RoundToEven(float64(x * (2 / math.Pi)))
	product := float64(whole * halfPi)
	// x − product is exact: the two are equal or close.
	high, low := x-product, -math.FMA(whole, halfPi, -product)
	r := high + low
	low += high - r
	second := float64(whole * halfPiLow)
	high = r
	r = high - second
	low += (high - r - second) - float64(whole*halfPiEnd)
	z := float64(r * r)
	var y float64
	switch (int(whole) + quarters) & 1 {
	case 0:
		y = r + (low + float64(r*z*horner(z, -1./6, 1./120, -1./5040, 1./362880, -1./39916800, 1./6227020800,
			-1./1307674368000, 1./355687428096000)))
	default:
		y = 1 - (float64(z/2) + float64(r*low) - float64(z*z*horner(z, 1./24, -1./720, 1./40320, -1./3628800,
			1./479001600, -1./87178291200, 1./20922789888000)))
	}
	if (int(whole)+quarters)&2 != 0 {
		return -y
	}
	return y
}
