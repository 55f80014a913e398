package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// TestCausality: changing token t leaves every row before t unchanged, bit for bit, and changes row t and all later
// rows.
func TestCausality(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{true, false} {
		for _, double := range []bool{true, false} {
			t.Run(fmt.Sprintf("kernels=%t/float64=%t", kernels, double), func(t *testing.T) {
				dtype := graph.Float32
				if double {
					dtype = graph.Float64
				}
				g := graph.New(dtype, 3)
				g.Kernels = kernels
				x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
				y := NewBlock(newSite(g, d), causal).Forward(x)
				before := output(t, y)
				for token := range d.Context {
					changed := x.Tensor()
					saved := changed.Clone()
					for j := range d.Embd { // in the second sequence
						changed.Set((d.Context+token)*d.Embd+j, float64(j%3)-0.7)
					}
					after := output(t, y)
					for row := range d.Batch * d.Context {
						same := true
						for j := row * d.Embd; j < (row+1)*d.Embd; j++ {
							same = same && math.Float64bits(before.At(j)) == math.Float64bits(after.At(j))
						}
						if want := row < d.Context+token; same != want {
							t.Errorf("token %d changed: row %d the same: %t, want %t", token, row-d.Context, same, want)
						}
					}
					for i := range saved.Len() {
						changed.Set(i, saved.At(i))
					}
				}
			})
		}
	}
}

// TestStepEqualsForward decodes token by token with cached keys and values, and compares every row with the forward
// pass over the entire context. Further rounds, at the corners, run on top of the cache of the round before.
func TestStepEqualsForward(t *testing.T) {
	for _, rule := range []Visibility{Causal{}, Window{3}} {
		for _, d := range shapes {
			if os.Getenv("NIGHTLY") == "" && d.Context > 10 {
				continue
			}
			for name, build := range map[string]func(at Site) Cached{
				"attention":       func(at Site) Cached { return NewSelfAttention(at) },
				"block":           func(at Site) Cached { return NewBlock(at, causal) },
				"post-norm block": func(at Site) Cached { return NewPostNormBlock(at, causal) },
				"sandwich block":  func(at Site) Cached { return NewSandwichBlock(at, causal) },
				"post-part block": func(at Site) Cached { return NewPostPartBlock(at, causal) },
				"parallel block":  func(at Site) Cached { return NewParallelBlock(at, causal) },
				"two norms":       func(at Site) Cached { return NewParallelTwoBlock(at, causal) },
			} {
				t.Run(
					fmt.Sprintf("%s/%T/%+v", name, rule, d),
					func(t *testing.T) { stepEqualsForward(t, rule, d, build) },
				)
			}
		}
	}
}

func stepEqualsForward(t *testing.T, rule Visibility, d Dims, build func(at Site) Cached) {
	g := graph.New(graph.Float64, 3)
	site := func(g *graph.Graph) Site {
		at := newSite(g, d)
		at.Mask = NewMask(g.Root().Sub("other"), d, rule)
		return at
	}
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	forward, err := graph.Compile(build(site(g)).Forward(x))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	caches := Caches{}
	step := func(n int) (tokens, pos graph.Expr, p *graph.Program) {
		s := g.Sibling()
		at := site(s)
		at.Caches = caches
		tokens, pos = s.Root().Value("x", graph.Const(0), d.Batch*n, d.Embd), s.Root().Ints("pos", 1, d.Context, -1)
		p, err := graph.Compile(build(at).Step(tokens, pos))
		if err != nil {
			t.Fatalf("%+v", err)
		}
		return tokens, pos, p
	}
	oneToken, onePos, oneProgram := step(1)
	block := max(1, d.Context/2)
	blockTokens, blockPos, blockProgram := step(block)
	rounds := corners(d.Embd)
	rounds["random"] = graph.Normal(1)
	for _, name := range []string{"random", "equal rows", "rank 1", "zeros", "large"} {
		for i := range x.Tensor().Len() {
			x.Tensor().Set(i, rounds[name](i, rand.New(rand.NewPCG(1, uint64(i)))))
		}
		if err := forward.Run(); err != nil {
			t.Fatal(err)
		}
		want, tolerance := forward.Value().Clone(), map[bool]float64{true: 1e-12, false: 1e-10}[name == "random"]
		for _, n := range []int{1, block} { // one by one, then in blocks of n, with the rest one by one
			for i := 0; i < d.Context; {
				tokens, pos, p := blockTokens, blockPos, blockProgram
				if n == 1 || i+n > d.Context {
					n, tokens, pos, p = 1, oneToken, onePos, oneProgram
				}
				pos.Ints()[0] = i
				for b := range d.Batch {
					copy(tokens.Tensor().F64[b*n*d.Embd:(b+1)*n*d.Embd], x.Tensor().F64[(b*d.Context+i)*d.Embd:])
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				for j, got := range p.Value().F64 {
					b, rest := j/(n*d.Embd), j%(n*d.Embd)
					w := want.F64[(b*d.Context+i)*d.Embd+rest]
					if !(math.Abs(got-w) <= tolerance*max(1, math.Abs(w))) {
						t.Fatalf(
							"%s: sequence %d, token %d, feature %d: got %v, want %v", name, b, i+rest/d.Embd,
							rest%d.Embd, got, w,
						)
					}
				}
				i += n
			}
		}
	}
}

// sharedBy has three times as many heads as the shape, every three of which share keys and values.
func sharedBy(at Site) *GroupedAttention {
	at.Heads *= 3
	return NewGroupedAttention(at, at.Heads/3, true)
}

var groupedLayerCases = []layerCase{
	{"grouped attention with adapters, rope and dropout", "GroupedAttention RoPE LoRA",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.3
			return sharedBy(rotary(at)).Forward(x)
		}},
	{"multi-query attention in a window per head", "GroupedAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewMask(at.Sub("other"), at.Dims, All{Causal{}, dilatedTest(at.Dims)})
		return NewGroupedAttention(at, 1, false).Forward(x)
	}},
}

var sigmoidLayerCases = []layerCase{
	{"sigmoid attention with adapters, rope and dropout", "SigmoidAttention RoPE LoRA",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.3
			return NewSigmoidAttention(rotary(at)).Forward(x)
		}},
	{"sigmoid attention in a window per head", "SigmoidAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewMask(at.Sub("other"), at.Dims, All{Causal{}, dilatedTest(at.Dims)})
		return NewSigmoidAttention(at).Forward(x)
	}},
}

var forgettingLayerCases = []layerCase{
	{"attention that forgets, with adapters, rope and dropout", "ForgettingAttention RoPE LoRA",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.3
			return NewForgettingAttention(rotary(at)).Forward(x)
		}},
	{"attention that forgets, in a window per head", "ForgettingAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewMask(at.Sub("other"), at.Dims, All{Causal{}, dilatedTest(at.Dims)})
		return NewForgettingAttention(at).Forward(x)
	}},
}

// paired returns differential attention at a site with twice as many heads, which is an even number.
func paired(change func(Site) Site) func(at Site) Cached {
	return func(at Site) Cached {
		at.Heads *= 2
		return NewDiffAttention(change(at))
	}
}

var diffLayerCases = []layerCase{
	{"differential attention with adapters, rope and dropout", "DiffAttention RoPE LoRA",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.3
			return paired(rotary)(at).Forward(x)
		}},
	{"differential attention with caps and sinks", "DiffAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Cap = 0.7
		if at.Context > 1 { // otherwise the norm cancels them
			at.Sinks = NewSinks
		}
		return paired(func(at Site) Site { return at })(at).Forward(x)
	}},
}

// Where both maps of a pair are equal, 1 − λ of a map is left, which the norm removes: the result is softmax
// attention's with the pair's value, after the norm and times 1 − λ₀. λ is λ₀ if the vectors are 0.
func TestI108EqualMaps(t *testing.T) {
	d := shapes[0]
	for block, initial := range map[int]float64{0: 0.2, 2: 0.8 - 0.6*math.Exp(-0.6)} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			at := newSite(g, d)
			at.Heads, at.Block, at.Eps = 2, block, 0
			l := NewDiffAttention(at)
			l.heads.Proj = unchanged{}
			for _, p := range g.Params() {
				switch name := strings.TrimPrefix(p.Name(), "h.0."); {
				case strings.HasPrefix(name, "lambda"):
					for i := range p.Tensor().Len() {
						p.Tensor().Set(i, 0)
					}
				case name == "c_attn.weight": // the second query and key are the first
					width := p.Tensor().Shape[1]
					for row := range d.Embd {
						for i := range d.QK {
							p.Tensor().Set(row*width+d.QK+i, p.Tensor().At(row*width+i))
							p.Tensor().Set(row*width+3*d.QK+i, p.Tensor().At(row*width+2*d.QK+i))
						}
					}
				}
			}
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			maps := output(t, l.heads.results(gathered(l.QKV.Forward(x), l.copies))).Floats()
			got, wide := output(t, l.Forward(x)).Floats(), 2*d.V
			for row := range d.Batch * d.Context {
				y, sum := maps[row*2*wide:][:wide], 0.0
				for i, v := range y {
					if second := maps[row*2*wide+wide+i]; !(math.Abs(v-second) <= 1e-14) {
						t.Fatalf("row %d: the maps give %v and %v", row, v, second)
					}
					sum += v * v
				}
				for i, v := range y {
					want := (1 - initial) * v / math.Sqrt(sum/float64(wide))
					if y := got[row*wide+i]; !(math.Abs(y-want) <= 1e-12) {
						t.Errorf(
							"block %d, kernels %t, row %d, feature %d: got %v, want %v", block, kernels, row, i, y,
							want,
						)
					}
				}
			}
		}
	}
}

func TestI108StepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		stepEqualsForward(t, Window{3}, d, paired(func(at Site) Site { return at }))
		stepEqualsForward(t, Causal{}, d, paired(func(at Site) Site {
			at.Sinks = NewSinks
			return gatedFeatures(at)
		}))
	}
}

// Gates of 1 forget nothing: the layer is SelfAttention. Gates of 0 forget all tokens before: a token attends to
// itself.
func TestI94OpenAndClosedGates(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{false, true} {
		build := func(layer func(at Site) Layer, bias float64) []float64 {
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			l := layer(newSite(g, d))
			for _, p := range g.Params() {
				if p.Name() == "h.0.c_forget.bias" {
					for i := range p.Tensor().Len() {
						p.Tensor().Set(i, bias)
					}
				}
			}
			return output(t, l.Forward(g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd))).Floats()
		}
		itself := func(at Site) Layer {
			at.Mask = NewMask(at.Sub("own"), d, Window{1})
			return NewSelfAttention(at)
		}
		forgets := func(at Site) Layer { return NewForgettingAttention(at) }
		for name, c := range map[string]struct {
			bias float64
			want []float64
		}{"open": {60, build(causal, 0)}, "closed": {-60, build(itself, 0)}} {
			for i, got := range build(forgets, c.bias) {
				if want := c.want[i]; !(math.Abs(got-want) <= 1e-13) {
					t.Errorf("%s gates, kernels %t, entry %d: got %v, want %v", name, kernels, i, got, want)
				}
			}
		}
	}
}

// A key's weight is multiplied by the gates of the tokens after it, up to the query: with equal scores and gates of ½,
// the weights of a query fall by half from token to token.
func TestI94WeightsFallByTheGates(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 5)
	g.Kernels = false
	l := NewForgettingAttention(newSite(g, d))
	for _, p := range g.Params() {
		for i := range p.Tensor().Len() {
			p.Tensor().Set(i, 0)
		}
	}
	l.Forward(g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd))
	y, err := g.Activation("h.0.weights")
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range output(t, y).Floats() {
		query, key, want := i/d.Context%d.Context, i%d.Context, 0.0
		if key <= query {
			want = math.Exp2(float64(key-query)) / (2 - math.Exp2(-float64(query)))
		}
		if !(math.Abs(got-want) <= 1e-14) {
			t.Errorf("query %d, key %d: got %v, want %v", query, key, got, want)
		}
	}
}

func TestI94StepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		for _, rule := range []Visibility{Causal{}, Window{3}} {
			stepEqualsForward(t, rule, d, func(at Site) Cached { return NewForgettingAttention(gatedHeads(at)) })
		}
	}
}

// A mask that shows later tokens is refused: no gate lies between a query and a later key.
func TestI94NeedsACausalMask(t *testing.T) {
	g := graph.New(graph.Float64, 5)
	at := newSite(g, shapes[0])
	at.Mask = NewMask(at.Sub("all"), shapes[0], All{})
	x := g.Root().Value("x", graph.Normal(1), shapes[0].Batch*shapes[0].Context, shapes[0].Embd)
	if NewForgettingAttention(at).Forward(x); g.Err() == nil || !strings.Contains(g.Err().Error(), "later") {
		t.Errorf("got error %v, want one of a mask that shows later tokens", g.Err())
	}
}

// unchanged is a layer that returns its input.
type unchanged struct{}

func (unchanged) Forward(x graph.Expr) graph.Expr { return x }

// Where the scores of n visible keys are all 0, each has the weight 1/(n+1); a hidden key has the weight 0. Biases of
// the mask are scores: a constant bias of ln n makes each weight 1/2.
func TestI68EqualScores(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{true, false} {
		for name, c := range map[string]struct {
			bias   Bias
			weight func(n int) float64
		}{
			"no bias": {nil, func(n int) float64 { return 1 / float64(n+1) }},
			"bias":    {halves{}, func(int) float64 { return 0.5 }},
		} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			at := newSite(g, d)
			at.Mask = NewBiasedMask(at.Sub("own"), d, Window{3}, c.bias)
			l := NewSigmoidAttention(at)
			weight, width := g.Params()[0].Tensor(), d.Heads*(2*d.QK+d.V)
			for i := range weight.Len() {
				if i%width < d.Heads*d.QK { // the queries
					weight.Set(i, 0)
				}
			}
			l.heads.Proj = unchanged{}
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			qkv, got := output(t, l.QKV.Forward(x)), output(t, l.Forward(x))
			for row := range d.Batch * d.Context {
				n := min(row%d.Context+1, 3) // keys that the query attends to
				for j := range d.Heads * d.V {
					sum := 0.0
					for key := row - n + 1; key <= row; key++ {
						sum += qkv.At(key*width + 2*d.Heads*d.QK + j)
					}
					if y, want := got.At(row*d.Heads*d.V+j), c.weight(n)*sum; !(math.Abs(y-want) <= 1e-14) {
						t.Errorf("%s, kernels %t, row %d, column %d: got %v, want %v", name, kernels, row, j, y, want)
					}
				}
			}
		}
	}
}

// halves is the bias ln n of a query that attends to n keys in a window of 3.
type halves struct{}

func (halves) Bias(_, i, _ int) float64 { return math.Log(float64(min(i+1, 3))) }

// Step equals Forward, also in a window and under slopes that differ between heads.
func TestI68StepEqualsForward(t *testing.T) {
	for name, mask := range map[string]func(at Site) *Mask{
		"causal": func(at Site) *Mask { return at.Mask },
		"window": func(at Site) *Mask { return NewMask(at.Sub("own"), at.Dims, Window{3}) },
		"slopes": func(at Site) *Mask { return NewBiasedMask(at.Sub("own"), at.Dims, Causal{}, NewALiBi(at.Heads)) },
	} {
		t.Run(name, func(t *testing.T) {
			stepEqualsForward(t, Causal{}, sixHeads, func(at Site) Cached {
				at.Mask = mask(at)
				return NewSigmoidAttention(at)
			})
		})
	}
}

// No score exceeds a cap: weights of one query differ by at most a factor e^(2c). A large cap changes nothing.
func TestI80ScoresAreBounded(t *testing.T) {
	d := shapes[0]
	weights := func(limit float64) (weights []float64) {
		g := graph.New(graph.Float64, 1)
		g.Kernels = false
		at := newSite(g, d)
		at.Mask, at.Cap = NewMask(at.Sub("own"), d, All{}), limit
		NewSelfAttention(at).Forward(g.Root().Value("x", graph.Normal(9), d.Batch*d.Context, d.Embd))
		y, err := g.Activation("h.0.weights")
		if err != nil {
			t.Fatal(err)
		}
		return output(t, y).Floats()
	}
	free, loose, tight := weights(0), weights(1e8), weights(0.5)
	for i := range free {
		row := tight[i/d.Context*d.Context:][:d.Context]
		if ratio := slices.Max(row) / slices.Min(row); !(ratio <= math.E*(1+1e-12)) {
			t.Errorf("weights of query %d differ by a factor %v with a cap of 0.5, want at most e", i/d.Context, ratio)
		}
		if !(math.Abs(loose[i]-free[i]) <= 1e-10) {
			t.Errorf("weight %d: got %v with a cap of 1e8, want %v", i, loose[i], free[i])
		}
	}
}

// Step equals Forward with capped scores, for heads of their own keys and of shared ones.
func TestI80StepEqualsForward(t *testing.T) {
	for groups := range 3 {
		stepEqualsForward(t, Causal{}, sixHeads, func(at Site) Cached {
			if at.Cap = 0.4; groups == 0 {
				return NewSelfAttention(at)
			}
			return NewGroupedAttention(at, groups, true)
		})
	}
}

// sixHeads are odd sizes that groups of one, two, three and six heads divide.
var sixHeads = Dims{Batch: 2, Context: 7, Embd: 11, Heads: 6, QK: 4, V: 3, Inner: 13, Blocks: 1}

// With G = H it equals SelfAttention: the result and every gradient, to the bit, in either form.
func TestI66OwnGroupsAreSelfAttention(t *testing.T) {
	own := layerCase{build: func(at Site, x graph.Expr) graph.Expr { return NewSelfAttention(rotary(at)).Forward(x) }}
	groups := layerCase{build: func(at Site, x graph.Expr) graph.Expr {
		return NewGroupedAttention(rotary(at), at.Heads, true).Forward(x)
	}}
	for _, kernels := range []bool{true, false} {
		for _, double := range []bool{true, false} {
			want, got := evaluate(t, own, sixHeads, double, kernels), evaluate(t, groups, sixHeads, double, kernels)
			if d := distance(got.value, want.value, 0); d != 0 || len(got.grads) != len(want.grads) {
				t.Errorf(
					"kernels %t, float64 %t: %.1e off, %d gradients, want %d", kernels, double, d, len(got.grads),
					len(want.grads),
				)
			}
			for name, w := range want.grads {
				if d := distance(got.grads[name], w, 0); d != 0 {
					t.Errorf("kernels %t, float64 %t: the gradient of %s is %.1e off", kernels, double, name, d)
				}
			}
		}
	}
}

// SelfAttention whose columns of keys and values repeat the groups' computes the same, and the gradients of the
// repeated columns add up to the groups' gradients.
func TestI66RepeatedColumnsAreGroups(t *testing.T) {
	d := sixHeads
	for _, groups := range []int{1, 2, 3} {
		for _, kernels := range []bool{true, false} {
			narrow := d.Heads*d.QK + groups*(d.QK+d.V)
			var from []int // the column of the groups for each column of SelfAttention
			for j := range d.Heads * d.QK {
				from = append(from, j)
			}
			for _, b := range []struct{ begin, size int }{{d.Heads * d.QK, d.QK}, {(d.Heads + groups) * d.QK, d.V}} {
				for h := range d.Heads {
					for i := range b.size {
						from = append(from, b.begin+h/(d.Heads/groups)*b.size+i)
					}
				}
			}
			run := func(
				build func(at Site) Layer, column func(j int) int, width int,
			) (y graph.Tensor, dw, db []float64) {
				g := graph.New(graph.Float64, 3)
				g.Kernels = kernels
				at := rotary(newSite(g, d))
				x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
				out := build(at).Forward(x)
				delta := g.Root().Value("delta", graph.Normal(1), d.Batch*d.Context, d.Embd)
				w, b := param(t, g, "h.0.c_attn.weight"), param(t, g, "h.0.c_attn.bias")
				for i := range w.Tensor().Len() {
					row, col := i/width, column(i%width)
					w.Tensor().Set(i, math.Sin(float64(row*narrow+col)))
					b.Tensor().Set(i%width, math.Cos(float64(col)))
				}
				p, err := graph.Compile(out.Mul(delta).SumAll(), w, b)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				dw, db = p.Grad(w).Clone().Floats(), p.Grad(b).Clone().Floats()
				return output(t, out), dw, db
			}
			want, dw, db := run(
				func(at Site) Layer { return NewSelfAttention(at) }, func(j int) int { return from[j] }, len(from),
			)
			got, gw, gb := run(
				func(at Site) Layer { return NewGroupedAttention(at, groups, true) }, func(j int) int { return j },
				narrow,
			)
			if e := distance(got, want, 0); !(e <= 1e-13) {
				t.Errorf("%d groups, kernels %t: %.1e off", groups, kernels, e)
			}
			for i, v := range dw {
				gw[i/len(from)*narrow+from[i%len(from)]] -= v
			}
			for i, v := range db {
				gb[from[i]] -= v
			}
			for i, v := range append(gw, gb...) {
				if !(math.Abs(v) <= 1e-12) {
					t.Fatalf("%d groups, kernels %t: gradient %d is %v off the sum", groups, kernels, i, v)
				}
			}
		}
	}
}

func param(t *testing.T, g *graph.Graph, name string) graph.Expr {
	t.Helper()
	x, ok := g.Leaf(name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return x
}

// Step equals Forward, also in a window and under slopes that differ between heads, and stores G/H of the numbers.
func TestI66StepEqualsForward(t *testing.T) {
	kept := map[int]float64{}
	for _, groups := range []int{1, 2, 6} {
		for name, mask := range map[string]func(at Site) *Mask{
			"causal": func(at Site) *Mask { return at.Mask },
			"window": func(at Site) *Mask { return NewMask(at.Sub("own"), at.Dims, Window{3}) },
			"slopes": func(at Site) *Mask {
				return NewBiasedMask(
					at.Sub("own"), at.Dims, Causal{}, NewALiBi(at.Heads),
				)
			},
		} {
			t.Run(fmt.Sprint(name, groups), func(t *testing.T) {
				stepEqualsForward(t, Causal{}, sixHeads, func(at Site) Cached {
					at.Mask = mask(at)
					l := NewGroupedAttention(at, groups, true)
					if at.Caches != nil {
						kept[groups] = at.Caches.Numbers()
					}
					return l
				})
			})
		}
	}
	if full := float64(2 * 7 * 6 * (4 + 3)); kept[6] != full || kept[2] != full/3 || kept[1] != full/6 {
		t.Errorf("the cache stores %v numbers for 6, 2 and 1 groups, want %v, a third and a sixth", kept, full)
	}
}

// Groups that do not divide the heads are an error at the layer.
func TestI66Groups(t *testing.T) {
	for groups, want := range map[int]string{
		-1: "h.0: -1 groups, want a divisor of 6 heads", 0: "h.0: 0 groups, want a divisor of 6 heads",
		4: "h.0: 4 groups, want a divisor of 6 heads", 12: "h.0: 12 groups, want a divisor of 6 heads", 3: "",
	} {
		g := graph.New(graph.Float64, 1)
		NewGroupedAttention(newSite(g, sixHeads), groups, true).Forward(g.Root().Value("x", graph.Normal(1), 14, 11))
		if err := g.Err(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Three adapters have the widths of queries, keys and values; the biases of c_attn and c_proj are independent.
func TestI66Parameters(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	at := newSite(g, sixHeads)
	at.Bias, at.Affine = false, NewLoRA(func(path string) bool { return strings.HasSuffix(path, "c_attn") }, 5, 1)
	NewGroupedAttention(at, 2, true)
	var got []string
	for _, p := range g.Params() {
		got = append(got, fmt.Sprint(strings.TrimPrefix(p.Name(), "h.0."), p.Shape()))
	}
	want := "c_attn.weight[11 38] c_attn.bias[1 38] c_attn.q.lora_d[11 5] c_attn.q.lora_u[5 24] c_attn.k.lora_d[11 " +
		"5] c_attn.k.lora_u[5 8] c_attn.v.lora_d[11 5] c_attn.v.lora_u[5 6] c_proj.weight[18 11]"
	if list := strings.Join(got, " "); list != want {
		t.Errorf("got  %s\nwant %s", list, want)
	}
}

// remembered is a user-defined cache: the tokens of two sequences.
type remembered [2][]int

func (c *remembered) Reset()                  { *c = remembered{} }
func (c *remembered) Fork(from, to int) error { c[to] = append([]int{}, c[from]...); return nil }
func (c *remembered) Numbers() float64        { return 9 }
func (c *remembered) Bytes() int              { return 8 * (len(c[0]) + len(c[1])) }

// TestCachesActOnEveryLayer: the methods act on every layer, and an error names the layer.
func TestCachesActOnEveryLayer(t *testing.T) {
	a, b := &remembered{{1, 2}, {3}}, &remembered{{4}, {5}}
	c := Caches{"h.0.attn": a, "h.1.attn": b}
	if got := c.Bytes(); got != 8*5 || c.Numbers() != 18 {
		t.Errorf("got %d bytes and %v numbers, want %d and 18", got, c.Numbers(), 8*5)
	}
	if err := c.Fork(0, 1); err != nil || len(a[1]) != 2 || b[1][0] != 4 {
		t.Errorf("after a fork %v and %v (%v)", a, b, err)
	}
	if c.Reset(); c.Bytes() != 0 {
		t.Errorf("%d bytes after a reset", c.Bytes())
	}
	kv := cacheAt(
		c, "h.2.attn", func() *fused.KVCache { return fused.NewKVCache(fused.AttentionShape{Batch: 2, Context: 3}) },
	)
	if again := cacheAt(c, "h.2.attn", func() *fused.KVCache { return nil }); again != kv {
		t.Error("a layer's cache is created twice")
	}
	delete(c, "h.0.attn")
	delete(c, "h.1.attn")
	if err := c.Fork(0, 2); err == nil || !strings.Contains(
		err.Error(), "h.2.attn: fork: sequence 0 to 2, the cache has 2",
	) {
		t.Errorf("got error %v", err)
	}
	if none := cacheAt(nil, "h.0.attn", func() *fused.KVCache { return kv }); none != nil {
		t.Error("got a cache, want none if nothing is stored")
	}
}

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
	memory := NewMemory(
		at.Sub("memory"), at.Value("z", graph.Normal(1), d.Batch*m, d.Embd), d.Batch, d.Context, m, []int{7, 4},
	)
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
		{"no queries", "h.0.memory.mask: a batch of 2, 0 queries and 4 keys: at least 1 of each " +
			"is needed", func(at Site) {
			NewCrossAttention(at, NewMemory(at.Sub("memory"), graph.Expr{}, 2, 0, 4, nil))
		}},
		{"no sequences", "h.0.memory.mask: a batch of 0, 6 queries and 4 keys: at least 1 of each " +
			"is needed", func(at Site) {
			NewUnprojectedCross(at, NewMemory(at.Sub("memory"), graph.Expr{}, 0, 6, 4, nil))
			NewCrossAttention(at, NewMemory(at.Sub("again"), graph.Expr{}, 0, 6, 4, nil))
		}},
		{"other queries", "h.0: 12 tokens of the decoder are not 5 queries for each of 2 sources", func(at Site) {
			NewCrossAttention(at, NewMemory(at.Sub("memory"), graph.Expr{}, 2, 5, 4, nil))
		}},
		{"another width", "the weight takes 8", func(at Site) {
			z := at.Value("z", graph.Normal(1), 8, 7)
			NewCrossAttention(
				at, NewMemory(at.Sub("memory"), z, 2, 6, 4, nil),
			).Forward(at.Value("x", graph.Normal(1), 12, 8))
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

// gatedHeads and gatedFeatures return sites with a gate of each head and of each feature.
func gatedHeads(at Site) Site {
	at.Links.After = []NamedLink{{"attn_gate", func(at Site, _ fused.AttentionShape) Link { return NewHeadGate(at) }}}
	return at
}

func gatedFeatures(at Site) Site {
	at.Links.After = []NamedLink{
		{"attn_gate", func(at Site, _ fused.AttentionShape) Link { return NewElementGate(at) }},
	}
	return at
}

// exclusive returns a site with the link of exclusive attention before the others.
func exclusive(at Site) Site {
	link := NamedLink{"xsa", func(at Site, heads fused.AttentionShape) Link { return NewLearnedXSA(at, heads) }}
	at.Links.After = append([]NamedLink{link}, at.Links.After...)
	return at
}

var gateLayerCases = []layerCase{
	{"attention with a gate of each feature, adapters and dropout", "Gate SelfAttention LoRA",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.3
			return NewSelfAttention(gatedFeatures(at)).Forward(x)
		}},
	{"grouped attention with a gate of each head", "Gate GroupedAttention", func(at Site, x graph.Expr) graph.Expr {
		return sharedBy(gatedHeads(at)).Forward(x)
	}},
	{
		"exclusive attention", "XSA SelfAttention",
		func(at Site, x graph.Expr) graph.Expr { return NewSelfAttention(exclusive(at)).Forward(x) },
	},
	{"exclusive attention of groups, gated", "XSA GroupedAttention Gate", func(at Site, x graph.Expr) graph.Expr {
		return sharedBy(exclusive(gatedHeads(at))).Forward(x)
	}},
	{"gates", "Gate", func(at Site, x graph.Expr) graph.Expr {
		return NewHeadGate(at).Forward(
			Inside{X: x, Y: at.Value("y", graph.Const(1), at.Batch*at.Context, at.Heads*at.V)},
		)
	}},
}

func TestGateStepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		for _, gated := range []func(Site) Site{gatedHeads, gatedFeatures} {
			stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return NewSelfAttention(gated(at)) })
			stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return sharedBy(gated(at)) })
			stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return NewSigmoidAttention(gated(at)) })
			if d.Heads%2 == 0 {
				stepEqualsForward(
					t, Causal{}, d, func(at Site) Cached { return NewDiffAttention(exclusive(gated(at))) },
				)
			}
			stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return sharedBy(exclusive(gated(at))) })
		}
	}
}

// The results of exclusive attention are orthogonal to the values of their tokens, heads that share a value among them;
// λ = 0 changes nothing, a result along the value becomes 0, and a value of zeros takes nothing away.
func TestI121LeavesOutTheValue(t *testing.T) {
	sizes := fused.AttentionShape{Batch: 1, Context: 3, Heads: 4, Groups: 2, QK: 1, V: 3}
	for _, lambda := range []float64{1, 0} {
		g := graph.New(graph.Float64, 5)
		at := newSite(g, shapes[0])
		qkv, y := at.Value("qkv", graph.Normal(1), 3, 12), at.Value("y", graph.Normal(1), 3, 12)
		clear(qkv.Tensor().F64[12+6 : 12+9])                 // v of token 1, group 0
		copy(y.Tensor().F64[24+9:], qkv.Tensor().F64[24+9:]) // token 2, head 3
		l := NewLearnedXSA(at, sizes)
		for i := range l.Lambda.Tensor().F64 {
			l.Lambda.Tensor().F64[i] = lambda
		}
		got := output(t, l.Forward(Inside{AttentionShape: sizes, QKV: qkv, Y: y})).F64
		for row := range 3 {
			for h := range 4 {
				dot, from := 0., row*12+h*3
				for i := range 3 {
					dot += got[from+i] * qkv.Tensor().F64[row*12+6+h/2*3+i]
				}
				same := slices.Equal(got[from:from+3], y.Tensor().F64[from:from+3])
				switch silent := row == 1 && h < 2; {
				case math.Abs(dot) > 1e-9 && lambda == 1:
					t.Errorf("token %d, head %d: got %v along the value", row, h, dot)
				case same != (silent || lambda == 0):
					t.Errorf("λ = %v, token %d, head %d: unchanged %t", lambda, row, h, same)
				case row == 2 && h == 3 && lambda == 1 && math.Abs(got[from]) > 1e-9:
					t.Errorf("got %v of a result along its value, want 0", got[from])
				}
			}
		}
	}
}

// Errors of exclusive attention name the link, whatever made its operands.
func TestXSAErrors(t *testing.T) {
	sizes := fused.AttentionShape{Batch: 1, Context: 3, Heads: 2, Groups: 2, QK: 1, V: 3}
	for want, columns := range map[string][2]int{"h.0.xsa: exclude y (3, 5), (3, 6): ": {10, 5}, "h.0.xsa: ": {9, 6}} {
		g := graph.New(graph.Float64, 5)
		qkv := g.Root().Value("qkv", graph.Normal(1), 3, columns[0])
		y := g.Root().Value("y", graph.Normal(1), 3, columns[1])
		NewXSA(newSite(g, shapes[0]).At("xsa")).Forward(Inside{AttentionShape: sizes, QKV: qkv, Y: y})
		if err := g.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v, want %q first", err, want)
		}
	}
}

// A gate of 0.5, its beginning without weights, halves the heads' results; an open one leaves them unchanged, and a
// closed one removes them.
func TestI76OpensAndCloses(t *testing.T) {
	d := shapes[0]
	for name, gated := range map[string]func(Site) Site{"head": gatedHeads, "feature": gatedFeatures} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			y := NewSelfAttention(gated(newSite(g, d))).Forward(x)
			same := graph.New(graph.Float64, 5)
			plain := NewSelfAttention(newSite(same, d)).Forward(
				same.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd),
			)
			for _, p := range append(same.Params(), same.Leaves()...) {
				if from, ok := g.Leaf(p.Name()); ok && p.Name() != "mask" {
					copy(p.Tensor().F64, from.Tensor().F64)
				}
			}
			proj, _ := same.Leaf("h.0.c_proj.bias")
			if len(proj.Tensor().F64) != d.Embd {
				t.Fatal("no bias")
			}
			w, _ := g.Leaf("h.0.c_gate.weight")
			b, _ := g.Leaf("h.0.c_gate.bias")
			clear(w.Tensor().F64)
			want := output(t, plain)
			for bias, factor := range map[float64]float64{0: 0.5, 1000: 1, -1000: 0} {
				for i := range b.Tensor().F64 {
					b.Tensor().F64[i] = bias
				}
				got := output(t, y)
				for i, v := range got.F64 {
					if !(math.Abs(v-factor*want.F64[i]) <= 1e-14) {
						t.Fatalf(
							"%s, kernels %t, bias %v: got %v, want %v·%v", name, kernels, bias, v, factor, want.F64[i],
						)
					}
				}
			}
		}
	}
}

var scaledLayerCases = []layerCase{
	{"mlp between factors", "Scaled", func(at Site, x graph.Expr) graph.Expr {
		return NewScaled(at.Scope, NewMLP(at), 0.3, 1.7).Forward(x)
	}},
	{"attention with a factor on the queries", "ScaledQueries", func(at Site, x graph.Expr) graph.Expr {
		at.Affine = NewScaledQueries(NewLoRA(everywhere, 2, 0.7), 0.6)
		return NewSelfAttention(rotary(at)).Forward(x)
	}},
}

// Factors can be folded into weights: b·(a·x·w + c) = x·(a·b·w) + b·c, and a factor on the queries is one on their
// columns of the weight and the bias. By powers of 2 the results are the same to the bit.
func TestI69FactorsFold(t *testing.T) {
	d := Dims{Batch: 2, Context: 4, Embd: 6, Heads: 2, QK: 4, V: 3, Inner: 5, Blocks: 1}
	out := []int{8, 8, 6}
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 3)
		g.Kernels = kernels
		at := newSite(g, d)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		build := func(name string, affine Affine) Layer {
			return affine(at.Sub("%s", name), d.Embd, out, true, graph.Normal(1))
		}
		both, queries, folded := build("both", NewLinear), build(
			"queries", NewScaledQueries(NewLinear, 0.5),
		), build("folded", NewLinear)
		scaled := NewScaled(at.Scope, both, 0.25, 8)
		q := queries.(*ScaledQueries).Layer.(*Linear)
		w := folded.(*Linear)
		for _, l := range []*Linear{both.(*Linear), q} {
			for i := range l.Bias.Tensor().Len() {
				l.Bias.Tensor().Set(i, math.Sin(float64(i)))
			}
		}
		fold := func(from *Linear, weight, bias func(col int) float64) {
			for i := range w.Weight.Tensor().Len() {
				w.Weight.Tensor().Set(i, from.Weight.Tensor().At(i)*weight(i%22))
			}
			for i := range w.Bias.Tensor().Len() {
				w.Bias.Tensor().Set(i, from.Bias.Tensor().At(i)*bias(i))
			}
		}
		equal := func(name string, l Layer) {
			got := output(t, l.Forward(x)).Floats()
			for i, want := range output(t, w.Forward(x)).Floats() {
				if got[i] != want {
					t.Errorf("kernels %t, %s: entry %d is %v, want %v", kernels, name, i, got[i], want)
				}
			}
		}
		always := func(x float64) func(int) float64 { return func(int) float64 { return x } }
		fold(both.(*Linear), always(2), always(8))
		equal("scaled", scaled)
		onQueries := func(col int) float64 {
			if col < 8 {
				return 0.5
			}
			return 1
		}
		fold(q, onQueries, onQueries)
		equal("queries", queries)
	}
}

// withoutStep combines tokens and has no Step.
type withoutStep struct{}

func (withoutStep) Forward(x graph.Expr) graph.Expr { return x }
func (withoutStep) Mixing() float64                 { return 1 }

// A layer in factors decodes as it computes, and one that stores nothing is refused by name.
func TestScaledSteps(t *testing.T) {
	d := Dims{Batch: 2, Context: 5, Embd: 6, Heads: 2, QK: 4, V: 3, Inner: 5, Blocks: 1}
	stepEqualsForward(t, Causal{}, d, func(at Site) Cached {
		at.Affine = NewScaledQueries(NewLinear, 0.6)
		return NewScaled(at.Scope, NewSelfAttention(at), 0.3, 1.7)
	})
	g := graph.New(graph.Float64, 1)
	x := g.Root().Value("x", graph.Normal(1), 2, 6)
	at := g.Root().Ints("at", 1, 5, -1)
	mlp := NewMLP(newSite(g, d))
	if diff := cmp.Diff(
		output(t, NewScaled(g.Root(), mlp, 1, 2).Step(x, at)).F64, output(t, mlp.Forward(x).Scale(2)).F64,
	); diff != "" {
		t.Errorf("a step of an MLP: -got +want:\n%s", diff)
	}
	y := NewScaled(g.Root().Sub("mixing"), withoutStep{}, 1, 2).Step(x, at)
	if err := y.Graph().Err(); err == nil || !strings.Contains(
		err.Error(), "withoutStep stores nothing of earlier tokens",
	) {
		t.Errorf("a step of a layer without: got %v", err)
	}
	g = graph.New(graph.Float64, 1)
	l := NewScaledQueries(NewLinear, 3)(g.Root().Sub("one"), 2, []int{3}, false, graph.Const(1))
	if _, ok := l.(*Linear); !ok {
		t.Errorf("one block of columns: got %T, want the layer as it was", l)
	}
}

// sunk returns a site whose heads have sinks. Their logits are not 0.
func sunk(at Site) Site {
	at.Sinks = func(at Site) graph.Expr { return at.Param("sinks", graph.Normal(1), at.Heads) }
	return at
}

var sinkLayerCases = []layerCase{
	{"attention with sinks, a cap, adapters, rope and dropout", "SelfAttention RoPE LoRA",
		func(at Site, x graph.Expr) graph.Expr {
			at.Affine, at.Dropout, at.Cap = NewLoRA(everywhere, 2, 0.7), 0.3, 0.9
			return NewSelfAttention(sunk(rotary(at))).Forward(x)
		}},
	{"grouped attention with sinks in a window per head", "GroupedAttention", func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewMask(at.Sub("other"), at.Dims, All{Causal{}, dilatedTest(at.Dims)})
		return NewGroupedAttention(sunk(at), 1, false).Forward(x)
	}},
}

func TestSinksStepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return NewSelfAttention(sunk(at)) })
		stepEqualsForward(t, Window{2}, d, func(at Site) Cached { return sharedBy(sunk(at)) })
		stepEqualsForward(
			t, SinkWindow{Width: 2, Sinks: 1}, d, func(at Site) Cached { return NewSelfAttention(sunk(at)) },
		)
	}
}

// Where all scores of n visible keys are 0, a logit of ln n − ln 3 takes a quarter of the weight, and each key has
// 3/(4n). A logit far below the scores changes nothing; one far above them leaves 0.
func TestI81TakesItsShare(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 5)
		g.Kernels = kernels
		at := newSite(g, d)
		at.Mask = NewMask(at.Sub("all"), d, All{})
		at.Sinks = NewSinks
		l := NewSelfAttention(at)
		l.heads.Proj = unchanged{}
		weight, width := g.Params()[0].Tensor(), d.Heads*(2*d.QK+d.V)
		for i := range weight.Len() {
			if i%width < d.Heads*d.QK { // the queries
				weight.Set(i, 0)
			}
		}
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		y, sinks := l.Forward(x), l.heads.sinks.Tensor()
		qkv := output(t, l.QKV.Forward(x))
		for _, c := range []struct{ logit, share float64 }{
			{0, 1 / (1 + 1/float64(d.Context))},
			{math.Log(float64(d.Context)) - math.Log(3), 0.75},
			{-1000, 1}, {1000, 0},
		} {
			for i := range sinks.Len() {
				sinks.Set(i, c.logit)
			}
			got := output(t, y)
			for i, v := range got.F64 {
				row, j := i/(d.Heads*d.V), i%(d.Heads*d.V)
				var mean float64
				for key := range d.Context {
					mean += qkv.At((row/d.Context*d.Context+key)*width+2*d.Heads*d.QK+j) / float64(d.Context)
				}
				if want := c.share * mean; !(math.Abs(v-want) <= 1e-14) {
					t.Fatalf("kernels %t, logit %v: got %v, want %v of %v", kernels, c.logit, v, c.share, mean)
				}
			}
		}
	}
}

// narrow returns a width for latents that does not occur otherwise in the shapes of the tests.
func narrow(d Dims) int { return 1 + d.Embd/7*3 }

func newMLA(at Site) Cached       { return NewMLA(at, narrow(at.Dims)) }
func newMLARotary(at Site) Cached { return NewMLARoPE(at, narrow(at.Dims), 2+at.Embd/3, 4, 100) }
func newMLALatent(at Site) Cached { return NewMLALatentRoPE(at, narrow(at.Dims), 2+at.Embd/3, 4, 100) }

func latentCase(name, kind string, build func(at Site) Cached, change func(at *Site)) layerCase {
	return layerCase{name, kind, func(at Site, x graph.Expr) graph.Expr {
		change(&at)
		return build(positioned(at, at.Context, 0)).Forward(x)
	}}
}

func asItIs(*Site)         {}
func dropping(at *Site)    { at.Dropout = 0.3 }
func adapting(at *Site)    { at.Affine = NewLoRA(func(string) bool { return true }, 2, 0.7) }
func withoutBias(at *Site) { at.Bias = false }
func padded(at *Site) {
	at.Mask = NewMask(at.Sub("other"), at.Dims, All{Causal{}, Padding{lengths(at.Dims)}})
}

var mlaLayerCases = []layerCase{
	latentCase("latent attention", "MLA", newMLA, asItIs),
	latentCase("latent attention with dropout", "MLA", newMLA, dropping),
	latentCase("latent attention with padding", "MLA", newMLA, padded),
	latentCase("latent attention with adapters", "MLA LoRA", newMLA, adapting),
	latentCase("latent attention with rope", "MLARoPE", newMLARotary, asItIs),
	latentCase(
		"latent attention with rope without bias, with dropout", "MLARoPE", newMLARotary,
		func(at *Site) { withoutBias(at); dropping(at) },
	),
	latentCase("latent attention with rope of the latent", "MLALatentRoPE", newMLALatent, asItIs),
}

// decodingLatents compares decoding, which absorbs the up-projections and stores latents, with the forward pass, which
// does neither, in all shapes, and checks the size of the cache.
func decodingLatents(t *testing.T, build func(at Site) Cached, change func(at *Site), kept func(d Dims) int) {
	for _, d := range shapes {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			caches := decodingEqualsForward(t, d, func(at Site) Cached { change(&at); return build(at) })
			if len(caches) != 1 {
				t.Fatalf("%d caches, want 1", len(caches))
			}
			for name, c := range caches {
				want := d.Batch * d.Context * kept(d)
				if got := c.Bytes() / 8; got != want {
					t.Errorf("%s keeps %d numbers, want %d, %d of each token", name, got, want, kept(d))
				}
			}
		})
	}
}

// TestI41AbsorbedDecodingEqualsForward: the results are equal, and the cache stores dc numbers a token.
func TestI41AbsorbedDecodingEqualsForward(t *testing.T) {
	decodingLatents(t, newMLA, asItIs, narrow)
}

// TestI41AbsorbsAdapters: the matrices that are absorbed include the adapters.
func TestI41AbsorbsAdapters(t *testing.T) { decodingLatents(t, newMLA, adapting, narrow) }

// TestI41WindowDecodes: the mask of the queries' own positions is used.
func TestI41WindowDecodes(t *testing.T) {
	decodingLatents(t, newMLA, func(at *Site) { at.Mask = NewMask(at.Sub("other"), at.Dims, Window{3}) }, narrow)
}

// TestI42AbsorbedDecodingEqualsForward: for both readings the results are equal, and the cache stores dc + dR numbers a
// token.
func TestI42AbsorbedDecodingEqualsForward(t *testing.T) {
	kept := func(d Dims) int { return narrow(d) + 4 }
	t.Run("of the token", func(t *testing.T) { decodingLatents(t, newMLARotary, asItIs, kept) })
	t.Run("of the latent", func(t *testing.T) { decodingLatents(t, newMLALatent, asItIs, kept) })
}

// deepSeek holds the sizes that Xu takes from DeepSeek: 128 heads of 128 features on a stream of 7168, and 576 numbers
// of latent (37), which are 512 and 64 rotated ones there.
var deepSeek = Dims{Batch: 1, Context: 1, Embd: 7168, Heads: 128, QK: 128, V: 128}

// TestI41CacheOfATokenIs576Not32768 in one layer of that size: 57 times less.
func TestI41CacheOfATokenIs576Not32768(t *testing.T) {
	d := deepSeek
	latent := fused.LatentShape{
		Batch: d.Batch, Context: d.Context, Heads: d.Heads, QK: d.QK, V: d.V, Latent: 512, Rotary: 64,
	}
	full := fused.AttentionShape{Batch: d.Batch, Context: d.Context, Heads: d.Heads, QK: d.QK, V: d.V}
	keysAndValues := full.Width() - d.Heads*d.QK // the packed columns without the queries
	if latent.Width() != 576 || keysAndValues != 32_768 {
		t.Errorf("a token leaves %d and %d numbers, want 576 and 32768", latent.Width(), keysAndValues)
	}
}

// TestI41AbsorbedMatrixIsLarger: w_q,h·w↑_k,hᵀ of one head has 4.17 times as many entries as its two factors, 4,128,768
// for 991,232, so it is not stored (errata X6).
func TestI41AbsorbedMatrixIsLarger(t *testing.T) {
	const latent = 576
	d := Dims{Batch: 1, Context: 1, Embd: 7168, Heads: 1, QK: 128, V: 1}
	g := graph.New(graph.Float32, 1)
	NewMLA(newSite(g, d), latent)
	factors := 0
	for _, p := range g.Params() {
		if strings.HasSuffix(p.Name(), "c_q.weight") || strings.HasSuffix(p.Name(), "c_k_up.weight") {
			factors += p.Tensor().Len()
		}
	}
	absorbed := d.Embd * latent
	if ratio := float64(absorbed) / float64(factors); absorbed != 4_128_768 || factors != 991_232 ||
		!(math.Abs(ratio-4.17) < 0.005) {
		t.Errorf("%d entries for %d, ratio %.3f, want 4128768 for 991232, ratio 4.17", absorbed, factors, ratio)
	}
}

// TestI41BiasesWouldAddNothing: a bias of the keys cancels, and one of the values acts as one of the output. Here the
// latent gets one, as a column of ones in x that no other matrix reads.
func TestI41BiasesWouldAddNothing(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 3)
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	l := NewMLA(newSite(g, d), 3)
	y := l.Forward(x)
	in, down, query := x.Tensor(), l.Down.(*Linear).Weight.Tensor(), l.Query.(*Linear).Weight.Tensor()
	for i := range d.Batch * d.Context {
		in.Set(i*d.Embd, 1)
	}
	for j := range query.Shape[1] {
		query.Set(j, 0)
	}
	for j := range 3 {
		down.Set(j, 0)
	}
	before := output(t, y)
	for j := range 3 {
		down.Set(j, float64(1+j))
	}
	after := output(t, y)
	moved := 0.0
	for i := range before.Len() {
		first := after.At(i%d.Embd) - before.At(i%d.Embd)
		moved = max(moved, math.Abs(first))
		if got := after.At(i) - before.At(i); !(math.Abs(got-first) <= 1e-12) {
			t.Errorf("entry %d moves by %v, in the first row by %v", i, got, first)
		}
	}
	if moved < 1e-3 {
		t.Errorf("the bias moves the output by %v only", moved)
	}
}

// TestI42KeyOfTheLatentHasItsRank: k^R from a latent of one feature is a multiple of a single row before it is rotated,
// for all tokens; k^R from the token's features is not.
func TestI42KeyOfTheLatentHasItsRank(t *testing.T) {
	d := shapes[0]
	rank := func(build func(at Site) (rotating, down Layer)) int {
		g := graph.New(graph.Float64, 3)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		rotating, down := build(positioned(newSite(g, d), d.Context, 0))
		if down != nil {
			x = down.Forward(x)
		}
		k := output(t, rotating.Forward(x))
		for i := range k.Shape[0] {
			for j := range k.Shape[1] {
				minor := k.At(i*4+j)*k.At(0) - k.At(i*4)*k.At(j)
				if math.Abs(minor) > 1e-9*math.Abs(k.At(i*4+j)*k.At(0)) {
					return 2 // or more
				}
			}
		}
		return 1
	}
	if got := rank(func(at Site) (Layer, Layer) {
		l := NewMLALatentRoPE(at, 1, 3, 4, 100)
		return l.RoPEK, l.Down
	}); got != 1 {
		t.Errorf("of the latent: rank %d or more, want 1", got)
	}
	if got := rank(func(at Site) (Layer, Layer) { return NewMLARoPE(at, 1, 3, 4, 100).RoPEK, nil }); got != 2 {
		t.Errorf("of the token: rank %d, want more", got)
	}
}

// TestMLAErrors: invalid sizes are errors where the layer is built, with both numbers.
func TestMLAErrors(t *testing.T) {
	pos := func(at Site) graph.Expr { return at.Ints("pos", 1, at.Context, -1) }
	for want, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"h.0: latent 0: at least 1 feature is needed, fewer than 8 " +
			"make sense": func(at Site, x graph.Expr) graph.Expr { return NewMLA(at, 0).Forward(x) },
		"h.0: latent -3: " +
			"at least 1": func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, -3, 3, 4, 100).Forward(x) },
		"h.0: query latent 0: at least 1 feature is needed, " +
			"fewer than 8": func(at Site, x graph.Expr) graph.Expr {
			return NewMLALatentRoPE(at, 3, 0, 4, 100).Forward(x)
		},
		"h.0.rope: size 5: rotary positions rotate pairs, so 4 or 6 " +
			"features are": func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, 5, 100).Forward(x) },
		"h.0.rope: size -2: rotary positions rotate pairs, so " +
			"at least 2": func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, -2, 100).Forward(x) },
		"h.0.rope: theta -1: a base " +
			"greater than 0": func(at Site, x graph.Expr) graph.Expr { return NewMLARoPE(at, 3, 3, 4, -1).Forward(x) },
		"h.0: rotary positions rotate the 3 features of a key, which a " +
			"latent of 2": func(at Site, x graph.Expr) graph.Expr {
			at.Rotary = &RoPE{}
			return NewMLA(at, 2).Forward(x)
		},
		"h.0: cached latent attention (12, 6), (12, 3), h.0.c_k_up.weight " +
			"(3, 6), h.": func(at Site, x graph.Expr) graph.Expr { return NewMLA(at, 3).Step(x, pos(at)) }, // no cache
		"no cache to keep latents in": func(at Site, x graph.Expr) graph.Expr {
			return NewMLARoPE(at, 3, 3, 4, 9).Step(x, pos(at))
		},
		"got a mask for every sequence, want one for all, (6, 6)": func(at Site, x graph.Expr) graph.Expr {
			padded(&at)
			at.Caches = Caches{}
			return NewMLA(at, 3).Step(x, pos(at))
		},
		"got 3 positions, want 1, or one for each of 2 sequences": func(at Site, x graph.Expr) graph.Expr {
			at.Caches = Caches{}
			return NewMLA(at, 3).Step(x, at.Ints("three", 3, at.Context, -1))
		},
		"latents: (12, 4), want (12, 3)": func(at Site, x graph.Expr) graph.Expr { // the cache of another model
			at.Caches = Caches{}
			NewMLA(at, 3)
			return NewMLA(
				Site{
					Scope: at.Scope, Dims: at.Dims, Caches: at.Caches, Style: Style{Affine: renaming},
					Attending: Attending{Mask: at.Mask},
				},
				4,
			).Step(x, pos(at))
		},
		"nn.reluOnly: only a Linear or a LoRA can be absorbed": func(at Site, x graph.Expr) graph.Expr {
			at.Caches = Caches{}
			l := NewMLA(at, 3)
			l.UpK = reluOnly{}
			return l.Step(x, pos(at))
		},
	} {
		g := graph.New(graph.Float64, 3)
		at := positioned(newSite(g, shapes[0]), shapes[0].Context, 0)
		_, err := graph.Compile(build(at, at.Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

type reluOnly struct{}

func (reluOnly) Forward(x graph.Expr) graph.Expr { return x.ReLU() }

// renaming builds linear layers with the names of existing ones.
func renaming(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
	return NewLinear(s.Sub("other"), in, out, bias, init)
}

// TestMLAOutOfContext: a position after the context is an error of the run, and nothing is written.
func TestMLAOutOfContext(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	at.Caches = Caches{}
	pos := at.Ints("pos", 1, d.Context+3, -1)
	p, err := graph.Compile(NewMLA(at, 3).Step(at.Value("x", graph.Normal(1), 2*d.Batch, d.Embd), pos))
	if err != nil {
		t.Fatal(err)
	}
	pos.Ints()[0] = d.Context - 1
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "tokens 5 … 6 of a context of 6") {
		t.Errorf("got %v, want tokens 5 … 6 of a context of 6", err)
	}
	pos.Ints()[0] = d.Context - 2
	if err := p.Run(); err != nil {
		t.Error(err)
	}
}
