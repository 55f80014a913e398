package main

import "math"

// The activation functions of one number.

func relu(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, zero := f.scratch(), f.scratch()
	f.set(zero, 0)
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VMAXPS", v, zero, v) // NaN, and −0, of x
		f.op("VADDPS", zero, v, v) // −0 + 0 = 0
		f.store(v, y)
	})
}

func reluBackward(f *fn) {
	dx, x, dy := f.pointer("dx_base"), f.pointer("x_base"), f.pointer("dy_base")
	v, d, zero := f.scratch(), f.scratch(), f.scratch()
	f.set(zero, 0)
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.load(dy, d)
		if f.wide() {
			f.op("VCMPPS", greater, zero, v, "K2")
			f.op("VMOVAPS.Z", d, "K2", d)
		} else {
			f.op("VCMPPS", greater, zero, v, v)
			f.op("VANDPS", v, d, d)
		}
		f.store(d, dx)
	})
}

// relu2 computes y = max(x, 0)², 0 below 2⁻⁶³, where the square may not be a normal number.
func relu2(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, t, zero := f.scratch(), f.scratch(), f.scratch()
	f.set(zero, 0)
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VMAXPS", v, zero, v)
		f.flush(v, above63, t)
		f.op("VMULPS", v, v, v)
		f.store(v, y)
	})
}

// relu2Backward computes dx = 2·dy·max(x, 0).
func relu2Backward(f *fn) {
	dx, x, dy := f.pointer("dx_base"), f.pointer("x_base"), f.pointer("dy_base")
	v, t, zero := f.scratch(), f.scratch(), f.scratch()
	f.set(zero, 0)
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VMAXPS", v, zero, v)
		f.flush(v, above63, t)
		f.load(dy, t)
		f.op("VMULPS", t, v, v)
		f.op("VADDPS", v, v, v)
		f.store(v, dx)
	})
}

// Predicates of VCMPPS.
const (
	equal      = "$0"  // false of NaN
	notEqual   = "$4"  // true of NaN
	less       = "$17" // false of NaN
	notLess    = "$21" // true of NaN
	greater    = "$30" // false of NaN
	notGreater = "$26" // true of NaN
	notAtLeast = "$25" // true of NaN
	atLeast    = "$29" // false of NaN
)

// exp computes y = e^(x−shift)·scale, or 0 if that is not a normal number.
func exp(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	shift, scale := f.spreadParam("shift"), f.spreadParam("scale")
	v, s, p, t, n, least := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	f.op("VANDPS", pair(1<<31-1), scale, s) // the least normal number divided by the scale
	f.op("VMINPS", s, f.inRegister(number(1), least), s)
	f.set(least, number(leastNormal))
	f.op("VDIVPS", s, least, least)
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VSUBPS", shift, v, v)
		f.expBound(p, v, s, t, n)
		if f.wide() {
			f.op("VCMPPS", notLess, least, p, "K4")
			f.op("VMULPS.Z", scale, p, "K4", p)
		} else {
			f.op("VCMPPS", less, least, p, t)
			f.op("VANDNPS", p, t, p)
			f.op("VMULPS", scale, p, p)
		}
		f.store(p, y)
	})
}

// The exact GELU needs Φ(−t) = R(t)·e^(−t²/2) for t = |x|, where R falls slowly from ½ like 1/t: a polynomial in
// u = 3/(3 + t).
const (
	// Of the constants with a good fit, the one with the smallest rounding errors: t + 3 stays below 4 where R is
	// steep.
	millsBend = 3
	millsEnd  = 14.5     // end of the fitted range
	tailEnd   = 13.14605 // beyond, t·Φ(−t) is not a normal number

	// Beyond slopeEnd, the slope is within 2⁻⁸⁰ of 0 or 1: its products with gradients would not be normal numbers.
	slopeEnd = 10.63
)

// millsRatio is the polynomial in u nearest to R(t) = e^(t²/2)·Φ(−t), to 2.6e-8 of its value. The test finds it.
var millsRatio = []constant{
	number(5.308889e-06), number(0.13283375), number(0.13474558), number(0.10613174), number(0.14061545),
	number(-0.09678582), number(0.27709487), number(-0.31935057), number(0.15192862), number(-0.027218916),
}

// mills holds the registers of a tail of the normal distribution: t = min(|x|, end), R(t) in q and e^(−t²/2) in p, and
// three that the computation overwrites.
type mills struct{ t, q, p, s, rest, n vec }

func (f *fn) mills() mills {
	return mills{t: f.scratch(), q: f.scratch(), p: f.scratch(), s: f.scratch(), rest: f.scratch(), n: f.scratch()}
}

// normalTail computes r for x; p is 0 from the end on.
func (f *fn) normalTail(r mills, x vec, end float64) {
	f.op("VANDPS", pair(1<<31-1), x, r.s)
	f.op("VMINPS", r.s, f.inRegister(number(end), r.t), r.t)
	if f.wide() {
		f.op("VCMPPS", notAtLeast, number(end), r.t, "K4")
	}
	f.op("VMULPS", r.t, r.t, r.s)
	f.op("VMOVAPS", r.s, r.rest)
	f.op("VFMSUB231PS", r.t, r.t, r.rest) // the rounding error of t²
	f.exp(r.p, r.s, r.q, r.n, -0.5, &r.rest, f.wide())
	if !f.wide() {
		f.op("VCMPPS", atLeast, number(end), r.t, r.s)
		f.op("VANDNPS", r.p, r.s, r.p)
	}
	f.op("VADDPS", number(millsBend), r.t, r.n)
	f.op("VDIVPS", r.n, f.inRegister(number(millsBend), r.s), r.n)
	f.horner(r.q, r.n, millsRatio)
}

// gelu computes y = x·Φ(x) = max(x, 0) − t·Φ(−t), t = |x|, which never cancels.
func gelu(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, r, zero := f.scratch(), f.mills(), f.scratch()
	f.set(zero, 0)
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.normalTail(r, v, tailEnd)
		f.op("VMAXPS", v, zero, v)
		f.op("VMULPS", r.q, r.t, r.q) // not q·p, which may be denormal before it is multiplied by t
		f.op("VFNMADD231PS", r.q, r.p, v)
		f.store(v, y)
	})
}

// geluBackward computes dx = dy·(Φ(x) + x·φ(x)): with D = e^(−t²/2)·(R(t) − t/√(2π)), D left of 0 and 1 − D right of
// it.
func geluBackward(f *fn) {
	dx, x, dy := f.pointer("dx_base"), f.pointer("x_base"), f.pointer("dy_base")
	v, r := f.scratch(), f.mills()
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.normalTail(r, v, slopeEnd)
		f.op("VFNMADD231PS", number(1/math.Sqrt(2*math.Pi)), r.t, r.q)
		f.op("VMULPS", r.q, r.p, r.p)
		one := f.inRegister(number(1), r.s)
		if f.wide() {
			f.op("VPMOVD2M", v, "K2")
			f.op("KNOTW", "K2", "K2")
			f.op("VSUBPS", r.p, one, "K2", r.p)
		} else {
			f.op("VSUBPS", r.p, one, r.q)
			f.op("VBLENDVPS", v, r.p, r.q, r.p)
		}
		f.load(dy, v)
		f.op("VMULPS", v, r.p, r.p)
		f.store(r.p, dx)
	})
}

// The constants of the tanh form: 2u = x·(tanhA + tanhB·x²). Beyond flat, it is x or 0 to a float32.
const (
	tanhA = 2 * 0.7978845608028654
	tanhB = tanhA * 0.044715
	flat  = 30
)

// Logistic functions count as 0 from e^(−x) = 2⁸⁰ on, and as 1 from e^(−x) = 2⁻⁸⁰ on, if they or their slopes are
// factors of a product: it would not be a normal number.
const (
	slopeMost  = 1 << 80
	slopeLeast = -55.4
)

// geluTanh computes y = x/(1 + e^(−2u)).
func geluTanh(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, r := f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VMAXPS", v, f.inRegister(number(-flat), r.t), v) // so that −∞ gives 0
		f.minusTwoU(r.m, v, r.t)
		f.expBound(r.e, r.m, r.s, r.t, r.n)
		f.op("VADDPS", number(1), r.e, r.e)
		f.op("VDIVPS", r.e, v, v)
		f.store(v, y)
	})
}

// minusTwoU computes m = −2u for x, and leaves x² in t.
func (f *fn) minusTwoU(m, x, t vec) {
	f.op("VMULPS", x, x, t)
	f.set(m, number(-tanhA))
	f.op("VFMADD231PS", number(-tanhB), t, m)
	f.op("VMULPS", x, m, m)
}

// geluTanhBackward computes dx = dy·s·(1 + x·(1−s)·2u'), s = 1/(1 + e), 1−s = s·e, e = e^(−2u).
func geluTanhBackward(f *fn) {
	dx, x, dy := f.pointer("dx_base"), f.pointer("x_base"), f.pointer("dy_base")
	v, r, w := f.scratch(), f.sigma(), f.scratch()
	f.blocks(f.param("x_len"), func() {
		f.load(x, w)
		f.bound(v, w, number(-flat), number(flat))
		f.minusTwoU(r.m, v, r.t)
		f.set(w, number(tanhA))
		f.op("VFMADD231PS", number(3*tanhB), r.t, w)
		f.op("VMULPS", v, w, w) // x·2u'
		f.logisticOf(r)
		f.op("VMULPS", r.e, w, w)
		f.op("VFMADD213PS", r.s, r.s, w)
		f.load(dy, v)
		f.op("VMULPS", v, w, w)
		f.store(w, dx)
	})
}

// silu computes y = x/(1 + e^(−x)).
func silu(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, r := f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.silu(r, x, v, pair(plusInf))
		f.store(v, y)
	})
}

// sigma holds the registers of the logistic function: e^(−x) or 1 − σ(x) in e, σ(x) in s, and three that the
// computation overwrites.
type sigma struct{ m, e, s, t, n vec }

func (f *fn) sigma() sigma {
	return sigma{m: f.scratch(), e: f.scratch(), s: f.scratch(), t: f.scratch(), n: f.scratch()}
}

// silu computes v = x/(1 + e^(−x)) for the present block of x, 0 where e^(−x) is above most. It overwrites r.
func (f *fn) silu(r sigma, x string, v vec, most constant) {
	f.load(x, v)
	f.op("VMAXPS", v, f.inRegister(number(-expMost), r.t), v) // so that −∞ gives 0
	f.minus(r.m, v)
	f.expBound(r.e, r.m, r.s, r.t, r.n)
	if most != pair(plusInf) {
		f.shareUpTo(most, v, r.e, r.t, r.n)
		return
	}
	f.op("VADDPS", number(1), r.e, r.e)
	f.op("VDIVPS", r.e, v, v)
}

// minus computes m = −x.
func (f *fn) minus(m, x vec) {
	f.set(m, 0)
	f.op("VSUBPS", x, m, m)
}

// siluBackward computes dx = dy·s·(1 + x·(1−s)), s = σ(x).
func siluBackward(f *fn) {
	dx, x, dy := f.pointer("dx_base"), f.pointer("x_base"), f.pointer("dy_base")
	v, r := f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.load(x, r.m)
		f.bound(v, r.m, number(-expMost), number(expMost))
		f.logistic(r, v)
		f.op("VMULPS", r.e, v, v)
		f.op("VFMADD213PS", r.s, r.s, v)
		f.load(dy, r.t)
		f.op("VMULPS", r.t, v, v)
		f.store(v, dx)
	})
}

// logistic computes s = σ(x) = 1/(1 + e^(−x)) and e = 1 − s.
func (f *fn) logistic(r sigma, x vec) {
	f.minus(r.m, x)
	f.logisticOf(r)
}

// logisticOf computes s = 1/(1 + e^m) and e = 1 − s = s·e^m.
func (f *fn) logisticOf(r sigma) {
	f.expAbove(slopeLeast, r.e, r.m, r.s, r.t, r.n)
	f.set(r.s, number(1))
	f.shareUpTo(number(slopeMost), r.s, r.e, r.t, r.n)
	f.op("VMINPS", r.e, f.inRegister(number(math.MaxFloat32), r.t), r.e) // ∞·0 is not 0
	f.op("VMULPS", r.s, r.e, r.e)
}

// sigmoid computes y = 1/(1 + e^(−x)).
func sigmoid(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, r := f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.minus(r.m, v)
		f.expBound(r.e, r.m, r.s, r.t, r.n)
		f.set(v, number(1))
		f.shareUpTo(number(1<<126), v, r.e, r.t, r.n) // above, y is not a normal number
		f.store(v, y)
	})
}

// sigmoidBackward computes dx = dy·s(1−s), s = σ(x).
func sigmoidBackward(f *fn) {
	dx, x, dy := f.pointer("dx_base"), f.pointer("x_base"), f.pointer("dy_base")
	v, r := f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.logistic(r, v)
		f.op("VMULPS", r.s, r.e, r.e)
		f.load(dy, v)
		f.op("VMULPS", v, r.e, r.e)
		f.store(r.e, dx)
	})
}

// softplus computes y = max(x, 0) + ln(1 + e^(−|x|)). With w = 2e/(2 + e), the logarithm of 1 + e is 2·artanh(w/2) =
// Σ w·(w/2)²ᵏ/(2k + 1), as in plain Go.
func softplus(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, e, r := f.scratch(), f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.minus(r.m, v)
		f.op("VMINPS", v, r.m, r.m)
		f.expAbove(expLeast, e, r.m, r.s, r.t, r.n)
		f.op("VADDPS", number(2), e, r.t)
		f.op("VADDPS", e, e, e)
		f.op("VDIVPS", r.t, e, e)
		f.op("VMOVAPS", e, r.m)
		f.flush(r.m, above63, r.t)
		f.op("VMULPS", r.m, r.m, r.m)
		var c []constant
		for k := range 7 {
			c = append(c, number(math.Pow(4, -float64(k))/float64(2*k+1)))
		}
		f.horner(r.s, r.m, c)
		f.set(r.t, 0)
		f.op("VMAXPS", v, r.t, v) // NaN of x
		f.op("VFMADD231PS", e, r.s, v)
		f.store(v, y)
	})
}
