package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Every operation of a layer is in its scope: the picture, Recompute and errors name the layer and not the one before
// it. A layer's sublayers may have nested scopes.
func TestLayersStayInTheirScope(t *testing.T) {
	d := Dims{Batch: 2, Context: 4, Embd: 6, Heads: 2, QK: 4, V: 3, Inner: 5, Blocks: 1}
	edges := func(g *graph.Graph, scope string) int {
		var b strings.Builder
		if err := g.Dot(&b, scope); err != nil {
			return 0 // there is no operation
		}
		return strings.Count(b.String(), " -> ")
	}
	checked := 0
	for _, c := range allCases() {
		if slices.Contains([]string{"rope in one group", "tied", "rope"}, c.name) { // compute where they are called
			continue
		}
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 7)
			g.Kernels = kernels
			c.build(newSite(g, d), g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd))
			if g.Err() != nil { // does not fit these sizes
				continue
			}
			if own := edges(g, "h.0"); own > 0 {
				checked++
			}
			if all, own := edges(g, ""), edges(g, "h.0"); own != all && own > 0 {
				t.Errorf("%s, kernels %t: %d of %d operands are of operations outside its scope", c.name, kernels, all-own, all)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d layers have these sizes", checked)
	}
}

// A layer accepts input from any scope: errors name the layer that does not fit, not the one before.
func TestErrorsNameTheLayer(t *testing.T) {
	d := Dims{Batch: 2, Context: 4, Embd: 6, Heads: 2, QK: 4, V: 3, Inner: 5, Blocks: 1}
	for name, forward := range map[string]func(at Site, x graph.Expr){
		"linear":    func(at Site, x graph.Expr) { NewLinear(at.Scope, 6, []int{3}, true, graph.Const(1)).Forward(x) },
		"layernorm": func(at Site, x graph.Expr) { NewLayerNorm(at).Forward(x) },
		"learned":   func(at Site, x graph.Expr) { NewLearnedPositions(positioned(at, 4, 0)).Forward(x) },
		"value":     func(at Site, x graph.Expr) { NewValueLoss(at.Scope).Forward(x, NewRollout(at.Scope, 3, 2)) },
		"reinforce": func(at Site, x graph.Expr) { NewReinforce(at.Scope).Forward(x, NewRollout(at.Scope, 3, 2)) },
		"ppo":       func(at Site, x graph.Expr) { NewPPOClip(at.Scope).Forward(x, NewRollout(at.Scope, 3, 2)) },
	} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 7)
			g.Kernels = kernels
			forward(newSite(g, d), g.Root().Sub("before").Value("x", graph.Normal(1), 8, 7))
			if err := g.Err(); err == nil || !strings.HasPrefix(err.Error(), "h.0") {
				t.Errorf("%s, kernels %t: got error %v", name, kernels, err)
			}
		}
	}
}

// RoPE's tables are cos and sin of φ = p·θ^(−2k/size) for position p and pair k.
func TestRoPETables(t *testing.T) {
	const size, theta = 6, 100.0
	g := graph.New(graph.Float64, 1)
	l := NewRoPE(positioned(newSite(g, ropeDims), ropeDims.Context, 0), size, theta)
	for i := range ropeDims.Context * size / 2 {
		p, k := float64(i/(size/2)), float64(i%(size/2))
		phi := p / math.Pow(theta, 2*k/size)
		if got := l.Cos.Tensor().At(i); !(math.Abs(got-math.Cos(phi)) <= 1e-12) {
			t.Errorf("cos of position %v, pair %v: got %v, want %v", p, k, got, math.Cos(phi))
		}
		if got := l.Sin.Tensor().At(i); !(math.Abs(got-math.Sin(phi)) <= 1e-12) {
			t.Errorf("sin of position %v, pair %v: got %v, want %v", p, k, got, math.Sin(phi))
		}
	}
}

// A dilated window of width w = 4 and dilation 3 sees the multiples of 3 up to 6 away, from every token.
func TestDilatedByThree(t *testing.T) {
	v := Dilated{Width: 4, Dilation: []int{3}}
	for i := range 16 {
		for j := range 16 {
			away := max(i-j, j-i)
			if got, want := v.Visible(0, i, j), away == 0 || away == 3 || away == 6; got != want {
				t.Errorf("query %d, key %d: got %t, want %t", i, j, got, want)
			}
		}
	}
}

// Drawing random keys leaves the caller's rules unchanged.
func TestBigBirdIsDrawnInACopy(t *testing.T) {
	d := Dims{Batch: 2, Context: 9, Heads: 1}
	rules := []Visibility{BigBird{Width: 1, Random: 2, Seed: 5}, Causal{}}
	drawn := drawKeys(rules, d)
	if rules[0].(BigBird).keys != nil || drawn[0].(BigBird).keys == nil {
		t.Errorf("got %+v of %+v", drawn, rules)
	}
	if again := drawKeys(rules, d); !slices.EqualFunc(again[0].(BigBird).keys[0], drawn[0].(BigBird).keys[0], slices.Equal[[]int]) {
		t.Errorf("drawn again: %+v, was %+v", again, drawn)
	}
}

// A memory for one query, one key and one sequence is valid.
func TestSmallestMemory(t *testing.T) {
	for name, m := range map[string]Memory{
		"all 1": {Batch: 1, Queries: 1, Keys: 1}, "no batch": {Queries: 1, Keys: 1}, "no queries": {Batch: 1, Keys: 1}, "no keys": {Batch: 1, Queries: 1},
		"length 1": {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{1}}, "length 0": {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{0}},
		"length 2": {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{2}}, "two lengths": {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{1, 1}},
	} {
		if err := m.check(); (err == nil) != strings.HasSuffix(name, " 1") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
