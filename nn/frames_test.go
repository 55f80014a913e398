package nn

import (
	"go/ast"
	"math"
	"reflect"
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
		// compute where they are called
		if slices.Contains([]string{"rope in one group", "tied", "rope", "partial rope"}, c.name) {
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
				t.Errorf(
					"%s, kernels %t: %d of %d operands are of operations outside its scope", c.name, kernels, all-own,
					all,
				)
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
		"dpo": func(at Site, x graph.Expr) {
			r := NewRollout(at.Scope, 4, 2)
			NewDPO(at.Scope, 2).Forward(x, r.Actions, r.Returns)
		},
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
	if rules[0].(BigBird).drawn != nil || drawn[0].(BigBird).drawn == nil {
		t.Errorf("got %+v of %+v", drawn, rules)
	}
	again := drawKeys(rules, d)
	for i := range d.Context {
		first, second := drawn[0].(BigBird).random(0, i), again[0].(BigBird).random(0, i)
		third := drawn[0].(BigBird).random(0, i)
		if !slices.Equal(first, second) || !slices.Equal(first, third) || len(first) != min(2, i) {
			t.Errorf("query %d: got keys %v, again %v and %v", i, first, second, third)
		}
	}
}

// A memory for one query, one key and one sequence is valid.
func TestSmallestMemory(t *testing.T) {
	for name, m := range map[string]Memory{
		"all 1": {Batch: 1, Queries: 1, Keys: 1}, "no batch": {Queries: 1, Keys: 1}, "no queries": {Batch: 1, Keys: 1},
		"no keys":     {Batch: 1, Queries: 1},
		"length 1":    {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{1}},
		"length 0":    {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{0}},
		"length 2":    {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{2}},
		"two lengths": {Batch: 1, Queries: 1, Keys: 1, Lengths: []int{1, 1}},
	} {
		if err := m.check(); (err == nil) != strings.HasSuffix(name, " 1") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if err := (*Memory)(nil).Update(); err != errUnbuilt {
		t.Errorf("update of nil: got error %v, want %v", err, errUnbuilt)
	}
}

// pointers holds a nil pointer of every exported type of nn that has a method with a pointer receiver.
var pointers = []any{
	(*BinaryCrossEntropy)(nil), (*Block)(nil), (*MultiToken)(nil), (*Canon)(nil), (*CrossAttention)(nil),
	(*CrossEntropy)(nil), (*DecoderBlock)(nil), (*DiffAttention)(nil), (*DPO)(nil), (*Dropout)(nil),
	(*Elman)(nil), (*Embedding)(nil), (*ForgettingAttention)(nil), (*GatherTokens)(nil), (*Gate)(nil), (*XSA)(nil),
	(*GroupedAttention)(nil), (*GRPO)(nil), (*LayerNorm)(nil), (*LayerNormPlain)(nil),
	(*LayerNormSigma)(nil), (*LearnedPositions)(nil), (*Linear)(nil), (*LinearAttention)(nil), (*Linformer)(nil),
	(*Loads)(nil), (*LoRA)(nil),
	(*Longformer)(nil), (*LongformerMask)(nil), (*MLA)(nil), (*MLALatentRoPE)(nil), (*MLARoPE)(nil), (*MLP)(nil),
	(*Mask)(nil),
	(*Balance)(nil), (*Carry)(nil), (*Mamba2)(nil), (*MoE)(nil), (*MeanTokens)(nil), (*Memory)(nil), (*MinGRU)(nil),
	(*RGLRU)(nil), (*PPOClip)(nil), (*PostNormBlock)(nil), (*PostNormDecoderBlock)(nil), (*QKNorm)(nil),
	(*Recurrence)(nil), (*ShortConv)(nil), (*Skip)(nil), (*Smear)(nil),
	(*RMSNorm)(nil), (*DyT)(nil), (*SandwichBlock)(nil), (*PostPartBlock)(nil), (*ParallelBlock)(nil),
	(*ParallelTwoBlock)(nil),
	(*Reinforce)(nil), (*RoPE)(nil), (*SelfAttention)(nil), (*SigmoidAttention)(nil), (*Sinusoidal)(nil),
	(*SquaredError)(nil), (*GLU)(nil),
	(*Scaled)(nil), (*ScaledQueries)(nil),
	(*TaylorAttention)(nil), (*Tied)(nil), (*Unprojected)(nil), (*UnprojectedCross)(nil), (*ValueHead)(nil),
	(*ValueLoss)(nil),
}

// Every exported method of a nil layer or a literal returns an error of its place if it returns an expression. It never
// panics.
func TestNilLayers(t *testing.T) {
	for _, p := range pointers {
		for _, v := range []reflect.Value{reflect.ValueOf(p), reflect.New(reflect.TypeOf(p).Elem())} {
			for i := range v.NumMethod() {
				name := v.Type().String() + "." + v.Type().Method(i).Name
				y, fresh := callMethod(t, name, v.Method(i))
				if v.IsNil() && y.Graph() == fresh {
					if err := fresh.Err(); err == nil || !strings.HasPrefix(err.Error(), "h.1") {
						t.Errorf("%s of nil: got error %v, want one of h.1", name, err)
					}
				}
			}
		}
	}
}

// callMethod calls a method with expressions of a new graph, and returns the first expression among its results.
func callMethod(t *testing.T, name string, method reflect.Value) (y graph.Expr, g *graph.Graph) {
	t.Helper()
	g = graph.New(graph.Float64, 1)
	x := g.Root().Value("x", graph.Normal(1), 6, 8).In(g.Root().Sub("h.1"))
	in := make([]reflect.Value, method.Type().NumIn())
	for i := range in {
		if in[i] = reflect.Zero(method.Type().In(i)); in[i].Type() == reflect.TypeOf(x) {
			in[i] = reflect.ValueOf(x)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", name, r)
		}
	}()
	for _, out := range method.Call(in) {
		if e, ok := out.Interface().(graph.Expr); ok {
			return e, g
		}
	}
	return y, g
}

// The list above is complete.
func TestEveryNilLayerIsTried(t *testing.T) {
	listed := map[string]bool{}
	for _, p := range pointers {
		listed[reflect.TypeOf(p).Elem().Name()] = true
	}
	for _, f := range functions(t, ".") {
		if f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			if name := star.X.(*ast.Ident).Name; ast.IsExported(name) && !listed[name] {
				t.Errorf("%s has the method %s, and is not in the list of pointers", name, f.Name.Name)
			}
		}
	}
}

// TestBeginning: gains start at 1, shifts and contributions to the residual stream that should start small at 0,
// weights at N(0, 0.02²), the last of a sublayer at N(0, 0.02²/2L) for L blocks, and some as defined by their layers.
func TestBeginning(t *testing.T) {
	const blocks, latent, queries, d = 3, 40, 32, 48
	dims := Dims{Batch: 1, Context: 44, Embd: d, Heads: 3, QK: 16, V: 20, Inner: 60, Blocks: blocks}
	own := map[string]float64{ // by layer and parameter
		"Elman c_input.weight": 1 / math.Sqrt(d), "Elman weight": 0.5 / math.Sqrt(d),
		"Linformer e.weight": 1 / math.Sqrt(latent), "Linformer f.weight": 1 / math.Sqrt(latent),
		"ValueHead weight": 0, "LoRA lora_u": 0,
	}
	for name, layer := range map[string]func(at Site){
		"LayerNorm": func(at Site) { NewLayerNorm(at) }, "LayerNormSigma": func(at Site) { NewLayerNormSigma(at) },
		"Embedding":        func(at Site) { NewEmbedding(at.Scope, 50, d) },
		"LearnedPositions": func(at Site) { NewLearnedPositions(positioned(at, 44, 0)) },
		"SelfAttention":    func(at Site) { causal(at) }, "MLP": func(at Site) { NewMLP(at) },
		"GLU": func(at Site) { NewGLU(at, SiLU{}) }, "MoE": func(at Site) { NewMoE(experts(at, 1, 2)) },
		"Elman": func(at Site) { NewElman(at) },
		"MLA":   func(at Site) { NewMLA(at, latent) }, "MLARoPE": func(at Site) {
			NewMLARoPE(
				positioned(at, 44, 0), latent, queries, 20, 100,
			)
		},
		"MLALatentRoPE": func(at Site) { NewMLALatentRoPE(positioned(at, 44, 0), latent, queries, 20, 100) },
		"CrossAttention": func(at Site) {
			NewCrossAttention(
				at, NewMemory(at.Sub("memory"), graph.Expr{}, 1, 44, 7, nil),
			)
		},
		"Linformer": func(at Site) { at.Mask = NewMask(at.Sub("own"), dims, All{}); NewLinformer(at, latent) },
		"ValueHead": func(at Site) { NewValueHead(at) },
		"LoRA": func(at Site) {
			NewLoRA(func(string) bool { return true }, 20, 1)(at.Scope, d, []int{50}, true, graph.Normal(0.02))
		},
	} {
		g := graph.New(graph.Float64, 1)
		layer(newSite(g, dims))
		if err := g.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range g.Params() {
			x, short := p.Tensor().Floats(), strings.TrimPrefix(p.Name(), "h.0.")
			var mean, std float64
			for _, v := range x {
				mean += v / float64(len(x))
			}
			for _, v := range x {
				std += (v - mean) * (v - mean) / float64(len(x))
			}
			std = math.Sqrt(std)
			want, center := 0.02, 0.0
			switch named, ok := own[name+" "+short]; {
			case ok:
				want = named
			case strings.HasPrefix(name, "LayerNorm"):
				if want = 0; short == "weight" {
					center = 1
				}
			case strings.HasSuffix(short, "bias"):
				want = 0
			case short == "c_q_up.weight", short == "c_q_rope.weight":
				want = 1 / math.Sqrt(queries)
			case short == "c_k_up.weight", short == "c_v_up.weight", name+short == "MLALatentRoPEc_k_rope.weight":
				want = 1 / math.Sqrt(latent)
			case strings.HasSuffix(short, "c_proj.weight"):
				want = 0.02 / math.Sqrt(2*blocks)
			}
			if !(math.Abs(std-want) <= 0.12*want+1e-12) || !(math.Abs(mean-center) <= 0.15*want+1e-12) {
				t.Errorf("%s: %s begins at %.3g ± %.3g, want %.3g ± %.3g", name, short, mean, std, center, want)
			}
		}
	}
	r := NewRollout(newSite(graph.New(graph.Float64, 1), dims).Scope, 3, 2)
	if r.Returns.Tensor().At(2) != 0 || r.Weights.Tensor().At(2) != 1 || r.LogProbs.Tensor().At(2) != 0 {
		t.Error("a rollout begins with returns and log probabilities of 0, and every action counts once")
	}
}

// TestAfterFailure: a layer passes a failure on, and so does a mask without rules.
func TestAfterFailure(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := newSite(g, shapes[0])
		at.Failf("first")
		x := at.Value("x", graph.Normal(1), 12, 8)
		NewCrossEntropy(at.Scope).Forward(x, at.Ints("y", 12, 8, -1))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "first") {
			t.Errorf("got %v", err)
		}
	}
	g := graph.New(graph.Float64, 1)
	NewMask(g.Root(), Dims{Batch: 1}, Causal{}).requireCausal(g.Root())
}

// TestOneRandomKey: a single random key is drawn once for all heads, as several are.
func TestOneRandomKey(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	NewMask(
		g.Root(), Dims{Batch: 1, Context: 4, Heads: 2},
		All{All{Causal{}, BigBird{Width: 1, Random: 1}}, Dilated{Width: 3, Dilation: []int{1, 2}}},
	)
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "1 random keys") {
		t.Errorf("got %v", err)
	}
}
