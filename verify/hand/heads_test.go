package hand

import (
	"fmt"
	"math"
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
	} {
		name := fmt.Sprintf("%T", head)
		_, dk, _ := head.Backward(x, steppedMatrix(tokens, width, 1), steppedMatrix(tokens, width, 2), x)
		bias := dk.SumTokens()
		if cancels := math.Abs(bias.Data[0])+math.Abs(bias.Data[1]) <= 1e-12; cancels != head.ShiftInvariant() {
			t.Errorf("%s: gradient %v of the keys' bias, got ShiftInvariant %t", name, bias.Data, head.ShiftInvariant())
		}
		heads := Heads[float64]{Batch: 1, Count: 1, Head: func(_, _ int) Head[float64] { return head }}
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
