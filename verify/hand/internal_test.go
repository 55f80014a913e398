package hand

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// steppedMatrix returns a matrix (rows, cols) of five different numbers.
func steppedMatrix(rows, cols, from int) Matrix[float64] {
	out := NewMatrix(rows, cols, make([]float64, rows*cols)...)
	for i := range out.Data {
		out.Data[i] = float64((i*i+from)%5) - 1.5
	}
	return out
}

// A head reports ShiftInvariant if and only if the gradient of its keys' bias, the sum of dk over the keys, is 0. Only
// then is that gradient marked as a structural zero.
func TestHeadsReportWhetherTheKeysBiasCancels(t *testing.T) {
	const tokens, width = 3, 2
	m := func(rows, cols int) Matrix[float64] { return steppedMatrix(rows, cols, 0) }
	p := Parameters[float64]{
		"c_attn.weight": m(width, 3*width), "c_attn.bias": m(1, 3*width),
		"c_proj.weight": m(width, width), "c_proj.bias": m(1, width),
		"c_q.weight": m(width, width), "c_q.bias": m(1, width),
		"c_kv.weight": m(width, 2*width), "c_kv.bias": m(1, 2*width),
	}
	x, see := m(tokens, tokens-1), m(tokens, tokens).Square()
	for _, head := range []Head[float64]{
		Attention[float64]{}, Flash[float64]{Queries: 2, Keys: 2},
		SigmoidAttention[float64]{},
		LinearAttention[float64]{Features: EluPlusOne[float64]{}, See: see},
		LinearScan[float64]{Features: EluPlusOne[float64]{}},
		SigmoidAttention[float64]{},
	} {
		name := fmt.Sprintf("%T", head)
		_, dk, _ := head.Backward(x, steppedMatrix(tokens, width, 1), steppedMatrix(tokens, width, 2), x)
		bias := dk.SumTokens()
		if cancels := math.Abs(bias.Data[0])+math.Abs(bias.Data[1]) <= 1e-12; cancels != head.ShiftInvariant() {
			t.Errorf("%s: gradient %v of the keys' bias, got ShiftInvariant %t", name, bias.Data, head.ShiftInvariant())
		}
		heads := Heads[float64]{Batch: 1, Count: 1, Head: func(b, h int) Head[float64] {
			return []Head[float64]{head}[b+h]
		}}
		at := Site[float64]{Parameters: p}
		for kind, layer := range map[string]Layer[float64]{
			"self":  at.SelfAttention(heads, width, nil),
			"cross": at.CrossAttention(heads, width, x),
		} {
			dx, g := layer.Backward(x, x)
			if dx.Err != nil {
				t.Errorf("%s, %s: got error %v", name, kind, dx.Err)
			}
			marked := false
			for _, e := range g {
				marked = marked || e.Zero && e.Part == "k" && strings.HasSuffix(e.Name, "bias")
			}
			if marked != head.ShiftInvariant() {
				t.Errorf("%s, %s: got a structural zero %t, want %t", name, kind, marked, head.ShiftInvariant())
			}
		}
	}
}

// naive returns the definition of the product.
func naive[T Number](x, y Matrix[T]) Matrix[T] {
	out := Zeros[T](x.Rows, y.Cols)
	for i := range x.Rows {
		for k := range x.Cols {
			for j := range y.Cols {
				out.Data[i*y.Cols+j] += x.At(i, k) * y.At(k, j)
			}
		}
	}
	return out
}

// The product has the bits of its definition, whichever of its factors are real, and for any size: 0, below 4, and
// above.
func TestProductIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(rows, cols int, imaginary func() float64) Matrix[complex128] {
		m := Zeros[complex128](rows, cols)
		for i := range m.Data {
			m.Data[i] = complex(rng.NormFloat64(), imaginary())
		}
		return m
	}
	zero := func() float64 { return 0 }
	one := func() float64 { return 1 }
	step := func() float64 { return 1e-30 * float64(rng.IntN(2)) * rng.NormFloat64() }
	for _, size := range [][3]int{
		{3, 4, 5}, {1, 1, 1}, {2, 9, 3}, {5, 11, 1}, {1, 0, 2}, {0, 3, 2}, {2, 3, 0}, {7, 8, 6}, {17, 18, 19},
	} {
		for i, imaginary := range [][2]func() float64{
			{zero, zero}, {step, zero}, {zero, step}, {step, step}, {one, zero}, {zero, one}, {one, one},
		} {
			x, y := random(size[0], size[1], imaginary[0]), random(size[1], size[2], imaginary[1])
			sameProduct(t, fmt.Sprintf("%v, imaginary parts %d", size, i), x, y, func(z complex128) [2]uint64 {
				return [2]uint64{math.Float64bits(real(z)), math.Float64bits(imag(z))}
			})
			re, _ := planes(x.Data)
			re2, _ := planes(y.Data)
			sameProduct(
				t, fmt.Sprintf("%v, float64", size), NewMatrix(size[0], size[1], re...),
				NewMatrix(size[1], size[2], re2...), math.Float64bits,
			)
		}
	}
}

func sameProduct[T Number, B comparable](t *testing.T, name string, x, y Matrix[T], bits func(T) B) {
	t.Helper()
	got, want := x.MatMul(y), naive(x, y)
	if got.Err != nil || got.Rows != want.Rows || got.Cols != want.Cols || len(got.Data) != len(want.Data) {
		t.Fatalf("%s: got (%d, %d) of %d numbers, %v", name, got.Rows, got.Cols, len(got.Data), got.Err)
	}
	for i := range want.Data {
		if bits(got.Data[i]) != bits(want.Data[i]) {
			t.Errorf("%s: entry %d: got %v, want %v", name, i, got.Data[i], want.Data[i])
		}
	}
}
