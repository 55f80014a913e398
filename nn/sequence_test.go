package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
)

var elmanLayerCases = []layerCase{
	{"elman", "Elman", func(at Site, x graph.Expr) graph.Expr { return NewElman(at).Forward(x) }},
	{"elman without bias", "Elman", func(at Site, x graph.Expr) graph.Expr {
		at.Bias = false
		return NewElman(at).Forward(x)
	}},
	{"two elman layers", "Elman", func(at Site, x graph.Expr) graph.Expr {
		return NewElman(at.At("above")).Forward(NewElman(at.At("below")).Forward(x))
	}},
}

// elman returns a layer of 3 features on random numbers, with W scaled.
func elman(batch, context int, scale float64) (l *Elman, x graph.Expr) {
	g := graph.New(graph.Float64, 3)
	d := Dims{Batch: batch, Context: context, Embd: 3}
	l = NewElman(Site{Scope: g.Root(), Dims: d, Affine: NewLinear, Bias: true, Caches: Caches{}})
	for i, v := range l.Weight.Tensor().F64 {
		l.Weight.Tensor().F64[i] = scale * v
	}
	return l, g.Root().Value("x", graph.Normal(1), batch*context, 3)
}

func run(t *testing.T, y graph.Expr, wrt ...graph.Expr) *graph.Program {
	t.Helper()
	p, err := graph.Compile(y, wrt...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Token by token, h_t = tanh(h_{t−1}·W + x_t·U + b).
func TestI33EqualsUnrolled(t *testing.T) {
	const batch, context, d = 2, 5, 3
	l, x := elman(batch, context, 1)
	in := l.Input.(*Linear)
	for i := range in.Bias.Tensor().F64 {
		in.Bias.Tensor().F64[i] = 0.1 * float64(i+1)
	}
	got := run(t, l.Forward(x)).Value().Floats()
	u, w, b := in.Weight.Tensor().F64, l.Weight.Tensor().F64, in.Bias.Tensor().F64
	for s := range batch {
		h := make([]float64, d)
		for token := range context {
			row, next := x.Tensor().F64[(s*context+token)*d:][:d], make([]float64, d)
			for j := range d {
				a := b[j]
				for k := range d {
					a += h[k]*w[k*d+j] + row[k]*u[k*d+j]
				}
				next[j] = math.Tanh(a)
			}
			h = next
			for j := range d {
				if v := got[(s*context+token)*d+j]; !(math.Abs(v-h[j]) <= 1e-14) {
					t.Fatalf("sequence %d, token %d, feature %d: got %v, want %v", s, token, j, v, h[j])
				}
			}
		}
	}
}

// The gradient of the last state by an earlier token is a product with a factor W∘(1 − h²) for each token between. With
// a small W it vanishes with the distance, at least by ‖W‖ a token; with a large one, and states near 0, it grows.
func TestI33GradientThroughTime(t *testing.T) {
	sizes := func(scale, signal float64) (size []float64) {
		const context = 12
		l, x := elman(1, context, scale)
		for i := range x.Tensor().F64 {
			x.Tensor().F64[i] *= signal
		}
		last := x.Graph().Root().Value("last", graph.Const(0), context, 3)
		last.Tensor().F64[3*context-1] = 1
		grad := run(t, l.Forward(x).Mul(last).SumAll(), x).Grad(x)
		for token := range context {
			size = append(size, math.Sqrt(squares(grad.Row(token))))
		}
		return size
	}
	l, _ := elman(1, 1, 0.2)
	norm := math.Sqrt(squares(l.Weight.Tensor())) // at least the largest singular value
	u := math.Sqrt(squares(l.Input.(*Linear).Weight.Tensor()))
	for token, got := range sizes(0.2, 1) {
		if limit := u * math.Pow(norm, float64(11-token)); !(got > 0 && got <= limit) {
			t.Errorf("token %d: the gradient is %.2e, want at most %.2e", token, got, limit)
		}
	}
	if grown := sizes(6, 1e-9); !(grown[0] > 1e3*grown[11]) {
		t.Errorf("with a large W the gradient goes from %.2e at the last token to %.2e at the first, want growth", grown[11], grown[0])
	}
}

func squares(x graph.Tensor) (sum float64) {
	for _, v := range x.Floats() {
		sum += v * v
	}
	return sum
}

// Step for the newest tokens, one or several, equals the rows of Forward. Position 0 clears the state, and the only
// other valid position is the next one.
func TestI33StepEqualsForward(t *testing.T) {
	const batch, context, d = 2, 7, 3
	l, x := elman(batch, context, 1)
	want := run(t, l.Forward(x)).Value().Floats()
	s := x.Graph().Root()
	at := s.Ints("at", 1, 100, -1)
	steps := map[int]*graph.Program{}
	news := map[int]graph.Expr{}
	for _, n := range []int{1, 3} {
		news[n] = s.Sub("%d", n).Value("new", graph.Const(0), batch*n, d)
		p, err := graph.Compile(l.Step(news[n], at))
		if err != nil {
			t.Fatal(err)
		}
		steps[n] = p
	}
	for range 2 {
		from := 0
		for _, n := range []int{1, 3, 1, 1} {
			at.Ints()[0] = from
			for b := range batch {
				copy(news[n].Tensor().F64[b*n*d:(b+1)*n*d], x.Tensor().F64[(b*context+from)*d:])
			}
			if err := steps[n].Run(); err != nil {
				t.Fatal(err)
			}
			for b := range batch {
				for i := range n * d {
					got, want := steps[n].Value().F64[b*n*d+i], want[(b*context+from)*d+i]
					if !(math.Abs(got-want) <= 1e-15) {
						t.Fatalf("at %d, sequence %d: got %v, want %v", from, b, got, want)
					}
				}
			}
			from += n
		}
	}
	at.Ints()[0] = 4
	if err := steps[1].Run(); !errors.Is(err, graph.ErrOrder) || !strings.Contains(err.Error(), "token 4, the next one is token 6") {
		t.Errorf("got error %v, want one that names both numbers", err)
	}
	if allocations := testing.AllocsPerRun(20, func() {
		at.Ints()[0] = 0
		if err := steps[1].Run(); err != nil {
			t.Fatal(err)
		}
	}); allocations != 0 {
		t.Errorf("a step allocates %v times", allocations)
	}
}

func TestElmanErrors(t *testing.T) {
	for want, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"rnn: cached elman": func(at Site, x graph.Expr) graph.Expr { // no caches
			return NewElman(at).Step(x, at.Ints("at", 1, 9, -1))
		},
		"no cache to continue from": func(at Site, x graph.Expr) graph.Expr {
			return NewElman(at).Step(x, at.Ints("at", 1, 9, -1))
		},
		"got 6 tokens, want the same number for each of 4 sequences": func(at Site, x graph.Expr) graph.Expr {
			at.Batch = 4
			return NewElman(at).Forward(x)
		},
		"got a recurrent weight (3, 3), want (2, 2)": func(at Site, x graph.Expr) graph.Expr {
			h, _ := graph.Elman(x, at.Param("w", graph.Const(0), 3, 3), 2)
			return h
		},
	} {
		g := graph.New(graph.Float64, 1)
		at := Site{Scope: g.Root().Sub("rnn"), Dims: Dims{Batch: 2, Context: 3, Embd: 2}, Affine: NewLinear}
		_, err := graph.Compile(build(at, g.Root().Value("x", graph.Const(0), 6, 2)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// convolvedAt returns a site with short convolutions, not the identity, at the given places.
func convolvedAt(at Site, places ...ConvPlace) Site {
	at.Conv = func(at Site, place ConvPlace, width int) Layer {
		if !slices.Contains(places, place) {
			return nil
		}
		return newShortConv(at, width, graph.Normal(0.3))
	}
	return at
}

func everyConv(at Site) Site {
	return convolvedAt(at, ConvAttention, ConvProjections, ConvMLP, ConvInner)
}

var convLayerCases = []layerCase{
	{"short convolution", "ShortConv", func(at Site, x graph.Expr) graph.Expr {
		return newShortConv(at, at.Embd, graph.Normal(1)).Forward(x)
	}},
	{"canon", "Canon", func(at Site, x graph.Expr) graph.Expr { return NewCanon(at, at.Embd).Forward(x) }},
	{"block with convolutions", "ShortConv Block", func(at Site, x graph.Expr) graph.Expr {
		return NewBlock(everyConv(at), causal).Forward(x)
	}},
	{"swiglu with convolutions", "ShortConv GLU", func(at Site, x graph.Expr) graph.Expr {
		return NewGLU(everyConv(at), SiLU{}).Forward(x)
	}},
}

// A step equals Forward for every layer and block that has convolutions.
func TestConvStepEqualsForward(t *testing.T) {
	for i, d := range shapes[:3] {
		for name, layer := range map[string]func(at Site) Cached{
			"conv":     func(at Site) Cached { return newShortConv(at, at.Embd, graph.Normal(1)) },
			"canon":    func(at Site) Cached { return NewCanon(at, at.Embd) },
			"mlp":      func(at Site) Cached { return NewMLP(everyConv(at)) },
			"glu":      func(at Site) Cached { return NewGLU(everyConv(at), SiLU{}) },
			"block":    func(at Site) Cached { return NewBlock(everyConv(at), causal) },
			"post":     func(at Site) Cached { return NewPostNormBlock(everyConv(at), causal) },
			"sandwich": func(at Site) Cached { return NewSandwichBlock(everyConv(at), causal) },
			"part":     func(at Site) Cached { return NewPostPartBlock(everyConv(at), causal) },
			"parallel": func(at Site) Cached { return NewParallelBlock(everyConv(at), causal) },
			"two":      func(at Site) Cached { return NewParallelTwoBlock(everyConv(at), causal) },
			"gqa":      func(at Site) Cached { return NewGroupedAttention(everyConv(at), 1, true) },
			"sigmoid":  func(at Site) Cached { return NewSigmoidAttention(everyConv(at)) },
			"diff":     func(at Site) Cached { return paired(everyConv)(at) },
			"forget":   func(at Site) Cached { return NewForgettingAttention(everyConv(at)) },
			"linear":   func(at Site) Cached { return NewLinearAttention(everyConv(at)) },
			"longformer": func(at Site) Cached {
				return NewLongformer(everyConv(at), NewLongformerMask(at.Scope, at.Mask, Dilated{Width: 3, Dilation: slices.Repeat([]int{1}, at.Heads)}))
			},
		} {
			t.Log(i, name)
			stepEqualsForward(t, Causal{}, d, layer)
		}
	}
}

// A new convolution is the identity, and so a block with Canon layers or convolved projections begins as one without.
// One weight of 1 for the token before moves all tokens by one, in each sequence.
func TestI93Identity(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{false, true} {
		value := func(conv Convs) []float64 {
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			at := newSite(g, d)
			at.Conv = conv
			l := NewBlock(at, causal)
			for _, p := range g.Params() { // the same numbers with and without convolutions
				if p.Name() != "" && p.Tensor().Shape[0] > 1 && len(p.Tensor().Shape) == 2 {
					for i := range p.Tensor().Len() {
						p.Tensor().Set(i, math.Sin(float64(i)))
					}
				}
			}
			return output(t, l.Forward(x)).F64
		}
		want := value(nil)
		for name, conv := range map[string]Convs{
			"canon": func(at Site, _ ConvPlace, width int) Layer { return NewCanon(at, width) },
			"conv":  func(at Site, _ ConvPlace, width int) Layer { return NewShortConv(at, width) },
		} {
			if diff := cmp.Diff(want, value(conv)); diff != "" {
				t.Errorf("%s, kernels %t: -want +got:\n%s", name, kernels, diff)
			}
		}
		g := graph.New(graph.Float64, 5)
		g.Kernels = kernels
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		l := NewShortConv(newSite(g, d), d.Embd)
		for i := range l.Weight.Tensor().Len() {
			l.Weight.Tensor().Set(i, 0)
			if i/d.Embd == 1 {
				l.Weight.Tensor().Set(i, 1)
			}
		}
		if diff := cmp.Diff(output(t, x.Delay(1, d.Context)).F64, output(t, l.Forward(x)).F64); diff != "" {
			t.Errorf("moved by one: -want +got:\n%s", diff)
		}
	}
}

// A convolution of another width, and one that changes the shape, are errors that name the place.
func TestConvErrors(t *testing.T) {
	d := shapes[0]
	for want, conv := range map[string]Convs{
		"h.0.attn.conv: ": func(at Site, _ ConvPlace, _ int) Layer { return NewShortConv(at, d.Embd-1) },
		"h.0.attn.conv: got shape (12, 9), want (12, 8)": func(at Site, _ ConvPlace, width int) Layer {
			return NewLinear(at.Scope, width, []int{width + 1}, false, graph.Const(0))
		},
		"h.0.attn.conv: panic: broken": func(at Site, _ ConvPlace, _ int) Layer { panic("broken") },
	} {
		g := graph.New(graph.Float64, 5)
		at := newSite(g, d)
		at.Conv = conv
		_, err := graph.Compile(NewBlock(at, causal).Forward(g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// sharedValues is attentions in turn that share the values of the first.
type sharedValues []*SelfAttention

func newSharedValues(at Site, blocks ...string) (l sharedValues) {
	at.Values = NewValueResidual()
	for i, name := range blocks {
		at := at.At(name)
		at.Block = i
		l = append(l, NewSelfAttention(at))
	}
	return l
}

func (l sharedValues) Forward(x graph.Expr) graph.Expr {
	for _, l := range l {
		x = l.Forward(x)
	}
	return x
}

func (l sharedValues) Step(x, at graph.Expr) graph.Expr {
	for _, l := range l {
		x = l.Step(x, at)
	}
	return x
}

var valueLayerCases = []layerCase{{"attentions that share values", "ValueResidual SelfAttention", func(at Site, x graph.Expr) graph.Expr {
	return newSharedValues(at, "a", "b").Forward(x)
}}}

func TestSharedValuesStepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return newSharedValues(at, "a", "b", "c") })
	}
}

// With λ = (1, 0) every attention has its own values, as without the residual; with (0, 1) all have those of the
// first, so that a matrix of the values of a later attention changes nothing.
func TestI92Mixes(t *testing.T) {
	d := shapes[0]
	result := func(shared bool, lambda []float64, changed float64) []float64 {
		g := graph.New(graph.Float64, 5)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		at := newSite(g, d)
		var y graph.Expr
		if shared {
			y = newSharedValues(at, "a", "b", "c").Forward(x)
		} else {
			y = x
			for _, name := range []string{"a", "b", "c"} {
				y = NewSelfAttention(at.At(name)).Forward(y)
			}
		}
		for _, p := range g.Params() {
			of := p.Tensor()
			for i := range of.Len() {
				of.Set(i, math.Sin(float64(i+len(p.Name()))))
				if columns := 2 * d.Heads * d.QK; p.Name() == "h.0.c.c_attn.weight" && i%of.Shape[1] >= columns {
					of.Set(i, changed)
				}
			}
			if strings.HasSuffix(p.Name(), "v_lambda") {
				copy(of.F64, lambda)
			}
		}
		return output(t, y).F64
	}
	if diff := cmp.Diff(result(false, nil, 2), result(true, []float64{1, 0}, 2)); diff != "" {
		t.Errorf("own values: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(result(true, []float64{0, 1}, 2), result(true, []float64{0, 1}, 5)); diff != "" {
		t.Errorf("the first values: -want +got:\n%s", diff)
	}
	if cmp.Equal(result(true, []float64{0.5, 0.5}, 2), result(true, []float64{0.5, 0.5}, 5)) {
		t.Error("mixed values do not change with an attention's own")
	}
}

var skipLayerCases = []layerCase{
	{"the embeddings", "Skip", func(at Site, x graph.Expr) graph.Expr {
		at.Block = 1
		return NewEmbeddingSkip(at, 2).Forward(x, x)
	}},
	{"a block of the first half", "Skip", func(at Site, x graph.Expr) graph.Expr {
		at.Block = 4
		return NewUNetSkip(at, 5).Forward(x, x)
	}},
}

// With λ = (1, 0) nothing is mixed in, with (0, 1) a block reads the embeddings. Only the second half of the blocks of
// a U has a skip, and the places are mirrored.
func TestI97Places(t *testing.T) {
	g := graph.New(graph.Float64, 5)
	at := newSite(g, shapes[0])
	x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
	at.Block = 3
	l := NewEmbeddingSkip(at, 5)
	y := x.Tanh()
	if diff := cmp.Diff(output(t, y).F64, output(t, l.Forward(y, x)).F64); diff != "" {
		t.Errorf("at first: -want +got:\n%s", diff)
	}
	copy(l.Lambda.Tensor().F64, []float64{0, 1})
	if diff := cmp.Diff(x.Tensor().F64, output(t, l.Forward(y, x)).F64); diff != "" {
		t.Errorf("with λ (0, 1): -want +got:\n%s", diff)
	}
	for blocks, want := range [][]int{{}, {-1}, {-1, 1}, {-1, -1, 1}, {-1, -1, 2, 1}, {-1, -1, -1, 2, 1}} {
		got := []int{}
		for i := range blocks {
			at := at.At(fmt.Sprintf("%d.%d", blocks, i))
			if at.Block = i; NewUNetSkip(at, blocks) == nil {
				got = append(got, -1)
			} else {
				got = append(got, NewUNetSkip(at.At("again"), blocks).From)
			}
			if (NewEmbeddingSkip(at.At("e"), blocks) == nil) != (i == 0) {
				t.Errorf("embedding: block %d: want a skip in all blocks but the first", i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unet of %d blocks: -want +got:\n%s", blocks, diff)
		}
	}
}

// A later attention needs the first one in the same graph.
func TestValueResidualErrors(t *testing.T) {
	g := graph.New(graph.Float64, 5)
	at := newSite(g, shapes[0])
	at.Values, at.Block = NewValueResidual(), 1
	_, err := graph.Compile(NewSelfAttention(at).Forward(g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)))
	if want := "h.0: no values of the first block: block 0 must come before the others"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

var recurrenceLayerCases = []layerCase{
	{"gated linear attention", "Recurrence", func(at Site, x graph.Expr) graph.Expr { return NewGLA(at).Forward(x) }},
	{"gated linear attention without biases", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Bias, at.Dropout = false, 0.3
		return NewGLA(at).Forward(x)
	}},
	{"gated delta rule", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1 // otherwise float32 cannot tell a result near 0 from its norm
		return NewGatedDeltaNet(at).Forward(x)
	}},
	{"retention", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 1
		return NewRetNet(rotary(at)).Forward(x)
	}},
	{"Kimi delta attention", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1
		return NewKDA(at).Forward(x)
	}},
	{"delta rule", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1
		return NewDeltaNet(at).Forward(x)
	}},
	{"gated delta rule with rotary positions and adapters", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Affine = NewLoRA(func(string) bool { return true }, 3, 0.7)
		at.QK += at.QK % 2
		at.Eps = 1
		return NewGatedDeltaNet(rotary(at)).Forward(x)
	}},
}

func recurrences() map[string]func(at Site) *Recurrence {
	return map[string]func(at Site) *Recurrence{"gla": NewGLA, "gated_deltanet": NewGatedDeltaNet, "retnet": NewRetNet, "deltanet": NewDeltaNet, "kda": NewKDA}
}

// TestRecurrenceStepEqualsForward compares steps of several sizes, and checks that the state does not grow.
func TestRecurrenceStepEqualsForward(t *testing.T) {
	for name, build := range recurrences() {
		for _, d := range shapes {
			t.Run(fmt.Sprintf("%s/%+v", name, d), func(t *testing.T) {
				stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return build(at) })
			})
		}
	}
}

// TestI104Forgets: with gates near 0 a token reads nothing but its own value, whatever came before.
func TestI104Forgets(t *testing.T) {
	y := func(first float64) []float64 {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, shapes[0])
		l := NewGLA(at)
		bias, _ := g.Leaf("h.0.c_decay.up.bias")
		for i := range bias.Tensor().Len() {
			bias.Tensor().Set(i, -1e4)
		}
		x := at.Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
		x.Tensor().Set(0, first)
		return output(t, l.Forward(x)).Floats()
	}
	a, b := y(1), y(-2)
	if slices.Equal(a[:8], b[:8]) || !slices.Equal(a[8:], b[8:]) {
		t.Errorf("got %v, want the later tokens of %v", b, a)
	}
}

// TestI105Replaces: with β = 1 the value that is read at a key is the last one written there, and what is written at
// an orthogonal key does not change it.
func TestI105Replaces(t *testing.T) {
	const rows = 3
	g := graph.New(graph.Float64, 1)
	h := graph.RecurrenceShape{Batch: 1, Context: rows, Heads: 1, QK: 2, V: 1, Delta: true}
	qkv := g.Root().Value("qkv", graph.Const(0), rows, 5) // q, k, v
	for i, v := range []float64{1, 0, 1, 0, 7, 1, 0, 1, 0, 5, 1, 0, 0, 1, 9} {
		qkv.Tensor().Set(i, v)
	}
	y, _ := graph.Recurrence(qkv, graph.Expr{}, graph.Expr{}, h)
	if got := output(t, y).Floats(); !slices.Equal(got, []float64{7, 5, 5}) {
		t.Errorf("got %v, want 7, 5 and 5", got)
	}
}

// TestRecurrenceZeroKeys: keys and queries of zeros have no direction, and give a result of 0, not NaN.
func TestRecurrenceZeroKeys(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := newSite(g, shapes[0])
		x := at.Value("x", graph.Const(0), at.Batch*at.Context, at.Embd)
		p, err := graph.Compile(NewGatedDeltaNet(at).Forward(x).SumAll(), append(g.Params(), x)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for _, w := range append(g.Params(), x) {
			if err := p.Grad(w).Finite(w.Name()); err != nil {
				t.Error(err)
			}
		}
		if p.Loss() != 0 {
			t.Errorf("got %v, want 0", p.Loss())
		}
	}
}

// TestRecurrenceRefuses: other masks than the causal one, and a rotation of features that decay differently.
func TestRecurrenceRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(at *Site)
		build  func(at Site) *Recurrence
		want   string
	}{
		{func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, All{}) }, NewGLA, "want nn.Causal"},
		{func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, Window{3}) }, NewGatedDeltaNet, "want nn.Causal"},
		{func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, All{Causal{}, Padding{lengths(at.Dims)}}) }, NewGLA, "want nn.Causal"},
		{func(at *Site) { at.Mask = nil }, NewGLA, "want nn.Causal"},
		{func(at *Site) { *at = rotary(*at) }, NewKDA, "kda with rotary positions, whose meaning is undefined"},
		{func(at *Site) { *at = rotary(*at) }, NewGLA, "gla with rotary positions, whose meaning is undefined"},
	} {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, shapes[0])
		c.change(&at)
		c.build(at)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
}

// readings returns the results of a graph.Recurrence with random queries, keys and values of length about 1.
func readings(t *testing.T, delta bool, gates func(i int, rng *rand.Rand) float64, rows, columns int) []float64 {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	h := graph.RecurrenceShape{Batch: 1, Context: 70, Heads: 2, QK: 3, V: 2, Delta: delta}
	qkv := g.Root().Value("qkv", graph.Normal(0.6), 70, h.Heads*(2*h.QK+h.V))
	var alpha graph.Expr
	if columns > 0 {
		alpha = g.Root().Value("gates", gates, rows, columns)
	}
	y, _ := graph.Recurrence(qkv, alpha, g.Root().Value("beta", graph.Const(0.4), 70, 2), h)
	return output(t, y).Floats()
}

// TestI106ConstantGates: constant gates of a head, of features, or of one row for all tokens are the same recurrence,
// and gates of 1 are none at all.
func TestI106ConstantGates(t *testing.T) {
	gamma := func(perHead int) func(i int, _ *rand.Rand) float64 {
		return func(i int, _ *rand.Rand) float64 { return []float64{-0.1, -0.7}[i/perHead%2] }
	}
	for _, delta := range []bool{false, true} {
		want := readings(t, delta, gamma(1), 1, 2)
		for name, got := range map[string][]float64{
			"gates of a head": readings(t, delta, gamma(1), 70, 2), "gates of features": readings(t, delta, gamma(3), 70, 6),
		} {
			sameNumbers(t, name, got, want)
		}
	}
}

// TestI107WithoutGates: the gated delta rule with α = 1 is the delta rule.
func TestI107WithoutGates(t *testing.T) {
	for _, delta := range []bool{false, true} {
		want := readings(t, delta, nil, 0, 0)
		sameNumbers(t, "one gate", readings(t, delta, graph.Const(0), 70, 2), want)
		sameNumbers(t, "gates of features", readings(t, delta, graph.Const(0), 70, 6), want)
	}
}

// TestI109EqualGates: with the same gate for all features of a head, Kimi delta attention has the decay of the gated
// delta rule, and without a gate on its results, its results.
func TestI109EqualGates(t *testing.T) {
	decay := func(build func(at Site) *Recurrence, features int) []float64 {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, shapes[0])
		l := build(at)
		for _, p := range g.Params() {
			of := p.Tensor()
			for i := range of.Len() {
				switch name := p.Name(); {
				case strings.Contains(name, "decay") && strings.HasSuffix(name, "weight"):
					of.Set(i, 0)
				case strings.HasSuffix(name, "decay.bias"), strings.HasSuffix(name, "decay.up.bias"):
					of.Set(i, []float64{-0.4, 0.7}[i/features%2])
				case strings.HasSuffix(name, "a_log"):
					of.Set(i, 0.3*float64(i))
				case strings.Contains(name, "c_gate"):
					of.Set(i, 0)
				default:
					of.Set(i, math.Sin(float64(i+len(name))))
				}
			}
		}
		l.Act = flat{}
		return output(t, l.Forward(g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd))).Floats()
	}
	qk := shapes[0].QK
	sameNumbers(t, "equal gates", decay(NewKDA, qk), decay(NewGatedDeltaNet, 1))
}

// flat is 1 everywhere.
type flat struct{}

func (flat) Forward(x graph.Expr) graph.Expr { return x.Scale(0).Shift(1) }

func sameNumbers(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= 1e-12*max(1, math.Abs(v))) {
			t.Fatalf("%s: entry %d is %v, want %v", what, i, got[i], v)
		}
	}
}
