package fma

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// nearest returns x·y + z from numbers of any length.
func nearest(x, y, z float32) float32 {
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(x)) }
	sum := exact(x)
	sum.Mul(sum, exact(y)).Add(sum, exact(z))
	rounded, _ := sum.Float32()
	return rounded
}

// drawn returns numbers whose exponents differ by less than the given number: all bits of the significand, 12 or 8.
func drawn(rng *rand.Rand, exponents int) float32 {
	bits := rng.Uint32()&(1<<31|1<<23-1) | uint32(127-exponents/2+rng.IntN(exponents))<<23
	return math.Float32frombits(bits &^ []uint32{0, 0, 1<<12 - 1, 1<<16 - 1}[rng.IntN(4)])
}

// hard returns operands whose sum is often close to the middle of two numbers, cancels, or is below the normal numbers.
func hard(rng *rand.Rand, i int) (x, y, z float32) {
	exponents := []int{1, 4, 30, 60, 200, 254}[i%6]
	x, y, z = drawn(rng, exponents), drawn(rng, exponents), drawn(rng, exponents)
	switch i % 5 {
	case 0:
		z = -x * y
	case 1:
		z = float32(math.Ldexp(float64(x*y), 24))
	case 2:
		x, z = x*0x1p-100, drawn(rng, 20)*0x1p-130
	}
	return x, y, z
}

func same(x, y float32) bool { return x == y || x != x && y != y }

func TestFloat32(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400_000 {
		x, y, z := hard(rng, i)
		if got, want := Float32(x, y, z), nearest(x, y, z); !same(got, want) {
			t.Fatalf("%x·%x + %x: got %x, want %x", x, y, z, got, want)
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range [][4]float32{
		{inf, 2, 1, inf}, {inf, -2, 1, -inf}, {2, 3, inf, inf}, {inf, 1, -inf, nan}, {0, inf, 1, nan}, {nan, 1, 1, nan},
		{1, 1, nan, nan}, {math.MaxFloat32, 2, 0, inf}, {math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32},
		{0, 1, 0, 0}, {1, 1, -1, 0},
	} {
		if got := Float32(c[0], c[1], c[2]); !same(got, c[3]) {
			t.Errorf("%v·%v + %v: got %v, want %v", c[0], c[1], c[2], got, c[3])
		}
	}
}

func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 10_000 {
		var x, y, z, sum, difference [Block]float32
		for j := range x {
			x[j], y[j], z[j] = hard(rng, i*Block+j)
		}
		if i%2 == 0 { // seldom difficult
			for j := range x {
				x[j], y[j], z[j] = drawn(rng, 4), drawn(rng, 4), drawn(rng, 4)
			}
		}
		Lanes(&sum, &x, &y, &z)
		Negated(&difference, &x, &y, &z)
		scaled := z
		Scaled(&scaled, x[0], &y)
		for j := range x {
			if want := Float32(x[j], y[j], z[j]); !same(sum[j], want) {
				t.Fatalf("%x·%x + %x: got %x, want %x", x[j], y[j], z[j], sum[j], want)
			}
			if want := Float32(x[0], y[j], z[j]); !same(scaled[j], want) {
				t.Fatalf("%x·%x + %x: got %x, want %x", x[0], y[j], z[j], scaled[j], want)
			}
			if want := Float32(-x[j], y[j], z[j]); !same(difference[j], want) {
				t.Fatalf("−%x·%x + %x: got %x, want %x", x[j], y[j], z[j], difference[j], want)
			}
		}
	}
}

// TestProduct draws numbers with all bits, numbers of bfloat16, and numbers whose products are below the normal
// numbers.
func TestProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 3000 {
		const k = 9
		a, b := NewPanel(make([]Number, k*Tile)), NewPanel(make([]Number, k*Tile))
		scale, mask := []float32{1, 0x1p-74, 0x1p-60}[i%3], []uint32{0, 1<<16 - 1}[i/3%2]
		draw := func() float32 {
			if rng.IntN(8) == 0 {
				return 0
			}
			return math.Float32frombits(math.Float32bits(drawn(rng, 20)*scale) &^ mask)
		}
		var x, y [k * Tile]float32
		for j := range x {
			x[j], y[j] = draw(), draw()
			if i%5 == 0 && j >= Tile { // the second product completes a number in the middle of two
				x[j], y[j] = x[j]*0x1p-12, float32(1+rng.IntN(3))*0x1p-12*scale
			}
		}
		for j := 0; j < len(x); j += Tile {
			a.Append((*[Tile]float32)(x[j:]))
			b.Append((*[Tile]float32)(y[j:]))
		}
		var got [Tile][Tile]float32
		Product(&got, &a, &b)
		for r := range got {
			for c := range got[r] {
				want := float32(0)
				for l := 0; l < k*Tile; l += Tile {
					want = nearest(x[l+r], y[l+c], want)
				}
				if !same(got[r][c], want) {
					t.Fatalf("product %d, row %d, column %d: got %x, want %x", i, r, c, got[r][c], want)
				}
			}
		}
	}
}

func BenchmarkFloat32(b *testing.B) {
	x := make([]float32, 1024)
	for b.Loop() {
		for i := range x {
			x[i] = Float32(1.0001, 0.999, x[i])
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	const k = 256
	x, y := NewPanel(make([]Number, k*Tile)), NewPanel(make([]Number, k*Tile))
	draw := func() float32 { return float32(rand.NormFloat64()) }
	for range k {
		x.Append(&[Tile]float32{draw(), draw(), draw(), draw()})
		y.Append(&[Tile]float32{draw(), draw(), draw(), draw()})
	}
	var c [Tile][Tile]float32
	for b.Loop() {
		Product(&c, &x, &y)
	}
	b.ReportMetric(2*Tile*Tile*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
