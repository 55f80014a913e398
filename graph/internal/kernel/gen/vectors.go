package main

import "fmt"

// The kernels of entire vectors of numbers, and the list of all kernels.

var kernels = []kernel{
	{"add", "(z, x, y []float32)", add},
	{"mul", "(z, x, y []float32)", mul},
	{"mulAdd", "(z, x, y []float32)", mulAdd},
	{"relu", "(y, x []float32)", relu},
	{"reluBackward", "(dx, x, dy []float32)", reluBackward},
	{"relu2", "(y, x []float32)", relu2},
	{"relu2Backward", "(dx, x, dy []float32)", relu2Backward},
	{"exp", "(y, x []float32, shift, scale float32)", exp},
	{"gelu", "(y, x []float32)", gelu},
	{"geluBackward", "(dx, x, dy []float32)", geluBackward},
	{"geluTanh", "(y, x []float32)", geluTanh},
	{"geluTanhBackward", "(dx, x, dy []float32)", geluTanhBackward},
	{"sigmoid", "(y, x []float32)", sigmoid},
	{"sigmoidBackward", "(dx, x, dy []float32)", sigmoidBackward},
	{"silu", "(y, x []float32)", silu},
	{"siluBackward", "(dx, x, dy []float32)", siluBackward},
	{"swiglu", "(y, x, u []float32)", swiglu},
	{"swigluBackward", "(dx, du, x, u, dy []float32)", swigluBackward},
	{"softplus", "(y, x []float32)", softplus},
	{"softmax", "(x, mask []float32, cols, rows int)", softmax},
	{"softmaxTile", "(x, mask, top, total, keep []float32, cols, stride int)", softmaxTile},
	{"softmaxTileBackward", "(d, x, mask, top, total, dot []float32, cols, stride int)", softmaxTileBackward},
	{"sigmoidTile", "(x, mask, shift []float32, cols, stride int)", sigmoidTile},
	{"sigmoidTileBackward", "(d, x, mask, shift []float32, cols, stride int)", sigmoidTileBackward},
	{"softcap", "(x, slope []float32, limit float32)", softcap},
	{"dotRows", "(dot, x, y []float32, cols, stride int)", dotRows},
	{"scaleRows", "(x, factor []float32, cols, stride int)", scaleRows},
	{"scaleCols", "(x, factor []float32, rows, stride int)", scaleCols},
	{"mulAddRows", "(z, x, factor []float32, cols, stride int)", mulAddRows},
	{"inverse", "(y, x []float32)", inverse},
	{"bfloat16", "(y, x []float32)", bfloat16},
	{"solve", "(w, u, n, factor []float32, cols, stride int)", solve8},
	{"solveT", "(x, n []float32, cols, stride int)", solve8T},
	{"expSum", "(x []float32) (top float32, total float64)", expSum},
	{"layerNorm", "(y, x, w, b, mean, inv []float32, share, eps float32)", layerNorm},
	{"layerNormBackward", "(dx, dw, db, x, w, dy, mean, inv []float32, share float32)", layerNormBackward},
	{"layerNormSigma", "(y, x, w, b, mean, inv []float32, share, eps float32)", layerNormSigma},
	{
		"layerNormSigmaBackward", "(dx, dw, db, x, w, dy, mean, inv []float32, share, eps float32)",
		layerNormSigmaBackward,
	},
	{"rmsNorm", "(y, x, w, inv []float32, share, eps float32)", rmsNorm},
	{"rmsNormBackward", "(dx, dw, x, w, dy, inv []float32, share float32)", rmsNormBackward},
	{"advance", "(h, b, c []float32, carry *[128]float64)", advance},
	{"average", "(h, b, c []float32, carry *[128]float64)", average},
	{"averageBackward", "(dc, r, before, b, c []float32)", averageBackward},
	{"adamW", "(w, dw, m, v []float32, c *[9]float32)", adamW},
	{"sumSquares", "(x []float32) (sum float64)", sumSquares},
	{"dropout", "(y, x []float32, key, at, threshold uint64, factor float32)", dropout},
}

func add(f *fn) { combine(f, "VADDPS") }

func mul(f *fn) { combine(f, "VMULPS") }

func combine(f *fn, op string) {
	z, x, y := f.pointer("z_base"), f.pointer("x_base"), f.pointer("y_base")
	v, u := f.scratch(), f.scratch()
	f.blocks(f.param("z_len"), func() {
		f.load(x, v)
		f.load(y, u)
		f.op(op, u, v, v)
		f.store(v, z)
	})
}

func inverse(f *fn) {
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, one := f.scratch(), f.scratch()
	f.set(one, number(1))
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VDIVPS", v, one, v)
		f.store(v, y)
	})
}

// bfloat16 computes y = x with 8 significant bits, the even one of two neighbours: it adds half of the last place that
// remains, less one if that place is even, and clears the places below it.
func bfloat16(f *fn) {
	const sign, quiet, high = 1 << 31, 1 << 22, 0xffff0000
	y, x := f.pointer("y_base"), f.pointer("x_base")
	v, r, t, mask := f.scratch(), f.scratch(), f.scratch(), f.scratch()
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.op("VPSRLD", "$16", v, r)
		f.op("VANDPS", pair(1), r, r)
		f.op("VPADDD", pair(0x7fff), r, r)
		f.op("VPADDD", v, r, r)
		f.op("VORPS", pair(quiet), v, t)
		f.choose(t, r, equal, v, v, mask) // NaN stays NaN
		f.op("VANDPS", pair(high), t, t)
		f.op("VANDPS", pair(sign-1), v, r)
		f.op("VANDPS", pair(sign), v, v)
		f.choose(t, v, less, number(0x1p-126), r, mask)
		f.store(t, y)
	})
}

// choose sets the lanes of to in which b and a compare as the predicate says to the lanes of v. It overwrites mask.
func (f *fn) choose(to, v vec, predicate string, a any, b, mask vec) {
	if f.wide() {
		f.op("VCMPPS", predicate, a, b, "K2")
		f.op("VMOVAPS", v, "K2", to)
		return
	}
	f.op("VCMPPS", predicate, a, b, mask)
	f.op("VBLENDVPS", mask, v, to, to)
}

func mulAdd(f *fn) {
	z, x, y := f.pointer("z_base"), f.pointer("x_base"), f.pointer("y_base")
	v, u, sum := f.scratch(), f.scratch(), f.scratch()
	f.blocks(f.param("z_len"), func() {
		f.load(x, v)
		f.load(y, u)
		f.load(z, sum)
		f.op("VFMADD213PS", sum, u, v)
		f.store(v, z)
	})
}

// adamW takes the constants scale, β₁, 1−β₁, β₂, 1−β₂, keep, rate, root, ε. m below 2⁻⁹⁵, v and g² below 2⁻¹¹¹ and g
// below 2⁻⁶³ in g² count as 0. No square is then below the normal numbers, nor do the moments of unused weights fall
// below them: m would stay there for good, since 0.9 of the least number is rounded to it. An ε of 1e-8 hides all of
// them.
func adamW(f *fn) {
	w, dw, m := f.pointer("w_base"), f.pointer("dw_base"), f.pointer("m_base")
	v, c := f.pointer("v_base"), f.pointer("c")
	k := f.scratches(9)
	for i, v := range k {
		f.op("VBROADCASTSS", fmt.Sprintf("%d(%s)", bytes*i, c), v)
	}
	g, first, second, t := f.scratch(), f.scratch(), f.scratch(), f.scratch()
	f.blocks(f.param("w_len"), func() {
		f.load(dw, g)
		f.load(m, first)
		f.load(v, second)
		f.flush(first, above95, t)
		f.flush(second, above111, t)
		f.op("VMULPS", k[0], g, g)
		f.op("VMULPS", k[2], g, t)
		f.op("VFMADD213PS", t, k[1], first)
		f.flush(g, above63, t)
		f.op("VMULPS", g, g, g)
		f.flush(g, above111, t)
		f.op("VMULPS", k[4], g, g)
		f.op("VFMADD213PS", g, k[3], second)
		f.store(first, m)
		f.store(second, v)
		f.op("VSQRTPS", second, second)
		f.op("VFMADD213PS", k[8], k[7], second)
		f.op("VMULPS", k[6], first, first)
		f.op("VDIVPS", second, first, first)
		f.load(w, t)
		f.op("VFMSUB213PS", first, k[5], t)
		f.store(t, w)
	})
}

func sumSquares(f *fn) {
	x := f.pointer("x_base")
	v, t := f.scratch(), f.scratch()
	sum := f.double()
	f.each(func() { f.set(sum[0], 0); f.set(sum[1], 0) })
	f.blocks(f.param("x_len"), func() {
		f.load(x, v)
		f.widen(sum, v, t, func(sum vec) { f.op("VFMADD231PD", t, t, sum) })
	})
	f.foldDouble(sum, t)
	f.op("VMOVSD", f.low("X", sum[0]), f.param("sum"))
}

// dropout keeps entry i if hash(key ^ (at + i·entryStep)) >> 11 is not below the threshold. The hash is splitmix64's.
func dropout(f *fn) {
	const entryStep = 0xd1342543de82ef95
	y, x, scalar := f.pointer("y_base"), f.pointer("x_base"), f.register()
	spread := func(name string) vec {
		v := f.scratch()
		f.op("MOVQ", f.param(name), scalar)
		if f.wide() {
			f.op("VPBROADCASTQ", scalar, v)
		} else {
			f.op("VMOVQ", scalar, f.low("X", v))
			f.op("VPBROADCASTQ", f.low("X", v), v)
		}
		return v
	}
	factor, key, threshold := f.spreadParam("factor"), spread("key"), spread("threshold")
	v, z, t, u := f.scratch(), f.scratch(), f.scratch(), f.scratch()
	counters := f.double() // 64 bits each, like the partial sums
	start := spread("at")
	f.each(func() {
		for i, c := range counters {
			f.op("VPADDQ", f.pool.multiples(entryStep, f.lanes*bytes*(2*f.part+i)), start, c)
		}
	})
	drop := start
	f.blocks(f.param("x_len"), func() {
		for i, c := range counters {
			f.xor(key, c, z)
			f.op("VPADDQ", constant(block*entryStep&(1<<64-1)), c, c)
			f.mix(z, t, u, 30, 0xbf58476d1ce4e5b9)
			f.mix(z, t, u, 27, 0x94d049bb133111eb)
			f.shiftXor(z, t, 31)
			f.op("VPSRLQ", "$11", z, z)
			switch {
			case f.wide():
				f.op("VPCMPUQ", "$5", threshold, z, fmt.Sprintf("K%d", 2+i)) // not below
			case i == 0:
				f.op("VPCMPGTQ", z, threshold, drop)
			default:
				f.op("VPCMPGTQ", z, threshold, z)
			}
		}
		f.load(x, v)
		if f.wide() {
			f.op("KUNPCKBW", "K2", "K3", "K2")
			f.op("VMOVAPS.Z", factor, "K2", t)
		} else { // the lower 32 of each 64 bits, back in order
			f.op("VSHUFPS", "$0x88", z, drop, t)
			if f.arch == "amd64" {
				f.op("VPERMQ", "$0xd8", t, t)
			}
			f.op("VANDNPS", factor, t, t)
		}
		f.op("VMULPS", t, v, v)
		f.store(v, y)
	})
}

// shiftXor computes z ^= z >> n.
func (f *fn) shiftXor(z, t vec, n int) {
	f.op("VPSRLQ", fmt.Sprintf("$%d", n), z, t)
	f.xor(t, z, z)
}

func (f *fn) xor(a any, b, to vec) {
	if f.wide() {
		f.op("VPXORQ", a, b, to)
	} else {
		f.op("VPXOR", a, b, to)
	}
}

// mix computes z = (z ^ z>>n)·m, which AVX2 composes of products of 32 bits.
func (f *fn) mix(z, t, u vec, n int, m constant) {
	f.shiftXor(z, t, n)
	if f.wide() {
		f.op("VPMULLQ", m, z, z)
		return
	}
	if f.arch == "arm64" {
		f.neonMultiply(z[f.part], t[f.part], u[f.part], f.neonOperand(m))
		return
	}
	f.op("VPSRLQ", "$32", z, t)
	f.op("VPMULUDQ", m, t, t)
	f.op("VPMULUDQ", m>>32, z, u)
	f.op("VPADDQ", u, t, t)
	f.op("VPSLLQ", "$32", t, t)
	f.op("VPMULUDQ", m, z, z)
	f.op("VPADDQ", t, z, z)
}
