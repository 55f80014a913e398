package main

import "math"

// bound computes dst = max(least, min(x, most)), NaN if x is NaN: the instruction returns its second source, Go's
// first, if one of the two is NaN. dst must not be x, which is overwritten.
func (f *fn) bound(dst, x vec, least, most constant) {
	f.op("VMINPS", x, f.inRegister(most, dst), x)
	f.op("VMAXPS", x, f.inRegister(least, dst), dst)
}

// The polynomial of e^r and the constants of its reduction.
const (
	log2e   = 1 / math.Ln2
	magic   = 3 << 22 // added to a number below 2²², it leaves the nearest integer in the low bits
	expMost = 89      // above, e^x exceeds float32

	// Below, results count as 0: an instruction whose result falls below the normal numbers is some 150 times slower on
	// Intel's processors, and so is a multiplication by that result.
	leastNormal = 0x1.00006p-126 // a little above the least normal number, so that e^expLeast is less
	expLeast    = -87.33654      // below, e^x is not a normal number

	// At shareLeast, e^x is negligible next to 1, but its products with numbers that are not tiny are still normal.
	shareLeast = -60
)

// split returns c as the sum of two float32 numbers.
func split(c float64) (hi, lo constant) {
	return number(c), number(c - float64(float32(c)))
}

// expPolynomial is the polynomial nearest to e^r = 1 + r + r²·q(r) in relative error, 3.3e-9, a twentieth of the last
// place. It holds for |r| ≤ ½·ln 2 and a little more, for the rounding of the reduction. The test finds it by Remez's
// exchange.
var expPolynomial = []float64{1, 1, 0.49999994, 0.16666521, 0.04166839, 0.008368717, 0.0013814599}

// horner computes p = Σ c[k]·x^k.
func (f *fn) horner(p, x vec, c []constant) {
	if f.arch == "arm64" {
		f.neonHorner(p[f.part], x[f.part], c)
		return
	}
	last := len(c) - 1
	f.set(p, c[last])
	for k := last - 1; k >= 0; k-- {
		f.op("VFMADD213PS", c[k], x, p)
	}
}

// exp computes p = e^(a·s), with a a power of 2 up to its sign: n = round(a·s·log₂e), r = s − n·ln 2/a, and the
// polynomial of e^(a·r) times 2ⁿ. a·s must lie between expLeast and expMost or be NaN. If masked, this holds only in
// the lanes of K4, and the others give 0. rest, if not nil, is a correction of s below its last place. exp overwrites
// s, t, n and rest.
func (f *fn) exp(p, s, t, n vec, a float64, rest *vec, masked bool) {
	hi, lo := split(math.Ln2 / a)
	f.set(t, number(magic))
	f.op("VFMADD231PS", number(a*log2e), s, t)
	f.op("VSUBPS", number(magic), t, n)
	f.op("VFNMADD231PS", hi, n, s)
	if rest != nil {
		f.op("VADDPS", *rest, s, s)
	}
	f.op("VFNMADD231PS", lo, n, s)
	var c []constant
	for k, v := range expPolynomial {
		c = append(c, number(v*math.Pow(a, float64(k))))
	}
	f.horner(p, s, c)
	switch {
	case masked:
		f.op("VSCALEFPS.Z", n, p, "K4", p)
		return
	case f.wide():
		f.op("VSCALEFPS", n, p, p)
		return
	}
	// Two factors, for n/2 and for the rest: both are normal numbers, so only the second product rounds, as in
	// VSCALEFPS.
	f.op("VPSRAD", "$1", t, n)
	f.op("VPSUBD", n, t, t)
	for _, factor := range []vec{n, t} {
		f.op("VPSLLD", "$23", factor, factor)
		f.op("VPADDD", pair(127<<23), factor, factor)
		f.op("VMULPS", factor, p, p)
	}
}

// expAbove computes p = e^x, 0 below least and ∞ if e^x is too large. It overwrites x, s, t and n.
func (f *fn) expAbove(least float64, p, x, s, t, n vec) {
	if f.wide() {
		f.op("VMINPS", x, f.inRegister(number(expMost), s), s)
		f.op("VCMPPS", notLess, number(least), s, "K4")
		f.exp(p, s, t, n, 1, nil, true)
		return
	}
	f.bound(s, x, number(least), number(expMost))
	f.op("VCMPPS", less, number(least), x, x)
	f.exp(p, s, t, n, 1, nil, false)
	f.op("VANDNPS", p, x, p)
}

// expBound computes p = e^x, but at least the least normal number, and ∞ if e^x is too large. It overwrites x, s, t and
// n.
func (f *fn) expBound(p, x, s, t, n vec) {
	f.bound(s, x, number(expLeast), number(expMost))
	f.exp(p, s, t, n, 1, nil, false)
}

// shareUpTo computes v = v/(1 + e), 0 where e is above most. It overwrites t and mask.
func (f *fn) shareUpTo(most constant, v, e, t, mask vec) {
	f.op("VADDPS", number(1), e, t)
	if f.wide() {
		f.op("VCMPPS", greater, most, e, "K4")
		f.op("VBLENDMPS", pair(plusInf), t, "K4", t)
	} else {
		f.op("VCMPPS", greater, most, e, mask)
		f.op("VANDPS", pair(plusInf), mask, mask)
		f.op("VMAXPS", t, mask, t)
	}
	f.op("VDIVPS", t, v, v)
}

// magnitude is a mask of the upper bits of an exponent. A number counts unless all of these bits are 0.
type magnitude uint32

const (
	above63  magnitude = 0x60000000 // numbers from 2⁻⁶³ on
	above95  magnitude = 0x70000000
	above111 magnitude = 0x78000000
)

// flush sets v to 0 where it is smaller. It overwrites t.
func (f *fn) flush(v vec, least magnitude, t vec) {
	if f.wide() {
		f.op("VPTESTMD", pair(uint32(least)), v, "K4")
		f.op("VMOVAPS.Z", v, "K4", v)
		return
	}
	f.op("VANDPS", pair(1<<31-1), v, t)
	f.op("VCMPPS", less, pair(uint32(least&-least)), t, t)
	f.op("VANDNPS", v, t, v)
}

// fold sums the 16 lanes of v, or takes the largest (op VADD or VMAX): 8 and 8, 4 and 4, 2 and 2, 1 and 1. The result
// is in the lowest lane of v, and in all of them after spread.
func (f *fn) fold(op string, v, t vec) {
	if f.arch == "arm64" {
		f.neonFold(op, v, t[0])
		return
	}
	x, y, tx, ty := f.low("X", v), f.low("Y", v), f.low("X", t), f.low("Y", t)
	if f.wide() {
		f.op("VEXTRACTF64X4", "$1", v, ty)
		f.op(op+"PS", ty, y, y)
	} else {
		f.op(op+"PS", vec{v[1]}, y, y)
	}
	f.op("VEXTRACTF128", "$1", y, tx)
	f.op(op+"PS", tx, x, x)
	f.op("VPERMILPS", "$14", x, tx)
	f.op(op+"PS", tx, x, x)
	f.op("VMOVSHDUP", x, tx)
	f.op(op+"SS", tx, x, x)
}

func (f *fn) spread(v vec) { f.op("VBROADCASTSS", f.low("X", v), v) }

// double is 16 partial sums in float64: lanes 0 … 7 and 8 … 15, or the halves of the lanes of each part.
type double [2]vec

func (f *fn) double() double { return double{f.saved(), f.saved()} }

// widen converts the two halves of v to float64, in t, and passes body the partial sums for each of them.
func (f *fn) widen(sum double, v, t vec, body func(sum vec)) {
	for i, s := range sum {
		f.half(v, t, i)
		body(s)
	}
}

// half converts the first or second half of v, 0 or 1, to float64.
func (f *fn) half(v, to vec, half int) {
	narrow, extract := "X", "VEXTRACTF128"
	switch {
	case f.arch == "arm64":
		f.word([]string{"fcvtl", "fcvtl2"}[half], to[f.part], v[f.part])
		return
	case f.wide():
		narrow, extract = "Y", "VEXTRACTF64X4"
	}
	if half == 1 {
		f.op(extract, "$1", v, f.low(narrow, to))
		v = to
	}
	f.op("VCVTPS2PD", f.low(narrow, v), to)
}

// narrow rounds v to float32 and puts it into the first or second half of to, 0 or 1. The second overwrites t.
func (f *fn) narrow(v, to, t vec, half int) {
	low, convert, insert := "X", "VCVTPD2PSY", "VINSERTF128"
	switch {
	case f.arch == "arm64":
		f.word([]string{"fcvtn", "fcvtn2"}[half], to[f.part], v[f.part])
		return
	case f.wide():
		low, convert, insert = "Y", "VCVTPD2PS", "VINSERTF64X4"
	}
	if half == 0 {
		f.op(convert, v, f.low(low, to))
		return
	}
	f.op(convert, v, f.low(low, t))
	f.op(insert, "$1", f.low(low, t), to, to)
}

// foldDouble sums the 16 partial sums, in the order of fold, into the lowest lane of the first register.
func (f *fn) foldDouble(sum double, t vec) {
	if f.arch == "arm64" {
		f.neonFoldDouble(sum, t[0])
		return
	}
	v := sum[0]
	x, y, tx, ty := f.low("X", v), f.low("Y", v), f.low("X", t), f.low("Y", t)
	if f.wide() {
		f.op("VADDPD", sum[1], v, v)
		f.op("VEXTRACTF64X4", "$1", v, ty)
		f.op("VADDPD", ty, y, y)
	} else {
		f.op("VADDPD", vec{v[1]}, y, y)
		f.op("VADDPD", vec{sum[1][1]}, sum[1], sum[1])
		f.op("VADDPD", sum[1], y, y)
	}
	f.op("VEXTRACTF128", "$1", y, tx)
	f.op("VADDPD", tx, x, x)
	f.op("VPERMILPD", "$1", x, tx)
	f.op("VADDSD", tx, x, x)
}
