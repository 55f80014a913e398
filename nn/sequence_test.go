package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
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
	l = NewElman(Site{Scope: g.Root(), Dims: d, Caches: Caches{}, Style: Style{Affine: NewLinear, Bias: true}})
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
		t.Errorf(
			"with a large W the gradient goes from %.2e at the last token to %.2e at the first, want growth", grown[11],
			grown[0],
		)
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
	if err := steps[1].Run(); !errors.Is(err, fused.ErrOrder) ||
		!strings.Contains(err.Error(), "token 4, the next one is token 6") {
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
			h, _ := fused.Elman(x, at.Param("w", graph.Const(0), 3, 3), 2)
			return h
		},
	} {
		g := graph.New(graph.Float64, 1)
		at := Site{
			Scope: g.Root().Sub("rnn"), Dims: Dims{Batch: 2, Context: 3, Embd: 2}, Style: Style{Affine: NewLinear},
		}
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
	{"smear", "Smear", func(at Site, x graph.Expr) graph.Expr { return newSmeared(at).Forward(x) }},
	{"smear of a window", "Smear", func(at Site, x graph.Expr) graph.Expr {
		at.Carry = &Carry{}
		return newSmeared(at).Forward(x)
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
			"smear":    func(at Site) Cached { return newSmeared(at) },
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
				return NewLongformer(
					everyConv(at),
					NewLongformerMask(
						at.Scope, at.Mask, Dilated{Width: 3, Dilation: slices.Repeat([]int{1}, at.Heads)},
					),
				)
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
		_, err := graph.Compile(
			NewBlock(at, causal).Forward(g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)),
		)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// sharedValues is attentions in turn that share the values of the first.
type sharedValues []*SelfAttention

func newSharedValues(at Site, blocks ...string) (l sharedValues) {
	at.Links.Before = []NamedLink{NewValueResidual()}
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

var valueLayerCases = []layerCase{{"attentions that share values", "ValueResidual SelfAttention",
	func(at Site, x graph.Expr) graph.Expr {
		return newSharedValues(at, "a", "b").Forward(x)
	}}}

func TestSharedValuesStepEqualsForward(t *testing.T) {
	for _, d := range shapes[:3] {
		stepEqualsForward(t, Causal{}, d, func(at Site) Cached { return newSharedValues(at, "a", "b", "c") })
	}
}

// Values of another width than the first block's are an error that names both numbers.
func TestSharedValuesOfAnotherWidth(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	at := newSite(g, shapes[0])
	at.Links.Before = []NamedLink{NewValueResidual()}
	NewSelfAttention(at.At("a"))
	at.Block, at.V = 1, at.V+1
	NewSelfAttention(at.At("b"))
	if err := g.Err(); err == nil || !strings.Contains(
		err.Error(), "12 features of values to mix with 10 of the first block",
	) {
		t.Errorf("got error %v", err)
	}
}

// With λ = (1, 0) every attention has its own values, as without the residual; with (0, 1) all have the first one's, so
// that a matrix of the values of a later attention changes nothing.
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
	{
		"the embeddings", "Skip",
		func(at Site, x graph.Expr) graph.Expr { return skipped(at, NewEmbeddingSkips(), 1, x) },
	},
	{
		"a block of the first half", "Skip",
		func(at Site, x graph.Expr) graph.Expr { return skipped(at, NewUNetSkips(5), 4, x) },
	},
}

// skipped returns the input of the last of blocks that change nothing.
func skipped(at Site, s Stream, last int, x graph.Expr) graph.Expr {
	x = s.Expand(x)
	for i := range last + 1 {
		if at.Block = i; i == last {
			return s.Skip(at).Forward(x)
		}
		x = s.Skip(at.At(fmt.Sprint(i))).Forward(x)
	}
	return x
}

// With λ = (1, 0) nothing is mixed in, with (0, 1) a block reads the embeddings. Only the second half of the blocks of
// a U has a skip, and the places are mirrored.
func TestI97Places(t *testing.T) {
	g := graph.New(graph.Float64, 5)
	at := newSite(g, shapes[0])
	x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
	s := NewEmbeddingSkips()
	first := s.Skip(at)
	at.Block = 1
	l := s.Skip(at.At("second")).(*Skip)
	result := func() []float64 {
		y := first.Forward(s.Expand(x)).Tanh() // the result of block 0
		return output(t, l.Forward(y)).F64
	}
	if diff := cmp.Diff(output(t, x.Tanh()).F64, result()); diff != "" {
		t.Errorf("at first: -want +got:\n%s", diff)
	}
	copy(l.Lambda.Tensor().F64, []float64{0, 1})
	if diff := cmp.Diff(x.Tensor().F64, result()); diff != "" {
		t.Errorf("with λ (0, 1): -want +got:\n%s", diff)
	}
	for blocks, want := range [][]int{{}, {-1}, {-1, 1}, {-1, -1, 1}, {-1, -1, 2, 1}, {-1, -1, -1, 2, 1}} {
		got := []int{}
		for i := range blocks {
			at := at.At(fmt.Sprintf("%d.%d", blocks, i))
			at.Block = i
			if l := NewUNetSkips(blocks).Skip(at).(*Skip); l.Lambda.Graph() == nil {
				got = append(got, -1)
			} else {
				got = append(got, l.From)
			}
			if l := NewEmbeddingSkips().Skip(at.At("e")).(*Skip); (l.Lambda.Graph() == nil) != (i == 0) {
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
	at.Links.Before, at.Block = []NamedLink{NewValueResidual()}, 1
	_, err := graph.Compile(
		NewSelfAttention(at).Forward(g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)),
	)
	if want := "h.0: no values of the first block: block 0 must come before the others"; err == nil ||
		!strings.Contains(err.Error(), want) {
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
	{"Mamba-2, one group", "Mamba2", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 1
		return NewMamba2(at, 1).Forward(x)
	}},
	{"Mamba-2, rotary, with adapters", "Mamba2", func(at Site, x graph.Expr) graph.Expr {
		at.Affine = NewLoRA(func(string) bool { return true }, 3, 0.7)
		at.QK += at.QK % 2
		at.Eps, at.Bias = 1, false
		return NewMamba2(rotary(at), at.Heads).Forward(x)
	}},
	{"minimal GRU", "MinGRU", func(at Site, x graph.Expr) graph.Expr { return NewMinGRU(at).Forward(x) }},
	{"minimal GRU without biases, with adapters", "MinGRU", func(at Site, x graph.Expr) graph.Expr {
		at.Affine = NewLoRA(func(string) bool { return true }, 3, 0.7)
		at.Bias, at.Dropout = false, 0.3
		return NewMinGRU(at).Forward(x)
	}},
	{"real-gated linear recurrent unit", "RGLRU", func(at Site, x graph.Expr) graph.Expr {
		return fading(NewRGLRU(at)).Forward(times(x.In(at.Scope), 0.3))
	}},
	{"real-gated linear recurrent unit without biases, with adapters", "RGLRU", func(at Site, x graph.Expr) graph.Expr {
		at.Affine = NewLoRA(func(string) bool { return true }, 3, 0.7)
		at.Bias, at.Dropout = false, 0.3
		return fading(NewRGLRU(at)).Forward(x)
	}},
	{"delta rule", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 0.1
		return NewDeltaNet(at).Forward(x)
	}},
	{"gated delta rule with negative eigenvalues", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Eps = 1
		return NewGatedDeltaNetNegEigval(at).Forward(x)
	}},
	{"gated delta rule with rotary positions and adapters", "Recurrence", func(at Site, x graph.Expr) graph.Expr {
		at.Affine = NewLoRA(func(string) bool { return true }, 3, 0.7)
		at.QK += at.QK % 2
		at.Eps = 1
		return NewGatedDeltaNet(rotary(at)).Forward(x)
	}},
}

// fading sets gates that are not near 1, of which the equation loses digits in float32.
func fading(l *RGLRU) *RGLRU {
	for i := range l.Rates.Tensor().Len() {
		l.Rates.Tensor().Set(i, 2)
	}
	return l
}

func recurrences() map[string]func(at Site) Cached {
	return map[string]func(at Site) Cached{
		"gla":            func(at Site) Cached { return NewGLA(at) },
		"gated_deltanet": func(at Site) Cached { return NewGatedDeltaNet(at) },
		"retnet":         func(at Site) Cached { return NewRetNet(at) },
		"deltanet":       func(at Site) Cached { return NewDeltaNet(at) },
		"neg_eigval":     func(at Site) Cached { return NewDeltaNetNegEigval(at) },
		"kda":            func(at Site) Cached { return NewKDA(at) },
		"mamba2":         func(at Site) Cached { return NewMamba2(at, 1) },
		"mingru":         func(at Site) Cached { return NewMinGRU(at) },
		"rglru":          func(at Site) Cached { return NewRGLRU(at) },
	}
}

// TestRecurrenceStepEqualsForward compares steps of several sizes, and checks that the state does not grow.
func TestRecurrenceStepEqualsForward(t *testing.T) {
	for name, build := range recurrences() {
		for _, d := range shapes {
			t.Run(fmt.Sprintf("%s/%+v", name, d), func(t *testing.T) {
				stepEqualsForward(t, Causal{}, d, build)
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
	h := fused.RecurrenceShape{Batch: 1, Context: rows, Heads: 1, QK: 2, V: 1, Delta: true}
	qkv := g.Root().Value("qkv", graph.Const(0), rows, 5) // q, k, v
	for i, v := range []float64{1, 0, 1, 0, 7, 1, 0, 1, 0, 5, 1, 0, 0, 1, 9} {
		qkv.Tensor().Set(i, v)
	}
	y, _, _ := fused.Recurrence(qkv, graph.Expr{}, graph.Expr{}, graph.Expr{}, h)
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
	all := recurrences()
	for _, c := range []struct {
		change func(at *Site)
		build  func(at Site) Cached
		want   string
	}{
		{func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, All{}) }, all["gla"], "want nn.Causal"},
		{
			func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, Window{3}) }, all["gated_deltanet"],
			"want nn.Causal",
		},
		{func(at *Site) {
			at.Mask = NewMask(
				at.Sub("own"), at.Dims, All{Causal{}, Padding{lengths(at.Dims)}},
			)
		}, all["gla"], "want nn.Causal"},
		{func(at *Site) { at.Mask = nil }, all["gla"], "want nn.Causal"},
		{func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, All{}) }, all["mamba2"], "want nn.Causal"},
		{
			func(at *Site) { at.Heads = 3 }, func(at Site) Cached { return NewMamba2(at, 2) },
			"2 groups, want a divisor of 3 heads",
		},
		{func(at *Site) {}, func(at Site) Cached { return NewMamba2(at, 0) }, "0 groups, want a divisor of 2 heads"},
		{func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, All{}) }, all["mingru"], "want nn.Causal"},
		{func(at *Site) { at.Mask = nil }, all["rglru"], "want nn.Causal"},
		{
			func(at *Site) { *at = rotary(*at) }, all["mingru"],
			"mingru with rotary positions, whose meaning is undefined",
		},
		{func(at *Site) { *at = rotary(*at) }, all["rglru"], "rglru with rotary positions, whose meaning is undefined"},
		{func(at *Site) { *at = rotary(*at) }, all["kda"], "kda with rotary positions, whose meaning is undefined"},
		{func(at *Site) { *at = rotary(*at) }, all["gla"], "gla with rotary positions, whose meaning is undefined"},
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

// readings returns the results of a fused.Recurrence with random queries, keys and values of length about 1.
func readings(t *testing.T, delta bool, gates func(i int, rng *rand.Rand) float64, rows, columns int) []float64 {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	h := fused.RecurrenceShape{Batch: 1, Context: 70, Heads: 2, QK: 3, V: 2, Delta: delta}
	qkv := g.Root().Value("qkv", graph.Normal(0.6), 70, h.Heads*(2*h.QK+h.V))
	var alpha graph.Expr
	if columns > 0 {
		alpha = g.Root().Value("gates", gates, rows, columns)
	}
	y, _, _ := fused.Recurrence(qkv, alpha, g.Root().Value("beta", graph.Const(0.4), 70, 2), graph.Expr{}, h)
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
			"gates of a head":   readings(t, delta, gamma(1), 70, 2),
			"gates of features": readings(t, delta, gamma(3), 70, 6),
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

// TestI119Parity: a token with β = 2 reflects the state at its key, and one with β = 0 leaves it, so that the state
// says whether the number of ones so far is even, in more than one chunk.
func TestI119Parity(t *testing.T) { parity(t, 1) }

// TestI120FadingParity: gates only make the state smaller.
func TestI120FadingParity(t *testing.T) { parity(t, 0.99) }

// parity checks a state that fades by α with every token.
func parity(t *testing.T, alpha float64) {
	h := fused.RecurrenceShape{Batch: 1, Context: 150, Heads: 1, QK: 2, V: 1, Delta: true}
	g := graph.New(graph.Float64, 1)
	bits, want := make([]float64, h.Context), make([]float64, h.Context)
	want[0] = 1
	for i := 1; i < h.Context; i++ {
		bits[i] = float64(i * i % 7 % 2)
		want[i] = alpha * want[i-1] * (1 - 2*bits[i])
	}
	qkv := g.Root().Value("qkv", func(i int, _ *rand.Rand) float64 {
		if i == 4 { // v of the first token, the only one that is not 0
			return 1
		}
		return []float64{0.6, 0.8, 0.6, 0.8, 0}[i%5]
	}, h.Context, 2*h.QK+h.V)
	beta := g.Root().Value("beta", func(i int, _ *rand.Rand) float64 {
		if i == 0 {
			return 1
		}
		return 2 * bits[i]
	}, h.Context, 1)
	gates := g.Root().Value("gates", graph.Const(math.Log(alpha)), h.Context, 1)
	y, _, _ := fused.Recurrence(qkv, gates, beta, graph.Expr{}, h)
	sameNumbers(t, "parity", output(t, y).Floats(), want)
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

// atConstantSteps returns Mamba-2 whose heads have time steps of softplus(0.4 − 1.1·h) for every token.
func atConstantSteps(g *graph.Graph, groups int) (l *Mamba2, x graph.Expr) {
	at := newSite(g, shapes[0])
	l = NewMamba2(at, groups)
	for i, p := range g.Params() {
		for j := range p.Tensor().Len() {
			p.Tensor().Set(j, math.Sin(float64(i+j)))
		}
	}
	weight, _ := g.Leaf("h.0.c_decay.weight")
	clear(weight.Tensor().F64)
	bias, _ := g.Leaf("h.0.c_decay.bias")
	copy(bias.Tensor().F64, []float64{0.4, -0.7})
	return l, g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
}

// TestI111ConstantSteps: with the same time step Δ for all tokens, a head of Mamba-2 is retention with γ = e^(−Δ·e^a)
// of values Δ times as large.
func TestI111ConstantSteps(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	l, x := atConstantSteps(g, 1)
	h := l.states.shape
	qkv := l.QKV.Forward(x)
	gates, steps := l.gates(x)
	got := output(t, l.states.forward(qkv, gates, steps)).Floats()
	gamma := g.Root().Value("gamma", func(i int, _ *rand.Rand) float64 {
		return -math.Log1p(math.Exp([]float64{0.4, -0.7}[i])) * math.Exp(l.Rates.Tensor().F64[i])
	}, 1, h.Heads)
	want := output(t, newStates(newSite(g, shapes[0]), false).forward(qkv, gamma, graph.Expr{})).Floats()
	for i := range want {
		want[i] *= math.Log1p(math.Exp([]float64{0.4, -0.7}[i/h.V%h.Heads]))
	}
	sameNumbers(t, "retention", got, want)
}

// TestI111SharedKeys: heads of a group have the same queries and keys, and values of their own.
func TestI111SharedKeys(t *testing.T) {
	for groups, same := range map[int]bool{1: true, 2: false} {
		l, x := atConstantSteps(graph.New(graph.Float64, 1), groups)
		h, qkv := l.states.shape, output(t, l.QKV.Forward(x)).Floats()
		for from, size := range map[int]int{0: h.QK, 2 * h.QK: h.QK, 4 * h.QK: h.V} {
			want := same && size == h.QK
			if slices.Equal(qkv[from:][:size], qkv[from+size:][:size]) != want {
				t.Errorf(
					"%d groups: columns from %d on are equal in both heads: %t, want %t", groups, from, !want, want,
				)
			}
		}
	}
}

// TestI111Ends: after a time step of 10⁴ nothing of the past is left, and one of e^(−10⁴) leaves the state as it is.
func TestI111Ends(t *testing.T) {
	read := func(bias, past float64) []float64 {
		g := graph.New(graph.Float64, 1)
		l, x := atConstantSteps(g, 1)
		x.Tensor().Set(0, past)
		conv, _ := g.Leaf("h.0.c_attn.conv.weight") // the identity
		clear(conv.Tensor().F64)
		for i := range conv.Tensor().Len() / 4 {
			conv.Tensor().Set(i, 1)
		}
		of, _ := g.Leaf("h.0.c_decay.bias")
		copy(of.Tensor().F64, []float64{bias, bias})
		qkv := l.QKV.Forward(x)
		gates, steps := l.gates(x)
		return output(t, l.states.forward(qkv, gates, steps)).Floats()[2*5:] // without the first token
	}
	if a, b := read(1e4, 1), read(1e4, -2); !slices.Equal(a, b) {
		t.Errorf("large steps: got %v and %v, want nothing of the first token", a, b)
	}
	if got := read(-1e4, 1); slices.ContainsFunc(got, func(v float64) bool { return v != 0 }) {
		t.Errorf("steps of 0: got %v, want 0", got)
	}
	if slices.Equal(read(0, 1), read(0, -2)) {
		t.Error("the first token changes nothing")
	}
}

// identityCase is two forms of one recurrence on a graph.
type identityCase struct {
	name     string
	one, two func(s graph.Scope, h fused.RecurrenceShape) graph.Expr
}

// read returns the results of fused.Recurrence, or of its equation token by token.
func read(s graph.Scope, qkv, gates, beta graph.Expr, h fused.RecurrenceShape) graph.Expr {
	return states{shape: h, scope: s}.forward(qkv, gates, beta)
}

// TestRecurrenceIdentities: recurrences are special cases of one another, and of attention, by the kernels and by the
// equations. Constant gates, gates of 1 and equal gates have tests of their own.
func TestRecurrenceIdentities(t *testing.T) {
	normal := func(s graph.Scope, name string, columns int) graph.Expr {
		return s.Value(name, graph.Normal(0.6), 8, columns)
	}
	// token t has the key e_t in each head
	unit := func(s graph.Scope, name string, h fused.RecurrenceShape) graph.Expr {
		return s.Value(name, func(i int, _ *rand.Rand) float64 {
			if i%h.QK == i/(h.Heads*h.QK)%h.Context {
				return 1
			}
			return 0
		}, 8, h.Heads*h.QK)
	}
	below := func(x graph.Expr) graph.Expr { return x.Square().Scale(-1) }
	for _, c := range []identityCase{
		{
			"the delta rule with gates of features, of keys that are orthogonal, and gated linear attention",
			func(s graph.Scope, h fused.RecurrenceShape) graph.Expr {
				h.Delta = true
				qkv := normal(s, "q", 2*h.QK).Join(unit(s, "k", h), normal(s, "v", 2*h.V))
				return read(s, qkv, below(normal(s, "gates", 2*h.QK)), normal(s, "beta", 2), h)
			},
			func(s graph.Scope, h fused.RecurrenceShape) graph.Expr {
				qkv := normal(s, "q", 2*h.QK).Join(unit(s, "k", h), normal(s, "v", 2*h.V))
				return read(s, qkv, below(normal(s, "gates", 2*h.QK)), normal(s, "beta", 2), h)
			},
		},
		{
			"retention with γ = 1, divided by what it reads of values of 1, and linear attention",
			func(s graph.Scope, h fused.RecurrenceShape) graph.Expr {
				qk := normal(s, "qk", 4*h.QK)
				qk = qk.ReLU().Add(qk.Scale(-1).ReLU().Scale(-1).Exp()) // elu + 1
				gamma := s.Value("gamma", graph.Const(0), 1, 2)
				sums := read(s, qk.Join(normal(s, "v", 2*h.V)), gamma, graph.Expr{}, h)
				return sums.Div(read(s, qk.Join(s.Value("ones", graph.Const(1), 8, 2*h.V)), gamma, graph.Expr{}, h))
			},
			func(s graph.Scope, h fused.RecurrenceShape) graph.Expr {
				qkv := normal(s, "qk", 4*h.QK).Join(normal(s, "v", 2*h.V))
				at := Site{Scope: s, Dims: Dims{Batch: 2, Context: 4, Embd: 3, Heads: 2, QK: h.QK, V: h.V, Blocks: 1}}
				at.Mask = NewMask(s, at.Dims, Causal{})
				return NewLinearAttention(at).attend(qkv)
			},
		},
		{
			"a recurrence entry by entry, and states of one number that are read as they are",
			func(s graph.Scope, h fused.RecurrenceShape) graph.Expr {
				c := below(normal(s, "gates", 2*h.V)).Exp().Shift(-1)
				return features{
					shape: fused.ScanShape{Batch: h.Batch, Context: h.Context, Width: 2 * h.V}, scope: s,
				}.forward(normal(s, "v", 2*h.V), c)
			},
			func(s graph.Scope, h fused.RecurrenceShape) graph.Expr {
				one := fused.RecurrenceShape{Batch: h.Batch, Context: h.Context, Heads: 2 * h.V, QK: 1, V: 1}
				qkv := s.Value("ones", graph.Const(1), 8, 4*h.V).Join(normal(s, "v", 2*h.V))
				return read(s, qkv, below(normal(s, "gates", 2*h.V)), graph.Expr{}, one)
			},
		},
	} {
		for _, kernels := range []bool{true, false} {
			result := func(form func(s graph.Scope, h fused.RecurrenceShape) graph.Expr) []float64 {
				g := graph.New(graph.Float64, 1)
				g.Kernels = kernels
				return output(
					t, form(g.Root(), fused.RecurrenceShape{Batch: 2, Context: 4, Heads: 2, QK: 5, V: 3}),
				).Floats()
			}
			sameNumbers(t, fmt.Sprintf("%s, kernels %t", c.name, kernels), result(c.one), result(c.two))
		}
	}
}

// TestRecurrenceEnds: over 10,000 tokens, with gates near 0 and near 1, what a recurrence reads in float32 is finite
// and within 1e-6 of float64 on the same numbers, relative to the largest.
func TestRecurrenceEnds(t *testing.T) {
	const tokens = 10_000
	d := Dims{Batch: 1, Context: tokens, Embd: 3, Heads: 1, QK: 2, V: 3, Blocks: 1}
	for name, build := range map[string]func(at Site) func(x graph.Expr) graph.Expr{
		"mamba2": func(at Site) func(x graph.Expr) graph.Expr {
			l := NewMamba2(at, 1)
			return func(x graph.Expr) graph.Expr {
				gates, steps := l.gates(x)
				return l.states.forward(x.Join(x, x.Columns(0, 1)), gates, steps) // q (2), k (2), v (3)
			}
		},
		"mingru": func(at Site) func(x graph.Expr) graph.Expr {
			l := NewMinGRU(at)
			return func(x graph.Expr) graph.Expr { return l.features.forward(l.inputs(x)) }
		},
		"rglru": func(at Site) func(x graph.Expr) graph.Expr {
			l := NewRGLRU(at)
			return func(x graph.Expr) graph.Expr { return l.features.forward(l.inputs(x)) }
		},
	} {
		for _, bias := range []float64{-12, 12} {
			var results [2][]float64
			for i, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
				g := graph.New(dtype, 1)
				layer := build(newSite(g, d))
				for _, p := range g.Params() {
					of := p.Tensor()
					for j := range of.Len() {
						switch {
						case strings.HasSuffix(p.Name(), "c_decay.bias"):
							of.Set(j, bias)
						case strings.HasSuffix(p.Name(), "c_decay.lambda"):
							of.Set(j, 0.5*float64(j))
						default:
							of.Set(j, float64((len(p.Name())+3*j)%8)/8) // the same in both types
						}
					}
				}
				x := g.Root().Value(
					"x", func(j int, _ *rand.Rand) float64 { return float64(j*j%17)/16 - 0.5 }, tokens, d.Embd,
				)
				results[i] = output(t, layer(x)).Floats()
			}
			largest := 0.
			for _, v := range results[1] {
				largest = max(largest, math.Abs(v))
			}
			for j, want := range results[1] {
				if got := results[0][j]; !(math.Abs(got-want) <= 1e-6*largest) {
					t.Fatalf("%s, bias %v, token %d: got %v, want %v", name, bias, j/d.V, got, want)
				}
			}
		}
	}
}

// fill sets every entry of the named parameter.
func fill(t *testing.T, g *graph.Graph, name string, value float64) {
	t.Helper()
	p, ok := g.Leaf(name)
	if !ok {
		t.Fatalf("no parameter %s", name)
	}
	for i := range p.Tensor().Len() {
		p.Tensor().Set(i, value)
	}
}

// TestI112Ends: a minimal GRU whose gates are open is its update, one whose gates are closed stays 0, and one of gates
// ½ halves what it holds.
func TestI112Ends(t *testing.T) {
	for logit, share := range map[float64]float64{1e4: 1, -1e4: 0, 0: 0.5} {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, shapes[0])
		at.Heads, at.V = 1, at.Embd
		l := NewMinGRU(at)
		fill(t, g, "h.0.c_decay.weight", 0)
		fill(t, g, "h.0.c_decay.bias", logit)
		x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
		u, h := output(t, l.Update.Forward(x)).Floats(), output(t, l.features.forward(l.inputs(x))).Floats()
		want := make([]float64, len(u))
		for i, v := range u {
			if want[i] = share * v; i/at.Embd%at.Context > 0 {
				want[i] += (1 - share) * want[i-at.Embd]
			}
		}
		sameNumbers(t, fmt.Sprint("logits of ", logit), h, want)
	}
}

// TestI113KeepsItsSize: with gates a, a real-gated linear recurrent unit adds √(1 − a²) of its input; so with the same
// input 1 for all tokens, h_t = √(1 − a²)·(1 − a^t)/(1 − a). A gate of 1 adds nothing, and its gradients are finite.
func TestI113KeepsItsSize(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		for _, logit := range []float64{0.3, 1e4, -1e4} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			at := newSite(g, shapes[0])
			l := NewRGLRU(at)
			width := at.Heads * at.V
			for name, v := range map[string]float64{
				"c_decay.weight": 0, "c_decay.bias": logit, "c_decay.lambda": 0.2, "c_update.weight": 0,
				"c_update.bias": 1e4,
			} {
				fill(t, g, "h.0."+name, v)
			}
			ones := g.Root().Value("u", graph.Const(1), at.Batch*at.Context, width)
			h := l.features.forward(l.inputs(ones))
			a := math.Pow(1/(1+math.Exp(-0.2)), 8/(1+math.Exp(-logit)))
			want := make([]float64, int(ones.Entries()))
			for i := range want {
				if a < 1 {
					t := float64(i/width%at.Context + 1)
					want[i] = math.Sqrt(1-a*a) * (1 - math.Pow(a, t)) / (1 - a)
				}
			}
			sameNumbers(t, fmt.Sprintf("kernels %t, logits of %v", kernels, logit), output(t, h).Floats(), want)
			if !kernels {
				continue // the equation divides by √(1 − a²)
			}
			wrt := []graph.Expr{ones}
			for _, p := range g.Params() {
				if strings.Contains(p.Name(), "c_decay") || strings.Contains(p.Name(), "c_update") {
					wrt = append(wrt, p)
				}
			}
			p, err := graph.Compile(h.SumAll(), wrt...)
			if err == nil {
				err = p.Run()
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wrt {
				if err := p.Grad(w).Finite(w.Name()); err != nil {
					t.Errorf("logits of %v: %v", logit, err)
				}
			}
		}
	}
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

// under returns the layer with a separate mask.
func under(rule func(Dims) Visibility, build func(at Site) Layer) func(at Site, x graph.Expr) graph.Expr {
	return func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewMask(at.Sub("own"), at.Dims, rule(at.Dims))
		return build(at).Forward(x)
	}
}

func linear(at Site) Layer      { return NewLinearAttention(at) }
func nothing(Dims) Visibility   { return All{} }
func future(Dims) Visibility    { return Causal{} }
func padding(d Dims) Visibility { return Padding{lengths(d)} }
func both(d Dims) Visibility    { return All{Causal{}, Padding{lengths(d)}} }

// firstOrder has an ε that matters: with one feature in a query, 1 + q̂·k̂ is next to 0 or 2.
func firstOrder(at Site) Layer {
	at.Eps = 0.03
	return NewTaylorAttention(at.At("attn"))
}

func mixing(at Site) Layer { return NewLinformer(at, (at.Context+1)/2) }

var linearLayerCases = []layerCase{
	{"linear attention", "LinearAttention", under(future, linear)},
	{"linear attention without a mask", "LinearAttention", under(nothing, linear)},
	{"linear attention with padding", "LinearAttention", under(padding, linear)},
	{"causal linear attention with padding", "LinearAttention", under(both, linear)},
	{
		"linear attention with dropout", "LinearAttention",
		under(future, func(at Site) Layer { at.Dropout = 0.3; return linear(at) }),
	},
	{"taylor attention", "TaylorAttention", under(future, firstOrder)},
	{"taylor attention without a mask", "TaylorAttention", under(nothing, firstOrder)},
	{"causal taylor attention with padding", "TaylorAttention", under(both, firstOrder)},
	{"linformer", "Linformer", under(nothing, mixing)},
	{
		"linformer with dropout", "Linformer",
		under(nothing, func(at Site) Layer { at.Dropout = 0.3; return mixing(at) }),
	},
}

// Step, for one token or several at a time, equals Forward, and its state does not grow.
func TestI45StepEqualsForward(t *testing.T) {
	stepsEqualForward(t, func(at Site) Cached { return NewLinearAttention(at) })
}

func TestI46StepEqualsForward(t *testing.T) {
	stepsEqualForward(t, func(at Site) Cached { return NewTaylorAttention(at) })
}

func stepsEqualForward(t *testing.T, build func(at Site) Cached) {
	for _, d := range shapes {
		if d.Context == 1 { // the weight of a single key may be close to 0
			continue
		}
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) { stepEqualsForward(t, Causal{}, d, build) })
	}
}

// A token out of order is an error that contains it and the next one; position 0 begins again.
func TestI45StepOutOfOrder(t *testing.T) {
	d := shapes[0]
	at := newSite(graph.New(graph.Float64, 1), d)
	at.Caches = Caches{}
	x, pos := at.Value("x", graph.Normal(1), d.Batch, d.Embd), at.Ints("pos", 1, d.Context, -1)
	p, err := graph.Compile(NewLinearAttention(at).Step(x, pos))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int
		want string
	}{
		{2, "run: h.0: cached linear attention: token 2, the next one is token 0: tokens out of order"}, {0, ""},
		{1, ""}, {1, "run: h.0: cached linear attention: token 1, the next one is token 2: tokens out of order"},
		{3, "run: h.0: cached linear attention: token 3, the next one is token 2: tokens out of order"}, {2, ""},
		{0, ""}, {1, ""},
	} {
		pos.Ints()[0] = c.at
		got := ""
		if err := p.Run(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("token %d: got %q, want %q", c.at, got, c.want)
		}
	}
}

// A mask that does not split into sums over keys, or cannot be mixed, is an error at the layer.
func TestLinearAttentionErrors(t *testing.T) {
	d := Dims{Batch: 2, Context: 6, Embd: 8, Heads: 2, QK: 3, V: 5, Blocks: 2}
	rotated := func(at *Site) { at.Rotary = noRotation{} }
	hiding := func(rule Visibility) func(*Site) {
		return func(at *Site) { at.Mask = NewMask(at.Sub("own"), at.Dims, rule) }
	}
	for _, c := range []struct {
		change func(*Site)
		build  func(at Site)
		want   string
	}{
		{hiding(Window{3}), func(at Site) { NewLinearAttention(at) },
			"h.0: linear attention with the mask nn.Window{Width:3}: only nn.Causal, nn.Padding and nn.All of them " +
				"split into sums over keys"},
		{hiding(All{Causal{}, Window{3}}), func(at Site) { NewTaylorAttention(at) },
			"h.0: linear attention with the mask nn.All[{} {Width:3}]: only nn.Causal, nn.Padding and nn.All of " +
				"them split into sums over keys"},
		{func(at *Site) { at.Mask = nil }, func(at Site) { NewLinearAttention(at) },
			"h.0: linear attention with the mask nil: only nn.Causal, nn.Padding and nn.All of them split into sums " +
				"over keys"},
		{rotated, func(at Site) { NewLinearAttention(at) },
			"h.0: linear attention with rotary positions: elu + 1 of rotated queries and keys depends on more than " +
				"their distance"},
		{hiding(All{}), func(at Site) {
			NewLinearAttention(at).Step(at.Value("x", graph.Const(0), 2, 8), at.Ints("pos", 1, 6, -1))
		},
			"h.0: one token at a time: the mask nn.All[] is not nn.Causal"},
		{func(*Site) {}, func(at Site) {
			NewLinearAttention(at).Step(at.Value("x", graph.Const(0), 2, 8), at.Ints("pos", 1, 6, -1))
		},
			"h.0: cached linear attention (2, 22), h.0.pos (1): no cache to keep sums in"},
		{func(*Site) {}, func(at Site) { NewLinformer(at, 3) },
			"h.0: linformer: keys are mixed over the entire context of 6 tokens, so a causal mask cannot be kept"},
		{hiding(Window{3}), func(at Site) { NewLinformer(at, 3) },
			"h.0: linformer: keys are mixed over the entire context of 6 tokens, so the mask nn.Window{Width:3} " +
				"cannot be kept"},
		{
			hiding(All{}), func(at Site) { NewLinformer(at, 7) },
			"h.0: linformer: 7 mixed keys for a context of 6 tokens, want 1 … 6",
		},
		{
			hiding(All{}), func(at Site) { NewLinformer(at, 0) },
			"h.0: linformer: 0 mixed keys for a context of 6 tokens, want 1 … 6",
		},
		{func(at *Site) { hiding(All{})(at); rotated(at) }, func(at Site) { NewLinformer(at, 2) },
			"h.0: linformer: keys are mixed over the entire context of 6 tokens, so rotary positions lose their " +
				"distances"},
	} {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, d)
		c.change(&at)
		c.build(at)
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

type noRotation struct{}

func (noRotation) Rotate(x graph.Expr, _, _ int) graph.Expr { return x }

// With k' = T and E = F = 1 the mixtures are the tokens, and Linformer is attention without a mask, including the
// gradients.
func TestI47IdentityIsAttention(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		run := func(build func(at Site) Layer) (graph.Tensor, graph.Tensor) {
			g := graph.New(graph.Float64, 3)
			g.Kernels = kernels
			at := newSite(g, shapes[0])
			at.Mask = NewMask(at.Sub("own"), at.Dims, All{})
			x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
			y := build(at).Forward(x)
			p, err := graph.Compile(
				y.Mul(g.Root().Value("delta", graph.Normal(1), at.Batch*at.Context, at.Embd)).SumAll(), x,
			)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			return p.Value().Clone(), p.Grad(x).Clone()
		}
		want, dwant := run(func(at Site) Layer { return NewSelfAttention(at) })
		got, dgot := run(func(at Site) Layer {
			l := NewLinformer(at, at.Context)
			for _, e := range []graph.Expr{l.E, l.F} {
				for i := range e.Tensor().Len() {
					e.Tensor().Set(i, map[bool]float64{true: 1}[i%(at.Context+1) == 0])
				}
			}
			return l
		})
		if a, b := distance(got, want, 0), distance(dgot, dwant, 0); !(a <= 1e-12 && b <= 1e-12) {
			t.Errorf("kernels %t: distance %.1e, of the gradients %.1e, want ≤ 1e-12", kernels, a, b)
		}
	}
}

// Linformer is not causal: changing the last token changes the first row.
func TestI47NotCausal(t *testing.T) {
	d := shapes[0]
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	at.Mask = NewMask(at.Sub("own"), d, All{})
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	p, err := graph.Compile(NewLinformer(at, 2).Forward(x))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	before := p.Value().F64[0]
	x.Tensor().F64[(d.Context-1)*d.Embd] += 10
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if now := p.Value().F64[0]; !(math.Abs(now-before) > 1e-9) {
		t.Errorf("the first row went from %v to %v: it does not attend to the last token", before, now)
	}
}

// Rotary positions rotate queries and keys and keep their lengths: between equal tokens a weight depends only on the
// distance, and stays above 0.
func TestI46RotaryWeightsDependOnDistance(t *testing.T) {
	d := Dims{Batch: 1, Context: 7, Embd: 6, Heads: 1, QK: 4, V: 3, Blocks: 1}
	g := graph.New(graph.Float64, 3)
	at := newSite(g, d)
	at.Positions = at.Ints("positions", d.Context, d.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = i
	}
	at.Rotary = NewRoPE(at.At("rope"), d.QK, 10000)
	x := g.Root().Value("x", func(i int, _ *rand.Rand) float64 { return float64(i%d.Embd) - 2 }, d.Context, d.Embd)
	qkv := NewTaylorAttention(at).QKV.Forward(x)
	p, err := graph.Compile(taylor{at.Eps}.of(qkv.Columns(0, d.QK), qkv.Columns(d.QK, 2*d.QK)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	weight := func(i, j int) float64 { return p.Value().F64[i*d.Context+j] }
	for i := range d.Context {
		for j := range d.Context {
			got, want := weight(i, j), weight(max(0, i-j), max(0, j-i))
			if !(got > 0) || !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("query %d, key %d: weight %v, want that of their distance, %v, and above 0", i, j, got, want)
			}
		}
	}
	if !(math.Abs(weight(0, 0)-weight(3, 0)) > 1e-3) {
		t.Errorf("tokens 3 apart have the weight %v, those 0 apart %v: nothing was rotated", weight(3, 0), weight(0, 0))
	}
}

// BenchmarkLinearAttention measures forward and backward of the layer on 4096 tokens, in sequences of several lengths.
// Linear means that the cost per token is the same for all of them. Causal self-attention, for comparison, grows.
func BenchmarkLinearAttention(b *testing.B) {
	for name, build := range map[string]Attention{"linear": linear, "taylor": firstOrder, "softmax": causal} {
		for _, n := range []int{512, 1024, 2048, 4096} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				d := Dims{Batch: 4096 / n, Context: n, Embd: 128, Heads: 4, QK: 32, V: 32, Blocks: 4}
				g := graph.New(graph.Float32, 1)
				x := g.Root().Value("x", graph.Normal(1), 4096, d.Embd)
				y := NewLinear(
					g.Root().Sub("sum"), d.Embd, []int{1}, false, graph.Normal(1),
				).Forward(build(newSite(g, d)).Forward(x))
				p, err := graph.Compile(y.SumAll(), append(g.Params(), x)...)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := p.Run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/4096, "ns/token")
			})
		}
	}
}

// recurred returns a recurrence of random inputs x.
func recurred(build func(at Site) Cached, d Dims, kernels bool, carry *Carry) (x, y graph.Expr) {
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	at := newSite(g, d)
	at.Carry = carry
	x = at.Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	y = build(at).Forward(x)
	for _, w := range g.Params() { // a short convolution starts as the identity
		for i := range w.Tensor().Len() {
			w.Tensor().Set(i, w.Tensor().At(i)+0.3*math.Sin(float64(i)))
		}
	}
	return x, y
}

// carried returns the results of a recurrence for a text of two windows of the given sizes, one after the other with
// the states handed on, and those for the text at once.
func carried(t *testing.T, build func(at Site) Cached, d Dims, kernels bool) (windows, whole []float64) {
	t.Helper()
	made := func(d Dims, carry *Carry) (x, y graph.Expr) { return recurred(build, d, kernels, carry) }
	long, carry := d, &Carry{}
	long.Context *= 2
	x, y := made(long, nil)
	whole = output(t, y).Floats()

	part, y := made(d, carry)
	var after []graph.Expr
	for _, s := range carry.States() {
		after = append(after, s.After)
	}
	p, err := graph.CompileWith(y, after)
	if err != nil {
		t.Fatal(err)
	}
	windows = make([]float64, len(whole))
	size := d.Context * d.Embd
	for w := range 2 {
		for b := range d.Batch {
			copy(part.Tensor().F64[b*size:][:size], x.Tensor().F64[(2*b+w)*size:])
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for b := range d.Batch {
			copy(windows[(2*b+w)*size:][:size], p.Value().F64[b*size:])
		}
		for _, s := range carry.States() {
			if err := s.Before.Tensor().Copy(p.Kept(s.After)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return windows, whole
}

// TestCarry: a text in two windows, the second with the states of the first, has the results of the text at once, also
// if a window is shorter than a short convolution.
func TestCarry(t *testing.T) {
	for name, build := range recurrences() {
		for _, d := range []Dims{
			shapes[0], shapes[2], {Batch: 2, Context: 70, Embd: 6, Heads: 2, QK: 3, V: 2, Blocks: 1},
		} {
			for _, kernels := range []bool{true, false} {
				if !kernels && d.Context > 10 {
					continue // only kernels divide a long text
				}
				windows, whole := carried(t, build, d, kernels)
				sameNumbers(t, fmt.Sprintf("%s of %+v, kernels %t", name, d, kernels), windows, whole)
			}
		}
	}
}

// TestStateNorms: the norms belong to the states that a layer hands on after each token, if every token is a window of
// its own. Reading them changes no result.
func TestStateNorms(t *testing.T) {
	d := Dims{Batch: 2, Context: 5, Embd: 6, Heads: 2, QK: 3, V: 2, Blocks: 1}
	for name, build := range recurrences() {
		for _, kernels := range []bool{true, false} {
			what := fmt.Sprintf("%s, kernels %t", name, kernels)
			x, y := recurred(build, d, kernels, nil)
			before := output(t, y)
			norms, err := x.Graph().Activation("h.0.state_norm")
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			p, err := graph.CompileWith(y, []graph.Expr{norms})
			if err == nil {
				err = p.Run()
			}
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if !slices.Equal(p.Value().F64, before.F64) {
				t.Errorf("%s: other results if the norms are read", what)
			}
			if want := []int{d.Batch * d.Context, d.Heads}; !slices.Equal(p.Kept(norms).Shape, want) {
				t.Fatalf("%s: got norms %v, want %v", what, p.Kept(norms).Shape, want)
			}
			sameNumbers(t, what, p.Kept(norms).F64, handedOn(t, build, d, kernels, x.Tensor().F64))
		}
	}
}

// handedOn returns the norms of the states that a layer hands on after each of the tokens x, (B·T, H).
func handedOn(t *testing.T, build func(at Site) Cached, d Dims, kernels bool, x []float64) []float64 {
	t.Helper()
	one, carry := d, &Carry{}
	one.Context = 1
	part, y := recurred(build, one, kernels, carry)
	var after []graph.Expr
	for _, s := range carry.States() {
		after = append(after, s.After)
	}
	p, err := graph.CompileWith(y, after)
	if err != nil {
		t.Fatal(err)
	}
	norms := make([]float64, d.Batch*d.Context*d.Heads)
	for token := range d.Context {
		for b := range d.Batch {
			copy(part.Tensor().F64[b*d.Embd:][:d.Embd], x[(b*d.Context+token)*d.Embd:])
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for _, s := range carry.States() {
			state := p.Kept(s.After)
			if err := s.Before.Tensor().Copy(state); err != nil {
				t.Fatal(err)
			}
			if s.Before.Name() != "h.0.state" { // a convolution's
				continue
			}
			size := state.Len() / d.Batch / d.Heads
			for i := range d.Batch * d.Heads {
				squares := 0.0
				for _, v := range state.F64[i*size:][:size] {
					squares += v * v
				}
				norms[(i/d.Heads*d.Context+token)*d.Heads+i%d.Heads] = math.Sqrt(squares)
			}
		}
	}
	return norms
}

// TestLRUInputGradients: √(−c(2 + c))·v has finite gradients also at c = 0, a gate of 1, where the gradient of c is 0.
func TestLRUInputGradients(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := []float64{0, -0.5, -1}
		v := g.Root().Value("v", func(i int, _ *rand.Rand) float64 { return float64(i + 1) }, 1, 3)
		c := g.Root().Value("c", func(i int, _ *rand.Rand) float64 { return at[i] }, 1, 3)
		p, err := graph.Compile(lruInput(v, c).SumAll(), v, c)
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		root := math.Sqrt(0.75)
		for i, want := range []float64{0, -0.5 / root * 2, 0} {
			if got := p.Grad(c).At(i); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("kernels %t, c = %v: got the gradient %v of c, want %v", kernels, at[i], got, want)
			}
			if got, want := p.Grad(v).At(i), []float64{0, root, 1}[i]; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("kernels %t, c = %v: got the gradient %v of v, want %v", kernels, at[i], got, want)
			}
		}
	}
}

// placed is a layer whose results belong to another place, as the results of a user's layer may.
type placed struct {
	Layer
	scope graph.Scope
	first *graph.Expr // its first result
	fails bool
}

func (l placed) Forward(x graph.Expr) graph.Expr  { return l.placed(x, l.Layer.Forward(x)) }
func (l placed) Step(x, at graph.Expr) graph.Expr { return l.placed(x, step(l.Layer, x, at)) }

func (l placed) placed(x, y graph.Expr) graph.Expr {
	if l.fails {
		return x.Reshape(1, 1, 1, 1)
	}
	if l.first.Graph() == nil {
		*l.first = y
	}
	return y.In(l.scope)
}

// TestReplacedParts: whatever layer takes the place of a part of another one, its activation can be found, and errors
// of what follows name the outer layer.
func TestReplacedParts(t *testing.T) {
	all := recurrences()
	delete(all, "retnet") // its decay is a Value, which belongs to no layer
	all["elman"] = func(at Site) Cached { return NewElman(at) }
	all["scaled"] = func(at Site) Cached { return NewScaled(at.Scope, NewMLP(at), 2, 3) }
	all["convolved"] = func(at Site) Cached {
		at.Conv = func(conv Site, _ ConvPlace, width int) Layer {
			return placed{NewShortConv(conv, width), at.Graph().Root().Sub("own.conv"), new(graph.Expr), false}
		}
		return at.after(ConvAttention, func(at Site) Layer { return NewGLA(at) }).(*convolved)
	}
	for name, build := range all {
		for _, steps := range []bool{false, true} {
			failing := -1 // the index of a part that fails; then all of them in turn
			for n := 0; failing < n; failing++ {
				g := graph.New(graph.Float64, 1)
				at := newSite(g, shapes[0])
				at.Caches = Caches{}
				l := build(at)
				fields := reflect.ValueOf(l).Elem()
				var parts []placed
				for i := range fields.NumField() {
					field := fields.Type().Field(i)
					if !field.IsExported() || field.Type != reflect.TypeFor[Layer]() {
						continue
					}
					if part, ok := fields.Field(i).Interface().(Layer); ok {
						place := g.Root().Sub("own").Sub("%s", field.Name)
						parts = append(parts, placed{part, place, new(graph.Expr), len(parts) == failing})
						fields.Field(i).Set(reflect.ValueOf(parts[len(parts)-1]))
					}
				}
				n = len(parts)
				x := at.Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd).In(at.Scope)
				if steps {
					x = at.Value("new", graph.Normal(1), at.Batch, at.Embd).In(at.Scope)
					l.Step(x, at.Ints("at", 1, at.Context, -1)).In(at.Scope)
				} else {
					l.Forward(x).In(at.Scope)
				}
				if err := g.Err(); (err == nil) == (failing >= 0 && failing < n) || err != nil &&
					!strings.HasPrefix(err.Error(), "h.0") {
					t.Fatalf("%s, steps %t, part %d of %d fails: got error %v", name, steps, failing, n, err)
				}
				for _, part := range parts {
					if y, err := g.Leaving(part.scope.Path()); failing < 0 && (err != nil ||
						y.Node() != part.first.Node()) {
						t.Errorf(
							"%s, steps %t: its result leaves %s: %t (%v)", name, steps, part.scope.Path(), err == nil,
							err,
						)
					}
				}
			}
		}
	}
}

// With equal streams, and weights that do not depend on them, a block with hyper-connections leaves in every stream
// what the plain block leaves.
func TestI123EqualStreams(t *testing.T) {
	g := graph.New(graph.Float64, 5)
	at := newSite(g, shapes[0])
	x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
	attention := func(at Site) Layer { return NewSelfAttention(at) }
	plain := NewBlock(at.At("plain"), attention)
	at.Stream = NamedStream{"hyper_connections", NewHyperConnections(3)}
	block := NewBlock(at.At("hyper"), attention)
	same := map[string]graph.Tensor{}
	for _, p := range g.Params() {
		name, of := strings.TrimPrefix(p.Name(), "h.0.plain."), strings.TrimPrefix(p.Name(), "h.0.hyper.")
		switch {
		case name != p.Name():
			same[name] = p.Tensor()
		case strings.HasSuffix(of, "_stream.alpha"):
			clear(p.Tensor().F64)
		case same[of].Shape != nil:
			copy(p.Tensor().F64, same[of].F64)
		}
	}
	want := output(t, plain.Forward(x)).F64
	stream := output(t, block.Forward(at.Stream.Expand(x)))
	d := at.Embd
	for i, got := range stream.F64 {
		if row, column := i/(3*d), i%d; !(math.Abs(got-want[row*d+column]) <= 1e-4) {
			t.Fatalf("stream, entry %d: got %v, want %v", i, got, want[row*d+column])
		}
	}
}

// Whatever the logits are, each row and each column of H_res has the sum 1.
func TestI123Stochastic(t *testing.T) {
	g := graph.New(graph.Float64, 5)
	m := output(t, sinkhorn(g.Root().Value("z", graph.Normal(3), 5, 16), 4)).F64
	for i := range 5 * 4 {
		row, column := 0., 0.
		for j := range 4 {
			row, column = row+m[4*i+j], column+m[i/4*16+4*j+i%4]
		}
		if !(math.Abs(row-1) <= 2e-6) || !(math.Abs(column-1) <= 1e-3) {
			t.Errorf("row and column %d: got the sums %v and %v, want 1", i, row, column)
		}
	}
}

// smeared is a Smear as a layer, with λ = 2.
type smeared struct{ *Smear }

func newSmeared(at Site) smeared {
	l := smeared{NewSmear(at)}
	l.Lambda.Tensor().Set(0, 2)
	return l
}

func (l smeared) Forward(x graph.Expr) graph.Expr  { return l.Smear.Forward(graph.Expr{}, x) }
func (l smeared) Step(x, at graph.Expr) graph.Expr { return l.Smear.Step(graph.Expr{}, x, at) }

// A new Smear is the identity. With λ = 2 and w = 0 every token has the one before it added, except the first of a
// sequence, which with a Carry has the last of the window before; features after the 24th do not open the gate.
func TestI122AddsTheTokenBefore(t *testing.T) {
	d := Dims{Batch: 2, Context: 3, Embd: 26, Heads: 1}
	for _, carry := range []bool{false, true} {
		g := graph.New(graph.Float64, 3)
		at := newSite(g, d)
		if carry {
			at.Carry = &Carry{}
		}
		x := at.Value("x", graph.Normal(1), 6, 26)
		l := NewSmear(at)
		y := l.Forward(graph.Expr{}, x)
		if got := output(t, y).F64; !slices.Equal(got, x.Tensor().F64) {
			t.Error("a new Smear changes its input")
		}
		l.Lambda.Tensor().Set(0, 2)
		for i := range l.Weight.Tensor().Len() {
			if w := l.Weight.Tensor().At(i); !(w >= 0 && w <= 0.02) {
				t.Errorf("w[%d] begins as %v, want 0 to 0.02", i, w)
			}
			l.Weight.Tensor().Set(i, 0)
		}
		for _, s := range at.Carry.States() {
			for i := range s.Before.Tensor().Len() {
				s.Before.Tensor().Set(i, float64(i))
			}
			if after := output(t, s.After).F64; !slices.Equal(
				after, slices.Concat(x.Tensor().F64[52:78], x.Tensor().F64[130:]),
			) {
				t.Error("the state after a window is not its last token")
			}
		}
		for i, got := range output(t, y).F64 {
			want := x.Tensor().At(i)
			switch first := i/26%3 == 0; {
			case !first:
				want += x.Tensor().At(i - 26)
			case carry:
				want += float64(i/78*26 + i%26)
			}
			if math.Abs(got-want) > 1e-12 {
				t.Fatalf("carry %t: token %d, feature %d: got %v, want %v", carry, i/26, i%26, got, want)
			}
		}
		if got := len(l.Weight.Tensor().F64); got != 24 {
			t.Errorf("the gate reads %d features, want 24", got)
		}
	}
}
