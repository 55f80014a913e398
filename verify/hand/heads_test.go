package hand

import (
	"strings"
	"testing"
)

// ownHead is a user-defined attention.
type ownHead struct{ Attention[float64] }

// sayingHead also reports whether it has a softmax.
type sayingHead struct {
	ownHead
	softmax bool
}

func (h sayingHead) ShiftInvariant() bool { return h.softmax }

// The gradient of a key's bias is marked as identically 0 if the heads have a softmax, including user-defined heads.
// For a type that does not report it, the error names the type.
func TestHeadsSayWhetherTheyHaveASoftmax(t *testing.T) {
	const tokens, width = 3, 2
	m := func(rows, cols int) Matrix[float64] {
		out := NewMatrix(rows, cols, make([]float64, rows*cols)...)
		for i := range out.Data {
			out.Data[i] = float64(i%5) - 1.5
		}
		return out
	}
	p := Parameters[float64]{
		"c_attn.weight": m(width, 3*width), "c_attn.bias": m(1, 3*width), "c_proj.weight": m(width, width), "c_proj.bias": m(1, width),
		"c_q.weight": m(width, width), "c_q.bias": m(1, width), "c_kv.weight": m(width, 2*width), "c_kv.bias": m(1, 2*width),
	}
	x := m(tokens, width)
	for name, c := range map[string]struct {
		head Head[float64]
		zero bool
		want string
	}{
		"attention": {Attention[float64]{}, true, ""},
		"tiles":     {Flash[float64]{Queries: 2, Keys: 2}, true, ""},
		"linear":    {LinearAttention[float64]{Features: EluPlusOne[float64]{}, See: m(tokens, tokens).Square()}, false, ""},
		"own":       {ownHead{}, false, "head hand.ownHead does not report whether"},
		"says yes":  {sayingHead{softmax: true}, true, ""},
		"says no":   {sayingHead{}, false, ""},
	} {
		heads := Heads[float64]{Batch: 1, Count: 1, Head: func(_, _ int) Head[float64] { return c.head }}
		at := Site[float64]{Parameters: p}
		for kind, layer := range map[string]Layer[float64]{
			"self":  at.SelfAttention(heads, width, nil),
			"cross": at.CrossAttention(heads, width, x),
		} {
			dx, g := layer.Backward(x, x)
			if (dx.Err == nil) != (c.want == "") || dx.Err != nil && !strings.Contains(dx.Err.Error(), c.want) {
				t.Errorf("%s, %s: got error %v, want %q", name, kind, dx.Err, c.want)
			}
			marked := false
			for _, e := range g {
				marked = marked || e.Zero && e.Part == "k" && strings.HasSuffix(e.Name, "bias")
			}
			if marked != c.zero {
				t.Errorf("%s, %s: the keys' bias is marked as 0: %t, want %t", name, kind, marked, c.zero)
			}
		}
	}
}
