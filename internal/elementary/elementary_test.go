package elementary

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// functions holds each function with package math's, whose results are within a unit in the last place, how arguments
// are drawn, and the distance allowed in such units.
var functions = []struct {
	name      string
	got, want func(x float64) float64
	argument  func(rng *rand.Rand) float64
	units     float64
}{
	{"Exp", Exp, math.Exp, wide(700), 2},
	{"Exp near 0", Exp, math.Exp, wide(1), 2},
	{"Expm1", Expm1, math.Expm1, wide(40), 3},
	{"Expm1 near 0", Expm1, math.Expm1, small, 2},
	{"Log", Log, math.Log, func(rng *rand.Rand) float64 { return math.Exp(wide(700)(rng)) }, 2},
	{"Log near 1", Log, math.Log, func(rng *rand.Rand) float64 { return 1 + small(rng) }, 2},
	{"Log1p", Log1p, math.Log1p, func(rng *rand.Rand) float64 { return math.Expm1(wide(30)(rng)) }, 3},
	{"Log1p near 0", Log1p, math.Log1p, small, 2},
	{"Tanh", Tanh, math.Tanh, wide(25), 4},
	{"Tanh near 0", Tanh, math.Tanh, small, 4},
	{"Sin", Sin, math.Sin, wide(100), 3},
	{"Cos", Cos, math.Cos, wide(100), 3},
	{"2ˣ", func(x float64) float64 { return Pow(2, x) }, math.Exp2, wide(1000), 6},
	{
		"10000ˣ", func(x float64) float64 { return Pow(1e4, x) }, func(x float64) float64 { return math.Pow(1e4, x) },
		wide(1), 8,
	},
	{
		"xˣ", func(x float64) float64 { return Pow(x, x) }, func(x float64) float64 { return math.Pow(x, x) }, positive,
		8,
	},
}

func wide(most float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return most * (2*rng.Float64() - 1) }
}

func small(rng *rand.Rand) float64 { return math.Ldexp(2*rng.Float64()-1, -1-rng.IntN(50)) }

func positive(rng *rand.Rand) float64 { return 4 * rng.Float64() }

func TestFunctions(t *testing.T) {
	for _, f := range functions {
		rng := rand.New(rand.NewPCG(1, 1))
		for range 20_000 {
			x := f.argument(rng)
			got, want := f.got(x), f.want(x)
			unit := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
			if !(math.Abs(got-want) <= f.units*unit) {
				t.Fatalf("%s of %v: got %v, want %v within %v units, not %.1f", f.name, x, got, want, f.units,
					math.Abs(got-want)/unit)
			}
		}
	}
}

// TestLargeAngles tries angles of many turns.
func TestLargeAngles(t *testing.T) {
	for _, x := range []float64{1e5, 1 << 20, 1<<30 - 1, 710_000_000} {
		if got, want := Sin(x), math.Sin(x); math.Abs(got-want) > 1e-15 {
			t.Errorf("sin %v: got %v, want %v", x, got, want)
		}
		if got, want := Cos(x), math.Cos(x); math.Abs(got-want) > 1e-15 {
			t.Errorf("cos %v: got %v, want %v", x, got, want)
		}
	}
}

func TestEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"e^∞", Exp(inf), inf}, {"e^−∞", Exp(-inf), 0}, {"e^NaN", Exp(nan), nan}, {"e^710", Exp(710), inf},
		{"e^709.5", Exp(709.5), math.Exp(709) * math.Sqrt(math.E)}, {"e^−746", Exp(-746), 0},
		{"e^−745", Exp(-745), math.SmallestNonzeroFloat64},
		{"e^∞ − 1", Expm1(inf), inf}, {"e^−∞ − 1", Expm1(-inf), -1}, {"e^NaN − 1", Expm1(nan), nan},
		{"ln 0", Log(0), -inf}, {"ln ∞", Log(inf), inf}, {"ln −1", Log(-1), nan}, {"ln 1", Log(1), 0},
		{"ln of the least number", Log(math.SmallestNonzeroFloat64), -1074 * math.Ln2},
		{"ln(1 − 1)", Log1p(-1), -inf}, {"ln(1 − 2)", Log1p(-2), nan}, {"ln(1 + ∞)", Log1p(inf), inf},
		{"tanh ∞", Tanh(inf), 1}, {"tanh −∞", Tanh(-inf), -1}, {"tanh NaN", Tanh(nan), nan}, {"tanh 0", Tanh(0), 0},
		{"sin ∞", Sin(inf), nan}, {"cos 0", Cos(0), 1}, {"sin 0", Sin(0), 0},
		// math.Pow is 2e-13 off.
		{"1.0000001^−319428", Pow(1+0x1p-23, -319428.04267875326), 0.96263709388237723},
		{"0⁰", Pow(0, 0), 1}, {"(−2)³", Pow(-2, 3), -8}, {"(−2)²", Pow(-2, 2), 4}, {"(−2)^½", Pow(-2, 0.5), nan},
		{"2¹⁰²⁴", Pow(2, 1024), inf}, {"2^−1080", Pow(2, -1080), 0}, {"0.9¹", Pow(0.9, 1), 0.9},
		{"10²", Pow(10, 2), 100},
	} {
		if c.got != c.want && !(c.got != c.got && c.want != c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestBits holds the bits of all functions, which every processor computes.
func TestBits(t *testing.T) {
	digest := fnv.New64a()
	for i := range 2000 {
		x := float64(i*i+1) / 4096
		for _, y := range []float64{
			Exp(x), Exp(-x), Expm1(x / 64), Expm1(-x / 64), Log(x), Log1p(x / 1024), Tanh(x / 64), Sin(x), Cos(x),
			Pow(x, 0.37), Pow(0.999, x),
		} {
			fmt.Fprintf(digest, "%x ", math.Float64bits(y))
		}
	}
	if got, want := digest.Sum64(), uint64(0x23dce8b771d9aa11); got != want {
		t.Errorf("got the digest %#x, want %#x", got, want)
	}
}

// TestNormal draws what math/rand/v2 draws, but for the last bits in the tail.
func TestNormal(t *testing.T) {
	a, b := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(7, 7))
	tails := 0
	for i := range 3_000_000 {
		got, want := Normal(a), b.NormFloat64()
		if math.Abs(got) > tailStart {
			tails++
		}
		if got != want && !(math.Abs(got) > tailStart && math.Abs(got-want) < 1e-15) {
			t.Fatalf("draw %d: got %v, want %v", i, got, want)
		}
	}
	if tails < 1000 {
		t.Errorf("got %d numbers in the tail, want some 1,700", tails)
	}
}
