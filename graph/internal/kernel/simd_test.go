package kernel

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// wild returns numbers, some of which are special.
func wild(rng *rand.Rand, n int) []float32 {
	x := kerneltest.Random[float32](rng, n)
	special := []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-42, -1e-42, 3e38, -3e38, 90, -90, -1e10,
		13.5, -13.5, 1e20, -1e20,
	}
	for i := range x {
		if rng.IntN(4) == 0 {
			x[i] = float32(special[rng.IntN(len(special))])
		}
	}
	return x
}

// runAll runs every kernel on vectors of n numbers and rows of n columns. numbers creates the operands, put places them
// in memory. It returns all results as float64, so that their bits can be compared.
func runAll(
	v *simd.Set, n int, numbers func(rng *rand.Rand, n int) []float32, put func([]float32) []float32,
) map[string][]float64 {
	const rows = 3
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	in := func(n int) []float32 { return put(numbers(rng, n)) }
	out := func(n int) []float32 { return put(make([]float32, n)) }
	results := map[string][]float64{}
	keep := func(name string, list ...[]float32) {
		for _, x := range list {
			for _, v := range x {
				results[name] = append(results[name], float64(v))
			}
		}
	}
	pointwise := func(name string, f func(y, x []float32)) { x, y := in(n), out(n); f(y, x); keep(name, y) }
	pointwise("relu", v.Relu)
	pointwise("relu2", v.Relu2)
	pointwise("exp", func(y, x []float32) { v.Exp(y, x, 0.5, 3) })
	pointwise("gelu", v.Gelu)
	pointwise("geluTanh", v.GeluTanh)
	pointwise("sigmoid", v.Sigmoid)
	pointwise("silu", v.Silu)
	pointwise("softplus", v.Softplus)
	pointwise("inverse", v.Inverse)
	pointwise("bfloat16", v.Bfloat16)
	pointwise("dropout", func(y, x []float32) { v.Dropout(y, x, 5, entryStep, 1<<51, 1.25) })
	binary := func(name string, f func(z, x, y []float32)) {
		x, y, z := in(n), in(n), out(n)
		f(z, x, y)
		keep(name, z)
	}
	binary("add", v.Add)
	binary("mul", v.Mul)
	binary("mulAdd", func(z, x, y []float32) { copy(z, y); v.MulAdd(z, x, y) })
	binary("reluBackward", v.ReluBackward)
	binary("relu2Backward", v.Relu2Backward)
	binary("geluBackward", v.GeluBackward)
	binary("geluTanhBackward", v.GeluTanhBackward)
	binary("sigmoidBackward", v.SigmoidBackward)
	binary("siluBackward", v.SiluBackward)
	binary("swiglu", v.Swiglu)
	gate, up, delta, dgate, dup := in(n), in(n), in(n), out(n), out(n)
	v.SwigluBackward(dgate, dup, gate, up, delta)
	keep("swigluBackward", dgate, dup)

	var carry [128]float64
	for from := 0; from < n; from += len(carry) {
		to := min(n, from+len(carry))
		h, b, c := out(n)[from:to], in(n)[from:to], in(n)[from:to]
		for i := range carry {
			carry[i] = float64(i)
		}
		v.Advance(h, b, c, &carry)
		keep("advance", h)
		results["advance"] = append(results["advance"], carry[:to-from]...)
		v.Average(h, b, c, &carry)
		keep("average", h)
		results["average"] = append(results["average"], carry[:to-from]...)
	}
	dc, r := out(n), in(n)
	v.AverageBackward(dc, r, in(n), in(n), in(n))
	keep("averageBackward", dc, r)

	w, dw, m, second := in(n), in(n), in(n), in(n)
	v.AdamW(w, dw, m, second, &[9]float32{0.5, 0.9, 0.1, 0.99, 0.01, 0.999, 1e-3, 1.5, 1e-8})
	keep("adamW", w, m, second)
	top, total := v.ExpSum(in(n))
	results["expSum"] = []float64{float64(top), total}
	results["sumSquares"] = []float64{v.SumSquares(in(n))}

	x, mask := in(rows*n), make([]float32, rows*n)
	for i := range mask {
		if mask[i] = float32(rng.IntN(3)); rng.IntN(3) == 0 || i >= n && i%n > n/2 {
			mask[i] = float32(math.Inf(-1))
		}
	}
	v.Softmax(x, put(mask), n, rows)
	keep("softmax", x)

	x, tops, totals, kept := in(rows*n), in(rows), in(rows), out(rows)
	v.SoftmaxTile(x, put(mask), tops, totals, kept, n, n)
	keep("softmaxTile", x, tops, totals, kept)
	x, d := in(rows*n), in(rows*n)
	v.SoftmaxTileBackward(d, x, put(mask), tops, totals, kept, n, n)
	keep("softmaxTileBackward", d, x)
	x, tops = in(rows*n), in(rows)
	v.SoftmaxTile(x, nil, tops, totals, kept, n, 0)
	v.SoftmaxTileBackward(d, x, nil, tops, totals, kept, n, 0)
	keep("unmasked", x, d)
	x = in(rows * n)
	v.SigmoidTile(x, put(mask), in(rows), n, n)
	keep("sigmoidTile", x)
	x, d = in(rows*n), in(rows*n)
	v.SigmoidTileBackward(d, x, put(mask), in(rows), n, n)
	keep("sigmoidTileBackward", d, x)
	x, d = in(rows*n), in(rows*n)
	v.SigmoidTile(x, nil, in(rows), n, 0)
	v.SigmoidTileBackward(d, x, nil, in(rows), n, 0)
	keep("unmasked sigmoids", x, d)
	v.DotRows(kept, x, d, n, n)
	v.ScaleRows(x, kept, n, n)
	keep("rows", kept, x)
	v.ScaleCols(x, in(n), rows, n)
	v.MulAddRows(d, x, kept, n, n)
	keep("scaled columns, and added rows", x, d)
	lower, u := in(8*9), out(8*n)
	x = in(8 * n)
	v.Solve(x, u, lower, in(8), n, 9)
	keep("solve", x, u)
	v.SolveT(x, lower, n, 9)
	keep("solveT", x)

	x, y, mean, inv := in(rows*n), out(rows*n), out(rows), out(rows)
	w, b, share := in(n), in(n), 1/float32(n)
	v.LayerNorm(y, x, w, b, mean, inv, share, 1e-5)
	keep("layerNorm", y, mean, inv)
	dx, dw, db, dy := out(rows*n), in(n), in(n), in(rows*n)
	v.LayerNormBackward(dx, dw, db, x, w, dy, mean, inv, share)
	keep("layerNormBackward", dx, dw, db)
	v.LayerNorm(y, x, w, nil, mean, inv, share, 1e-5)
	v.LayerNormBackward(nil, dw, db, x, w, dy, mean, inv, share)
	keep("without", y, dw, db)
	v.LayerNormSigma(y, x, w, b, mean, inv, share, 1e-5)
	keep("layerNormSigma", y, mean, inv)
	v.LayerNormSigmaBackward(dx, dw, db, x, w, dy, mean, inv, share, 1e-5)
	keep("layerNormSigmaBackward", dx, dw, db)
	v.LayerNormSigma(y, x, w, nil, mean, inv, share, 1e-5)
	keep("without shifts", y)
	v.RmsNorm(y, x, w, inv, share, 1e-5)
	keep("rmsNorm", y, inv)
	v.RmsNormBackward(dx, dw, x, w, dy, inv, share)
	keep("rmsNormBackward", dx, dw)

	x, slope := in(n), out(n)
	v.Softcap(x, slope, 1.7)
	again := in(n)
	v.Softcap(again, nil, 30)
	keep("softcap", x, slope, again)
	return results
}

// lengths returns every length up to some blocks, and some long ones.
func lengths() []int {
	list := []int{1000, 4099}
	for n := range 131 {
		list = append(list, n)
	}
	return list
}

// sameResults compares bits; all NaNs are equal.
func sameResults(t *testing.T, n int, got, want map[string][]float64) {
	t.Helper()
	for name, w := range want {
		if !slices.EqualFunc(got[name], w, func(a, b float64) bool {
			return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
		}) {
			t.Errorf("%s, length %d: other bits", name, n)
		}
	}
}

func itself(x []float32) []float32 { return x }

// TestInstructionSetsGiveTheSameBits for all kernels and lengths, also for numbers that are not finite.
func TestInstructionSetsGiveTheSameBits(t *testing.T) {
	a, b := simd.Sets()["AVX512"], simd.Sets()["AVX2"]
	if a == nil || b == nil {
		t.Skip("not both instruction sets here")
	}
	for _, n := range lengths() {
		for _, numbers := range []func(*rand.Rand, int) []float32{kerneltest.Random[float32], wild} {
			sameResults(t, n, runAll(b, n, numbers, itself), runAll(a, n, numbers, itself))
		}
	}
}

// TestBitsAreThoseOfEveryProcessor: AVX-512, AVX2 and NEON all give results with this digest. The kind of NaN may
// differ.
func TestBitsAreThoseOfEveryProcessor(t *testing.T) {
	exact := func(rng *rand.Rand, n int) []float32 { // without arithmetic that compilers may round differently
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.IntN(1<<16)-1<<15) / (1 << 13)
		}
		return x
	}
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		digest := fnv.New64a()
		for _, n := range []int{1, 7, 16, 37, 150} {
			results := runAll(v, n, exact, itself)
			for _, name := range slices.Sorted(maps.Keys(results)) {
				for _, x := range results[name] {
					if x != x {
						x = 0
					}
					fmt.Fprintf(digest, "%x ", math.Float64bits(x))
				}
				fmt.Fprintln(digest, name)
			}
		}
		if got := digest.Sum64(); got != 0x89764d895caed4c6 {
			t.Errorf("digest %#x, want 0x89764d895caed4c6", got)
		}
	})
}

// TestPlaceInMemoryDoesNotMatter: at every offset, NaN before and after the operands changes nothing and is not
// changed.
func TestPlaceInMemoryDoesNotMatter(t *testing.T) {
	const canary = 0x7fc0beef // a distinct NaN
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		rng := rand.New(rand.NewPCG(9, 9))
		for _, n := range lengths() {
			var around [][]float32
			got := runAll(v, n, kerneltest.Random[float32], func(x []float32) []float32 {
				before, behind := 32+rng.IntN(17), 32
				big := make([]float32, before+len(x)+behind)
				for i := range big {
					big[i] = math.Float32frombits(canary)
				}
				copy(big[before:], x)
				around = append(around, big[:before], big[before+len(x):])
				return big[before : before+len(x) : before+len(x)]
			})
			sameResults(t, n, got, runAll(v, n, kerneltest.Random[float32], itself))
			for _, x := range around {
				for _, v := range x {
					if math.Float32bits(v) != canary {
						t.Fatalf("length %d: a kernel wrote outside its operands", n)
					}
				}
			}
		}
	})
}

// TestTailsAreLikeTheRest: an entry's result does not depend on its position in a vector.
func TestTailsAreLikeTheRest(t *testing.T) {
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		rng := rand.New(rand.NewPCG(10, 10))
		x, dy := wild(rng, 50), wild(rng, 50)
		for name, f := range map[string]func(y, x, dy []float32){
			"exp":              func(y, x, _ []float32) { v.Exp(y, x, 1, 2) },
			"relu":             func(y, x, _ []float32) { v.Relu(y, x) },
			"gelu":             func(y, x, _ []float32) { v.Gelu(y, x) },
			"geluTanh":         func(y, x, _ []float32) { v.GeluTanh(y, x) },
			"sigmoid":          func(y, x, _ []float32) { v.Sigmoid(y, x) },
			"sigmoidBackward":  v.SigmoidBackward,
			"silu":             func(y, x, _ []float32) { v.Silu(y, x) },
			"softplus":         func(y, x, _ []float32) { v.Softplus(y, x) },
			"reluBackward":     v.ReluBackward,
			"relu2":            func(y, x, _ []float32) { v.Relu2(y, x) },
			"relu2Backward":    v.Relu2Backward,
			"mul":              v.Mul,
			"mulAdd":           v.MulAdd,
			"geluBackward":     v.GeluBackward,
			"geluTanhBackward": v.GeluTanhBackward,
			"siluBackward":     v.SiluBackward,
			"add":              v.Add,
			"swiglu":           v.Swiglu,
			"swigluBackward": func(y, x, dy []float32) {
				up := make([]float32, len(y))
				v.SwigluBackward(y, up, x, dy, dy)
				v.Add(y, y, up)
			},
		} {
			y, one := make([]float32, len(x)), make([]float32, len(x))
			f(y, x, dy)
			for i := range x {
				f(one[i:i+1], x[i:i+1], dy[i:i+1])
			}
			for i := range x {
				if math.Float32bits(y[i]) != math.Float32bits(one[i]) && !(y[i] != y[i] && one[i] != one[i]) {
					t.Errorf("%s(%v), entry %d: %v, and %v alone", name, x[i], i, y[i], one[i])
				}
			}
		}
	})
}

// TestVectorsDoNotDependOnThreads, in the package's functions.
func TestVectorsDoNotDependOnThreads(t *testing.T) {
	const n, d = 1027, 77
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		run := func(threads int) (all []float64) {
			rng := rand.New(rand.NewPCG(11, 11))
			p := NewPool(threads)
			x, dy := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, n*d)
			w := kerneltest.Random[float32](rng, d)
			y, dx, mean, inv := make([]float32, n*d), make([]float32, n*d), make([]float32, n), make([]float32, n)
			sum, dw, db := make([]float32, d), make([]float32, d), make([]float32, d)
			keep := func(list ...[]float32) {
				for _, x := range list {
					for _, v := range x {
						all = append(all, float64(v))
					}
				}
			}
			SumRows(p, sum, x, make([]float32, Parts*len(sum)))
			LayerNorm(p, y, Norm[float32]{x, w, w, mean, inv, 1e-5})
			LayerNormBackward(
				p, Norm[float32]{X: x, W: w, Mean: mean, Spread: inv}, dy,
				NormGrads[float32]{dx, dw, db, make([]float32, 2*Parts*len(w))},
			)
			keep(sum, y, mean, inv, dx, dw, db)
			sigma := Norm[float32]{x, w, w, mean, inv, 1e-5}
			LayerNormSigma(p, y, sigma)
			LayerNormSigmaBackward(p, sigma, dy, NormGrads[float32]{dx, dw, db, make([]float32, 2*Parts*len(w))})
			keep(y, mean, inv, dx, dw, db)
			RMSNorm(p, y, Norm[float32]{X: x, W: w, Spread: inv, Eps: 1e-5})
			RMSNormBackward(
				p, Norm[float32]{X: x, W: w, Spread: inv}, dy,
				NormGrads[float32]{X: dx, W: dw, Scratch: make([]float32, 2*Parts*len(w))},
			)
			keep(y, inv, dx, dw)
			SwiGLUBackward(p, y, dx, x, dy, dy)
			keep(y, dx)
			targets := make([]int, n)
			loss, _ := CrossEntropy(p, x, mean, targets, -1)
			CrossEntropyBackward(p, dx, x, mean, targets, -1, 0.5)
			Dropout(p, y, dx, DropMask{P: 0.3, Key: 4})
			keep(mean, dx, y)
			Update(AdamW{1e-3, 0.9, 0.99, 1e-8, 0.1}, 3, 0.5, x, dy, dx, y)
			keep(x, dx)
			return append(all, loss, SumSquares(p, dy))
		}
		one := run(1)
		for _, threads := range []int{2, 8} {
			if !kerneltest.SameBits(one, run(threads)) {
				t.Errorf("%d threads give other bits", threads)
			}
		}
	})
}
