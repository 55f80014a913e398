package graph

import (
	"errors"
	"strings"
	"testing"
)

// linearShape returns sizes that are all different.
func linearShape() LinearShape {
	return LinearShape{AttentionShape: AttentionShape{Batch: 2, Context: 3, Heads: 4, QK: 5, V: 6}, Causal: true, Map: EluPlusOne()}
}

// TestLinearAttentionIsDirect: a program of it consists of our own operations, and its memory does not depend on the
// length of the sequences.
func TestLinearAttentionIsDirect(t *testing.T) {
	bytes := func(context int) int {
		h := LinearShape{AttentionShape: AttentionShape{Batch: 4096 / context, Context: context, Heads: 2, QK: 8, V: 16}, Causal: true, Map: Taylor(1e-5)}
		g := New(Float32, 1)
		qkv := g.Root().Value("qkv", Normal(1), h.Batch*h.Context, h.Width())
		y, ok := LinearAttention(qkv, Expr{}, h)
		if !ok {
			t.Fatal("no kernel")
		}
		p, err := Compile(y.MatMul(g.Root().Value("w", Normal(1), 32, 1)).SumAll(), qkv)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return g.Bytes()
	}
	if short, long := bytes(256), bytes(2048); short != long {
		t.Errorf("%d bytes for a context of 256, %d for 2048", short, long)
	}
	h, g := linearShape(), New(Float32, 1)
	y, _ := LinearAttention(g.Root().Value("qkv", Normal(1), 6, h.Width()), Expr{}, h)
	p, err := Compile(y)
	if err != nil {
		t.Fatal(err)
	}
	if stock := p.Stock(); len(stock) > 0 {
		t.Errorf("%v are Gorgonia's own", stock)
	}
}

// TestLinearAttentionBadShapes: operands that do not fit are an error with both shapes.
func TestLinearAttentionBadShapes(t *testing.T) {
	h := linearShape()
	for _, c := range []struct {
		build func(s Scope)
		want  string
	}{
		{func(s Scope) { LinearAttention(s.Value("x", Const(0), 5, 64), Expr{}, h) }, "(5, 64) is not (6, 64), the packed projections of {Batch:2 Context:3 Heads:4 QK:5 V:6 Groups:0}"},
		{func(s Scope) { LinearAttention(s.Value("x", Const(0), 6, 63), Expr{}, h) }, "(6, 63) is not (6, 64), the packed projections of {Batch:2 Context:3 Heads:4 QK:5 V:6 Groups:0}"},
		{func(s Scope) { LinearAttention(s.Value("x", Const(0), 6, 64), s.Value("m", Const(0), 3, 4), h) }, "got a mask of 12 entries, want 9 or 18"},
		{func(s Scope) {
			CachedLinearAttention(s.Value("x", Const(0), 6, 64), s.Ints("at", 1, 3, NoneIgnored), nil)
		}, "no cache to keep sums in"},
		{func(s Scope) {
			CachedLinearAttention(s.Value("x", Const(0), 5, 64), s.Ints("at", 1, 3, NoneIgnored), NewLinearCache(h))
		}, "(5, 64) is not (n·2, 64), the packed projections of {Batch:2 Context:3 Heads:4 QK:5 V:6 Groups:0}"},
		{func(s Scope) {
			CachedLinearAttention(s.Value("x", Const(0), 4, 64), s.Ints("at", 2, 3, NoneIgnored), NewLinearCache(h))
		}, "got 2 positions, want 1"},
		{func(s Scope) { MixTokens(s.Value("w", Const(0), 2, 4), s.Value("x", Const(0), 6, 3)) }, "(2, 4) mixes 4 tokens, (6, 3) is not a batch of such sequences"},
	} {
		g := New(Float64, 1)
		c.build(g.Root())
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestLinearStepForgets: position 0 starts again, and any other position must follow the last one; otherwise the error
// is ErrOrder.
func TestLinearStepForgets(t *testing.T) {
	h, g := linearShape(), New(Float64, 1)
	x, at := g.Root().Value("x", Normal(1), h.Batch, h.Width()), g.Root().Ints("at", 1, 9, NoneIgnored)
	p, err := Compile(CachedLinearAttention(x, at, NewLinearCache(h)))
	if err != nil {
		t.Fatal(err)
	}
	var first, second float64
	for i, position := range []int{0, 1, 0, 1} {
		for j := range x.Tensor().Len() {
			x.Tensor().Set(j, float64(j%7-position))
		}
		at.Ints()[0] = position
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		switch got := p.Value().At(0); {
		case i == 0:
			first = got
		case i == 1:
			second = got
		case got != []float64{first, second}[position]:
			t.Errorf("token %d once more: got %v, want %v", position, got, []float64{first, second}[position])
		}
	}
	if first == second {
		t.Errorf("both tokens give %v", first)
	}
	at.Ints()[0] = 3
	if err := p.Run(); !errors.Is(err, ErrOrder) {
		t.Errorf("got %v, want %v", err, ErrOrder)
	}
}
