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

// Between its borders, YaRN divides a frequency by a share that is linear in the index of the pair. Here the borders
// are the pairs 2 and 5, so that pair 3 has a third of the way: 1·(1 − 1/3 + 1/3·1/2).
func TestYaRNBetweenItsBorders(t *testing.T) {
	s := RotaryScaling{
		Kind: "yarn", Factor: 2, Original: 2 * math.Pi * math.E, Fast: math.Exp(0.5), Slow: math.Exp(-0.25),
		Unrounded: true,
	}
	if got, want := s.of(1, 3, 8, math.E), 5.0/6; math.Abs(got-want) > 1e-12 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A pass of a model begins without the losses of the blocks of an earlier pass.
func TestForgottenBalances(t *testing.T) {
	b := &Balances[float64]{}
	b.add(NewMatrix(1, 1, 2.0))
	Model[float64]{Balance: b}.Forward(Text{}) // an error, because all parts are missing
	if len(b.losses) > 0 {
		t.Errorf("got %d losses, want none", len(b.losses))
	}
}

// The largest float64 is a cap, and so is every smaller number above 0.
func TestLargestCap(t *testing.T) {
	x := NewMatrix(1, 2, 1.0, -2)
	if y := (SoftCap[float64]{Cap: math.MaxFloat64}).Forward(x); y.Err != nil {
		t.Error(y.Err)
	}
	for _, limit := range []float64{0, -1, math.Inf(1), math.NaN()} {
		if y := (SoftCap[float64]{Cap: limit}).Forward(x); y.Err == nil {
			t.Errorf("cap %v: got no error", limit)
		}
	}
}

// The features of a difference divide among the two heads of every pair.
func TestPairsDivideTheFeatures(t *testing.T) {
	l, y := Difference[float64]{Pairs: 2}.checked(steppedMatrix(3, 6, 0))
	if y.Err == nil || !strings.Contains(y.Err.Error(), "6 columns for 2 pairs of heads") || l.Pairs != 1 {
		t.Errorf("got %v and %d pairs", y.Err, l.Pairs)
	}
	if _, y := (Difference[float64]{Pairs: 2}).checked(steppedMatrix(3, 8, 0)); y.Err != nil {
		t.Error(y.Err)
	}
}

// A recurrence of every entry takes any number of features, also an odd one.
func TestEntriesOfOddWidth(t *testing.T) {
	x := steppedMatrix(4, 5, 1)
	if y := (entryScan[float64]{Batch: 2}).Forward(x, x); y.Err != nil || y.Rows != 4 || y.Cols != 5 {
		t.Errorf("got (%d, %d), %v", y.Rows, y.Cols, y.Err)
	}
}

// The gradients of the weights of hyper-connections are the derivatives by a complex step of every number.
func TestHyperMapsComplexStep(t *testing.T) {
	const s, d, n, h = 2, 3, 4, 1e-30
	maps := func(p Parameters[complex128]) (sum complex128) {
		l := hyperMaps[complex128]{p["weight"], p["alpha"], p["bias"], s, 1e-5}
		written := l.Forward(Values[complex128]{"x": p["x"]})
		for i, name := range []string{"h_pre", "h_post", "h_res"} {
			y := written[name]
			for _, v := range y.Mul(Lift[complex128](steppedMatrix(y.Rows, y.Cols, i))).Data {
				sum += v
			}
		}
		return sum
	}
	at := map[string]Matrix[float64]{
		"x": steppedMatrix(n, s*d, 1), "weight": steppedMatrix(s*d, 2*s+s*s, 2).Scale(0.3),
		"alpha": NewMatrix(1, 3, 0.7, -0.4, 0.9), "bias": steppedMatrix(1, 2*s+s*s, 3).Scale(0.2),
	}
	l := hyperMaps[float64]{at["weight"], at["alpha"], at["bias"], s, 1e-5}
	delta := Values[float64]{
		"h_pre": steppedMatrix(n, s, 0), "h_post": steppedMatrix(n, s, 1), "h_res": steppedMatrix(n, s*s, 2),
	}
	read, g := l.Backward(Values[float64]{"x": at["x"]}, delta)
	want := map[string]Matrix[float64]{"x": read["x"]}
	for _, one := range g {
		want[one.Name] = one.Value
	}
	for name, x := range at {
		for i := range x.Data {
			p := Parameters[complex128]{}
			for other, m := range at {
				p[other] = Lift[complex128](m)
			}
			p[name].Data[i] += complex(0, h)
			if got := imag(maps(p)) / h; math.Abs(got-want[name].Data[i]) > 1e-12 {
				t.Errorf("%s[%d]: got %v, want %v", name, i, want[name].Data[i], got)
			}
		}
	}
}
