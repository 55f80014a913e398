package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// source returns an encoder's output with three tokens more than the target, as a parameter, so that its gradient is
// compared too.
func source(at Site, lengths []int) *Memory {
	m := at.Context + 3
	z := at.Param("z", graph.Normal(1), at.Batch*m, at.Embd)
	return NewMemory(at.Sub("memory"), z, at.Batch, at.Context, m, lengths)
}

func sourceLengths(d Dims) []int {
	n := make([]int, d.Batch)
	for b := range n {
		n[b] = d.Context + 2 - b
	}
	return n
}

var crossLayerCases = []layerCase{
	{"cross attention", "CrossAttention", func(at Site, x graph.Expr) graph.Expr {
		return NewCrossAttention(at, source(at, nil)).Forward(x)
	}},
	{"cross attention to padded sources", "CrossAttention", func(at Site, x graph.Expr) graph.Expr {
		return NewCrossAttention(at, source(at, sourceLengths(at.Dims))).Forward(x)
	}},
	{"cross attention with dropout", "CrossAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Dropout = 0.3
		return NewCrossAttention(at, source(at, sourceLengths(at.Dims))).Forward(x)
	}},
	{"decoder block", "DecoderBlock", func(at Site, x graph.Expr) graph.Expr {
		return NewDecoderBlock(at, causal, source(at, sourceLengths(at.Dims))).Forward(x)
	}},
	{"post-norm decoder block", "PostNormDecoderBlock", func(at Site, x graph.Expr) graph.Expr {
		return NewPostNormDecoderBlock(at, causal, source(at, sourceLengths(at.Dims))).Forward(x)
	}},
}

// The weights are (n, m), and a column of padding is 0. With values of 1 every row of the result is the sum of its
// weights; with unit vectors as values it shows which keys the query attends to.
func TestI16WeightsAreTargetsBySources(t *testing.T) {
	d := Dims{Batch: 2, Context: 3, Embd: 4, Heads: 1, QK: 2, V: 5, Blocks: 1}
	lengths := []int{5, 2}
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	const m = 5
	z := at.Value("z", graph.Normal(1), d.Batch*m, d.Embd)
	l := NewCrossAttention(at, NewMemory(at.Sub("memory"), z, d.Batch, d.Context, m, lengths))
	kv := at.Value("kv_given", graph.Normal(1), d.Batch*m, d.QK+d.V)
	for i := range d.Batch * m { // v of key j is the unit vector j: the heads' output is the row of P
		for j := range d.V {
			kv.Tensor().Set(i*(d.QK+d.V)+d.QK+j, 0)
		}
		kv.Tensor().Set(i*(d.QK+d.V)+d.QK+i%m, 1)
	}
	p, err := graph.Compile(l.heads.attend(at.Value("q", graph.Normal(1), d.Batch*d.Context, d.QK), kv))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for i := range d.Batch * d.Context {
		sum := 0.0
		for j := range m {
			w := p.Value().Row(i).At(j)
			sum += w
			if hidden := j >= lengths[i/d.Context]; hidden && w != 0 || !hidden && !(w > 0) {
				t.Errorf("weight of query %d for key %d of %d: %v", i, j, lengths[i/d.Context], w)
			}
		}
		if !(math.Abs(sum-1) <= 1e-14) {
			t.Errorf("the weights of query %d sum to %v", i, sum)
		}
	}
}

// Step with the stored keys and values equals Forward.
func TestI16StepEqualsForward(t *testing.T) {
	d := Dims{Batch: 2, Context: 3, Embd: 4, Heads: 2, QK: 3, V: 5, Blocks: 1}
	const m = 7
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	x := at.Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	memory := NewMemory(at.Sub("memory"), at.Value("z", graph.Normal(1), d.Batch*m, d.Embd), d.Batch, d.Context, m, []int{7, 4})
	l := NewCrossAttention(at, memory)
	value := func(e graph.Expr) graph.Tensor {
		t.Helper()
		p, err := graph.Compile(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return p.Value().Clone()
	}
	copy(l.Kept().Tensor().F64, value(l.Projected()).F64)
	if e := distance(value(l.Step(x, graph.Expr{})), value(l.Forward(x)), 0); !(e <= 1e-15) {
		t.Errorf("Step is %.2g away from Forward", e)
	}
}

func TestCrossAttentionRefuses(t *testing.T) {
	d := Dims{Batch: 2, Context: 6, Embd: 8, Heads: 2, QK: 3, V: 5, Blocks: 1}
	for _, tc := range []struct {
		name, want string
		build      func(at Site)
	}{
		{"an empty source", "h.0.memory.mask: source 1 has length 0, not in 1 … 4", func(at Site) {
			NewMemory(at.Sub("memory"), graph.Expr{}, 2, 6, 4, []int{4, 0})
		}},
		{"a source beyond the context", "h.0.memory.mask: source 0 has length 5, not in 1 … 4", func(at Site) {
			NewMemory(at.Sub("memory"), graph.Expr{}, 2, 6, 4, []int{5, 4})
		}},
		{"lengths of another batch", "h.0.memory.mask: 3 lengths for a batch of 2", func(at Site) {
			NewMemory(at.Sub("memory"), graph.Expr{}, 2, 6, 4, []int{1, 2, 3})
		}},
		{"no queries", "h.0.memory.mask: a batch of 2, 0 queries and 4 keys: at least 1 of each is needed", func(at Site) {
			NewCrossAttention(at, NewMemory(at.Sub("memory"), graph.Expr{}, 2, 0, 4, nil))
		}},
		{"no sequences", "h.0.memory.mask: a batch of 0, 6 queries and 4 keys: at least 1 of each is needed", func(at Site) {
			NewUnprojectedCross(at, NewMemory(at.Sub("memory"), graph.Expr{}, 0, 6, 4, nil))
			NewCrossAttention(at, NewMemory(at.Sub("again"), graph.Expr{}, 0, 6, 4, nil))
		}},
		{"other queries", "h.0: 12 tokens of the decoder are not 5 queries for each of 2 sources", func(at Site) {
			NewCrossAttention(at, NewMemory(at.Sub("memory"), graph.Expr{}, 2, 5, 4, nil))
		}},
		{"another width", "the weight takes 8", func(at Site) {
			z := at.Value("z", graph.Normal(1), 8, 7)
			NewCrossAttention(at, NewMemory(at.Sub("memory"), z, 2, 6, 4, nil)).Forward(at.Value("x", graph.Normal(1), 12, 8))
		}},
	} {
		g := graph.New(graph.Float64, 1)
		tc.build(newSite(g, d))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", tc.name, err, tc.want)
		}
	}
}

// After Lengths have changed, Update hides other columns, and returns an error if they are wrong.
func TestMemoryUpdate(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	m := NewMemory(g.Root(), graph.Expr{}, 2, 1, 3, []int{3, 1})
	visible := func() (n int) {
		for _, v := range m.Expr().Tensor().Floats() {
			if v == 0 {
				n++
			}
		}
		return n
	}
	if got := visible(); got != 4 {
		t.Errorf("%d columns visible, want 3 + 1", got)
	}
	m.Lengths[1] = 2
	if err := m.Update(); err != nil || visible() != 5 {
		t.Errorf("%d columns visible, want 3 + 2 (%v)", visible(), err)
	}
	m.Lengths[0] = 4
	if err := m.Update(); err == nil || !strings.Contains(err.Error(), "source 0 has length 4, not in 1 … 3") {
		t.Errorf("got error %v", err)
	}
}
