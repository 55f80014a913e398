package main

// tanhEnd is where tanh x is 1 up to half of its last place.
const tanhEnd = 8.7

// The quotient x·N(x²)/D(x²) nearest to tanh x for |x| ≤ 9, to 2.1e-8 of its value.
var (
	tanhNumerator = []constant{
		number(1), number(0.13380972), number(0.0034955232), number(2.0607988e-05), number(1.3353129e-08),
	}
	tanhDenominator = []constant{
		number(1.00000002), number(0.46714288), number(0.025876738), number(0.00032855273), number(7.775933e-07),
	}
)

// softcap computes x ← c·tanh(x/c) and, if it is wanted, slope ← 1 − tanh²(x/c). The square of a small quotient would
// be below the normal numbers, so 2⁻¹⁰⁰ is added to it.
func softcap(f *fn) {
	x, slope := f.pointer("x_base"), f.pointer("slope_base")
	limit, share := f.spreadParam("limit"), f.scratch()
	v, s, n, d := f.scratch(), f.scratch(), f.scratch(), f.scratch()
	f.set(share, number(1))
	f.op("VDIVPS", limit, share, share)
	f.masked(slope, func(wanted bool) {
		f.blocks(f.param("x_len"), func() {
			f.load(x, v)
			f.flush(v, above95, s)
			f.op("VMULPS", share, v, v)
			f.set(s, number(0x1p-100))
			f.op("VFMADD231PS", v, v, s)
			f.op("VMINPS", s, f.inRegister(number(tanhEnd*tanhEnd), n), s)
			f.horner(n, s, tanhNumerator)
			f.horner(d, s, tanhDenominator)
			f.op("VMULPS", n, v, v)
			f.op("VDIVPS", d, v, v)
			f.bound(s, v, number(-1), number(1))
			f.op("VMULPS", limit, s, v)
			f.store(v, x)
			if wanted {
				f.set(n, number(1))
				f.op("VFNMADD231PS", s, s, n)
				f.store(n, slope)
			}
		})
	})
}
