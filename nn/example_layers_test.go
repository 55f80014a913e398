package nn_test

import (
	"fmt"
	"log"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func ExampleSigmoid() {
	x := site().Value("x", numbers(-1000, -1, 0, 1, 1000), 1, 5)
	show(nn.Sigmoid{}.Forward(x))
	// Output:
	//   0.00  0.27  0.50  0.73  1.00
}

func ExampleSiLU() {
	x := site().Value("x", numbers(-4, -1, 0, 1, 10), 1, 5)
	show(nn.SiLU{}.Forward(x))
	// Output:
	//  -0.07 -0.27  0.00  0.73 10.00
}

func ExampleSoftplus() {
	x := site().Value("x", numbers(-1000, -1, 0, 1, 10), 1, 5)
	show(nn.Softplus{}.Forward(x))
	// Output:
	//   0.00  0.31  0.69  1.31 10.00
}

// Two sequences of three tokens: a row for each.
func ExampleMeanTokens() {
	at := site()
	at.Batch = 2
	show(nn.NewMeanTokens(at).Forward(at.Value("x", numbers(1, 10, 2, 20, 6, 30, 0, 0, 0, 0, 9, 3), 6, 2)))
	// Output:
	//   3.00 20.00
	//   3.00  1.00
}

// The last tokens of two sequences of lengths 3 and 2.
func ExampleGatherTokens() {
	at := site()
	at.Batch = 2
	last := at.Ints("last", 2, at.Context, -1)
	copy(last.Ints(), []int{2, 1})
	show(nn.NewGatherTokens(at, last).Forward(at.Value("x", numbers(1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 0, 0), 6, 2)))
	// Output:
	//   3.00 30.00
	//   5.00 50.00
}

func ExampleSquaredError() {
	s := site().Scope
	x, y := s.Value("x", numbers(1, 2, 3, 4), 2, 2), s.Value("y", numbers(1, 2, 3, 8), 2, 2)
	show(nn.NewSquaredError(s).Forward(x, y)) // (0 + 0 + 0 + 16)/4
	// Output:
	//   4.00
}

// Three labels of one object: two are right and certain, and one is undecided and costs ln 2. The gradient is (σ(z) −
// y)/3.
func ExampleBinaryCrossEntropy() {
	s := site().Scope
	z, y := s.Param("z", numbers(1000, -1000, 0), 1, 3), s.Value("y", numbers(1, 0, 1), 1, 3)
	p, err := graph.Compile(nn.NewBinaryCrossEntropy(s).Forward(z, y), z)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f %.3f\n", p.Loss(), p.Grad(z).Floats())
	// Output:
	// 0.231 [0.000 0.000 -0.167]
}

// For a token of small variance, ε counts fully outside the root, but is effectively squared inside it.
func ExampleLayerNormSigma() {
	at := site()
	at.Embd, at.Eps = 4, 0.01
	x := at.Value("x", numbers(1, 2, 3, 4, 0.01, 0.02, 0.03, 0.04), 2, 4)
	show(nn.NewLayerNormSigma(at.At("beside")).Forward(x))
	fmt.Println()
	show(nn.NewLayerNorm(at.At("inside")).Forward(x))
	// Output:
	//  -1.33 -0.44  0.44  1.33
	//  -0.71 -0.24  0.24  0.71
	//
	//  -1.34 -0.45  0.45  1.34
	//  -0.15 -0.05  0.05  0.15
}

// The layer has no parameters: it only centres and scales. As a site's Norm it takes the place of every norm of a
// block.
func ExampleLayerNormPlain() {
	at := site()
	show(nn.NewLayerNormPlain(at).Forward(at.Value("x", numbers(1, 5, 6, 2), 2, 2)))
	at.Norm = func(at nn.Site) nn.Layer { return nn.NewLayerNormPlain(at) }
	nn.NewBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name())
	}
	// Output:
	//  -1.00  1.00
	//   1.00 -1.00
	// h.0.attn.c_attn.weight
	// h.0.attn.c_proj.weight
	// h.0.mlp.c_fc.weight
	// h.0.mlp.c_proj.weight
}

// A layer with memory: a 1 in the input is still visible later, but decays.
func ExampleElman() {
	at := site()
	l := nn.NewElman(at.At("rnn"))
	set(at.Graph(), map[string][]float64{
		"rnn.c_input.weight": {1, 0, 0, 1},
		"rnn.weight": { // half of the first feature stays, and the second feature receives the first
			0.5, 1,
			0, 0},
	})
	show(l.Forward(at.Value("x", numbers(1, 0, 0, 0, 0, 0), 3, 2)))
	// Output:
	//   0.76  0.00
	//   0.36  0.64
	//   0.18  0.35
}

// Step takes one token at a time and continues from the state: earlier tokens are not computed again.
func ExampleElman_Step() {
	at := site()
	at.Caches = nn.Caches{}
	l := nn.NewElman(at.At("rnn"))
	set(at.Graph(), map[string][]float64{"rnn.c_input.weight": {1, 0, 0, 1}, "rnn.weight": {0.5, 1, 0, 0}})
	x, position := at.Value("x", graph.Const(0), 1, 2), at.Ints("seen", 1, at.Context, -1)
	p, err := graph.Compile(l.Step(x, position))
	if err != nil {
		log.Fatal(err)
	}
	for t, token := range [][]float64{{1, 0}, {0, 0}, {0, 0}} {
		position.Ints()[0] = t
		fill(x, token...)
		if err := p.Run(); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", p.Value().F64)
	}
	// Output:
	// [0.76 0.00]
	// [0.36 0.64]
	// [0.18 0.35]
}

// The norm removes only the size of a token: its mean stays, and proportional tokens give the same result.
func ExampleRMSNorm() {
	at := site()
	at.Embd, at.Eps, at.Bias = 3, 0, true
	l := nn.NewRMSNorm(at.At("ln"))
	show(l.Forward(at.Value("x", numbers(1, 2, 3, 10, 20, 30), 2, 3)))
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name())
	}
	// Output:
	//   0.46  0.93  1.39
	//   0.46  0.93  1.39
	// ln.weight
}

// Two heads of two features: every head of the queries (2, 0 | 3, 4) and of the keys is normalised separately. The
// value stays as it is.
func ExampleNewHeadNorm() {
	at := site()
	l := nn.NewHeadNorm(at.At("attn"), fused.AttentionShape{Heads: 2, QK: 2, Groups: 1})
	show(l.Forward(at.Value("x", numbers(2, 0, 3, 4, 10, -10, 7), 1, 7)))
	parameters(at)
	// Output:
	//   1.41  0.00  0.85  1.13  1.00 -1.00  7.00
	// attn.q_norm.weight [2]
	// attn.k_norm.weight [2]
}

// The norm over the width keeps the proportions of the heads.
func ExampleNewWidthNorm() {
	at := site()
	l := nn.NewWidthNorm(at.At("attn"), fused.AttentionShape{Heads: 2, QK: 1, Groups: 1})
	show(l.Forward(at.Value("x", numbers(3, 4, -10, 7), 1, 4)))
	parameters(at)
	// Output:
	//   0.85  1.13 -1.00  7.00
	// attn.q_norm.weight [2]
	// attn.k_norm.weight [1]
}

// The weights of a token and of the three before it begin as 1, 0, 0 and 0. Here they are 1, 10, 0 and 0.
func ExampleNewShortConv() {
	at := site()
	at.Batch, at.Context = 1, 3
	l := nn.NewShortConv(at.At("conv"), 2)
	set(at.Graph(), map[string][]float64{"conv.weight": {1, 1, 10, 10, 0, 0, 0, 0}})
	show(l.Forward(at.Value("x", numbers(1, 4, 2, 5, 3, 6), 3, 2)))
	// Output:
	//   1.00  4.00
	//  12.00 45.00
	//  23.00 56.00
}

// Half of λ = 2 of the token before is added to the second one: a gate of zeros is half open.
func ExampleNewSmear() {
	at := site()
	at.Batch, at.Context, at.Embd = 1, 2, 2
	l := nn.NewSmear(at.At("smear"))
	l.Lambda.Tensor().Set(0, 2)
	for i := range 2 {
		l.Weight.Tensor().Set(i, 0)
	}
	show(l.Forward(graph.Expr{}, at.Value("x", numbers(1, 2, 10, 20), 2, 2)))
	// Output:
	//   1.00  2.00
	//  11.00 22.00
}

// A Canon layer adds the weighted tokens to the token itself.
func ExampleNewCanon() {
	at := site()
	at.Batch, at.Context = 1, 3
	l := nn.NewCanon(at.At("conv"), 2)
	set(at.Graph(), map[string][]float64{"conv.weight": {0, 0, 10, 10, 0, 0, 0, 0}})
	show(l.Forward(at.Value("x", numbers(1, 4, 2, 5, 3, 6), 3, 2)))
	// Output:
	//   1.00  4.00
	//  12.00 45.00
	//  23.00 56.00
}

// Linear scaling by 4 turns every pair a quarter as far. Llama 3.1 does so only with pairs that turn slowly.
func ExampleNewScaledRoPE() {
	at := site()
	at.Batch, at.Context = 1, 9
	at.Positions = at.Ints("positions", 9, 9, graph.NoneIgnored)
	slow := nn.NewScaledRoPE(at.At("rope"), 2, 2, 10000, nn.LinearScaling{Factor: 4})
	fast := nn.NewRoPE(at.At("plain"), 2, 10000)
	fmt.Println(slow.Cos.Tensor().F64[8] == fast.Cos.Tensor().F64[2])
	llama := nn.Llama3Scaling{Factor: 8, Original: 8192}
	fmt.Printf("%.3g %.3g\n", llama.Frequency(0, 128, 500000), llama.Frequency(63, 128, 500000))
	// Output:
	// true
	// 1 3.07e-07
}

// Every attention after the first declares the two factors of its values.
func ExampleNewValueResidual() {
	at := site()
	at.Links.Before = []nn.NamedLink{nn.NewValueResidual()}
	nn.NewSelfAttention(at.At("h.0.attn"))
	at.Block = 1
	nn.NewSelfAttention(at.At("h.1.attn"))
	for _, p := range at.Graph().Params() {
		if strings.HasSuffix(p.Name(), "v_lambda") {
			fmt.Println(p.Name(), p.Tensor().F64)
		}
	}
	// Output: h.1.attn.v_lambda [0.5 0.5]
}

// Block 1 reads its input, which is the result of block 0, plus half the embeddings.
func ExampleNewEmbeddingSkips() {
	at := site()
	stream := nn.NewEmbeddingSkips()
	first := stream.Skip(at.At("h.0"))
	at.Block = 1
	second := stream.Skip(at.At("h.1"))
	set(at.Graph(), map[string][]float64{"h.1.skip_lambda": {1, 0.5}})
	x := stream.Expand(at.Value("embeddings", numbers(4, 8), 1, 2))
	x = first.Forward(x).Scale(0.25) // block 0
	show(second.Forward(x))
	// Output:  3.00  6.00
}

// Of two streams, a sublayer reads the mean at first, and adds its result to both.
func ExampleNewHyperConnections() {
	at := site()
	at.Embd = 2
	stream := nn.NewHyperConnections(2)
	join := stream.Connect(at.At("h.0.attn_stream"))
	set(at.Graph(), map[string][]float64{"h.0.attn_stream.alpha": {0, 0, 0}})
	x := at.Value("streams", numbers(1, 2, 3, 4), 1, 4)
	show(join.Read(x))
	show(stream.Reduce(join.Write(x, at.Value("y", numbers(10, 20), 1, 2))))
	// Output:
	//  2.00  3.00
	//  12.00 23.00
}

// Of five blocks, the last two have a skip: from the first two.
func ExampleNewUNetSkips() {
	at, stream := site(), nn.NewUNetSkips(5)
	for at.Block = range 5 {
		if l := stream.Skip(at.At(fmt.Sprintf("h.%d", at.Block))).(*nn.Skip); l.Lambda.Graph() != nil {
			fmt.Printf("block %d adds the result of block %d\n", at.Block, l.From-1)
		}
	}
	// Output:
	// block 3 adds the result of block 1
	// block 4 adds the result of block 0
}

// A link of a user adds half of a token's value to the results of the heads: the only token has the value 1, and the
// result 1 + ½.
func ExampleNamedLink() {
	at := site()
	at.Batch, at.Context, at.Embd, at.Heads, at.QK, at.V, at.Bias = 1, 1, 1, 1, 1, 1, false
	at.Mask = nn.NewMask(at.Scope, at.Dims, nn.Causal{})
	at.Links.After = []nn.NamedLink{{Name: "own_value", New: func(nn.Site, fused.AttentionShape) nn.Link {
		return nn.LinkFunc(func(in nn.Inside) graph.Expr { return in.Y.Add(in.Value().Scale(0.5)) })
	}}}
	y := nn.NewSelfAttention(at.At("attn")).Forward(at.Value("x", numbers(1), 1, 1))
	set(at.Graph(), map[string][]float64{"attn.c_attn.weight": {0, 0, 1}, "attn.c_proj.weight": {1}})
	show(y)
	// Output:   1.50
}

// What a head found is left without the direction of the token's value: (3, 4) without what is along (1, 0).
func ExampleNewXSA() {
	at := site()
	l := nn.NewXSA(at)
	show(l.Forward(nn.Inside{
		AttentionShape: fused.AttentionShape{Heads: 1, Groups: 1, QK: 1, V: 2},
		QKV:            at.Value("qkv", numbers(0, 0, 5, 0), 1, 4), Y: at.Value("y", numbers(3, 4), 1, 2),
	}))
	// Output:   0.00  4.00
}

// Two heads of one feature: each has a gate, between 0 and 1.
func ExampleNewHeadGate() {
	at := site()
	at.Embd, at.Heads, at.V = 2, 2, 1
	l := nn.NewHeadGate(at.At("attn"))
	set(at.Graph(), map[string][]float64{"attn.c_gate.weight": {1, 0, 0, 2}})
	ones := at.Value("y", numbers(1, 1, 1, 1), 2, 2)
	show(l.Forward(nn.Inside{X: at.Value("x", numbers(0, 1, 9, -9), 2, 2), Y: ones}))
	// Output:
	//   0.50  0.88
	//   1.00  0.00
}

// One head of one token: its key has the score 0, and the sink takes the share 1/(1 + e^−b) of the weight.
func ExampleNewSinks() {
	at := site()
	at.Batch, at.Context, at.Embd, at.Heads, at.QK, at.V = 1, 1, 1, 1, 1, 1
	at.Mask, at.Sinks, at.Bias = nn.NewMask(at.Scope, at.Dims, nn.Causal{}), nn.NewSinks, false
	y := nn.NewSelfAttention(at.At("attn")).Forward(at.Value("x", numbers(1), 1, 1))
	set(at.Graph(), map[string][]float64{"attn.c_attn.weight": {0, 0, 1}, "attn.c_proj.weight": {1}})
	for _, b := range []float64{-9, 0, 9} {
		set(at.Graph(), map[string][]float64{"attn.sinks": {b}})
		show(y)
	}
	// Output:
	//   1.00
	//   0.50
	//   0.00
}

// Two features of one head: each has a gate, between 0 and 1.
func ExampleNewElementGate() {
	at := site()
	at.Embd, at.Heads, at.V = 2, 1, 2
	l := nn.NewElementGate(at.At("attn"))
	set(at.Graph(), map[string][]float64{"attn.c_gate.weight": {1, 0, 0, 2}})
	ones := at.Value("y", numbers(1, 1, 1, 1), 2, 2)
	show(l.Forward(nn.Inside{X: at.Value("x", numbers(0, 1, 9, -9), 2, 2), Y: ones}))
	// Output:
	//   0.50  0.88
	//   1.00  0.00
}

// The dynamic tanh limits every feature on its own, whatever the others are.
func ExampleDyT() {
	at := site()
	at.Embd, at.Bias = 3, true
	l := nn.NewDyT(at.At("ln"))
	show(l.Forward(at.Value("x", numbers(1, 2, 3, 1, -20, 300), 2, 3)))
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name())
	}
	// Output:
	//   0.46  0.76  0.91
	//   0.46 -1.00  1.00
	// ln.alpha
	// ln.weight
	// ln.bias
}

// gradient prints ∂loss/∂x times 100, with a line for every row.
func gradient(loss, x graph.Expr) {
	p, err := graph.Compile(loss, x)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	g := p.Grad(x)
	for i := range g.Shape[0] {
		fmt.Printf("%6.1f\n", scaled(g.Row(i).Floats()))
	}
}

func scaled(x []float64) []float64 {
	for i := range x {
		x[i] = 100*x[i] + 0 // no −0
	}
	return x
}

// Three actions out of four were drawn, action 0 each time, with the returns 1, −1 and 0. Descending the gradient makes
// the first action more likely and the second less likely; the third teaches nothing.
func ExampleReinforce() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", graph.Const(0), 3, 4)
	r := nn.NewRollout(s, 3, 4)
	fill(r.Returns, 1, -1, 0)
	gradient(nn.NewReinforce(s).Forward(logits, r), logits)
	// Output:
	// [ -25.0    8.3    8.3    8.3]
	// [  25.0   -8.3   -8.3   -8.3]
	// [   0.0    0.0    0.0    0.0]
}

// A good action that is already 1.5 times as likely as when it was drawn gets no further push; one that has become less
// likely does.
func ExamplePPOClip() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", graph.Const(0), 2, 4)
	r := nn.NewRollout(s, 2, 4)
	fill(r.Returns, 1, 1)
	fill(r.LogProbs, math.Log(0.25/1.5), math.Log(0.25/0.8))
	gradient(nn.NewPPOClip(s).Forward(logits, r), logits)
	// Output:
	// [   0.0    0.0    0.0    0.0]
	// [ -30.0   10.0   10.0   10.0]
}

// The first action gained, the second lost; neither is less likely than under the reference, which holds back the
// third: it is twice as likely as there.
func ExampleGRPO() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", graph.Const(0), 3, 4)
	r := nn.NewRollout(s, 3, 4)
	same := math.Log(0.25)
	fill(r.Returns, 1, -1, 0)
	fill(r.LogProbs, same, same, same)
	r.Reference = s.Value("reference", graph.Const(0), 3, 1)
	fill(r.Reference, same, same, math.Log(0.125))
	l := nn.NewGRPO(s)
	l.Beta = 0.5
	gradient(l.Forward(logits, r), logits)
	// Output:
	// [ -25.0    8.3    8.3    8.3]
	// [  25.0   -8.3   -8.3   -8.3]
	// [   6.2   -2.1   -2.1   -2.1]
}

// Two answers of one token each: token 0 is preferred to token 3. Descending the gradient makes the first more likely
// and the second less likely.
func ExampleDPO() {
	s := graph.New(graph.Float64, 1).Root()
	logits, answers := s.Value("logits", graph.Const(0), 2, 4), s.Ints("answers", 2, 4, -1)
	copy(answers.Ints(), []int{0, 3})
	reference := s.Value("reference", graph.Const(math.Log(0.25)), 2, 1)
	l := nn.NewDPO(s, 2)
	l.Beta = 0.5
	gradient(l.Forward(logits, answers, reference), logits)
	// Output:
	// [ -18.8    6.2    6.2    6.2]
	// [  -6.2   -6.2   -6.2   18.8]
}

// A value function is the baseline: a return that it expected is not rewarded again. It has its own loss.
func ExampleValueHead() {
	at := site()
	hidden := at.Value("hidden", numbers(1, 0, 0, 1), 2, 2)
	value := nn.NewValueHead(at.At("value"))
	set(at.Graph(), map[string][]float64{"value.weight": {1, 0.5}})
	r := nn.NewRollout(at.Scope, 2, 4)
	fill(r.Returns, 1, 1)
	r.Baseline = value.Forward(hidden)
	show(r.Baseline)
	logits := at.Value("logits", graph.Const(0), 2, 4)
	gradient(nn.NewReinforce(at.Scope).Forward(logits, r), logits)
	// Output:
	//   1.00
	//   0.50
	// [   0.0    0.0    0.0    0.0]
	// [ -18.8    6.2    6.2    6.2]
}

// The first token has the return 1 and the expected return ½; the other does not count.
func ExampleValueLoss() {
	s := graph.New(graph.Float64, 1).Root()
	values := s.Value("values", graph.Const(0.5), 2, 1)
	r := nn.NewRollout(s, 2, 4)
	fill(r.Returns, 1, 7)
	fill(r.Weights, 1, 0)
	loss := nn.NewValueLoss(s).Forward(values, r)
	show(loss)
	gradient(loss, values)
	// Output:
	//   0.25
	// [-100.0]
	// [   0.0]
}

// With the norm after each sublayer the result is normalised, even if a block attends to a source with large values.
func ExamplePostNormDecoderBlock() {
	for _, loud := range []float64{0, 1, 1e6} {
		at := site()
		source := at.Value("z", numbers(loud, 0, 0, -loud), 2, 2) // two tokens
		memory := nn.NewMemory(at.Sub("memory"), source, 1, 3, 2, nil)
		b := nn.NewPostNormDecoderBlock(
			at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }, memory,
		)
		set(at.Graph(), map[string][]float64{
			// nothing but cross-attention writes
			"h.0.attn.c_proj.weight": {0, 0, 0, 0}, "h.0.mlp.c_proj.weight": make([]float64, 8),
			"h.0.cross.c_kv.weight": { // the columns of k, of v
				0, 0, 1, 0,
				0, 0, 0, 1},
			"h.0.cross.c_proj.weight": {1, 0, 0, 1}, // the mean of the source
		})
		show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 7, 3), 3, 2)).Reshape(1, 6))
	}
	// Output:
	//  -1.00  1.00 -1.00  1.00  1.00 -1.00
	//  -1.00  1.00 -1.00  1.00  1.00 -1.00
	//   1.00 -1.00  1.00 -1.00  1.00 -1.00
}

// Complete programs of a user, from the data to the trained model, have at most 60 lines each, including the imports
// and comments, which two share.
func TestProgramsAreShort(t *testing.T) {
	text, err := os.ReadFile("example_training_test.go")
	if n := strings.Count(string(text), "\n"); err != nil || n > 110 || n < 60 {
		t.Errorf("got %d lines and %v, want 60 to 110 for two programs", n, err)
	}
}

// A head with the factor 1/m of muP, for a network of twice the width of its base.
func ExampleScaled() {
	at := site()
	head := nn.NewLinear(at.Scope, 2, []int{2}, false, numbers(1, 0, 0, 1))
	show(nn.NewScaled(at.Scope, head, 0.5, 1).Forward(at.Value("x", numbers(3, 4), 1, 2)))
	// Output:
	//   1.50  2.00
}

// Queries, keys and values of one feature each, with a factor on the queries.
func ExampleScaledQueries() {
	at := site()
	l := nn.NewScaledQueries(nn.NewLinear, 0.5)(
		at.Scope, 1, []int{1, 1, 1}, false, numbers(2, 3, 4),
	).(*nn.ScaledQueries)
	show(l.Forward(at.Value("x", numbers(1), 1, 1)))
	// Output:
	//   1.00  3.00  4.00
}

// All experts have the biases g = 100 and u = 3, which the limit 2 clamps: 2·σ(1.702·2)·(2 + 1).
func ExampleNewClampedMoE() {
	at := site()
	at.Embd, at.Inner = 1, 1
	at.Experts = nn.Experts{Routing: nn.Routing{Router: fused.Router{Experts: 2, Active: 1, Norm: true}}, Limit: 2}
	l := nn.NewClampedMoE(at)
	for _, e := range l.Experts {
		e.Gate.(*nn.Linear).Bias.Tensor().Set(0, 100)
		e.Fc.(*nn.Linear).Bias.Tensor().Set(0, 3)
		e.Proj.(*nn.Linear).Weight.Tensor().Set(0, 1)
	}
	show(l.Forward(at.Value("x", numbers(0), 1, 1)))
	// Output:
	// 5.81
}

// Each of three tokens passes the expert that its router prefers. The first expert writes 2·x·silu(x) of a feature x,
// and the second 3·x·silu(x) to the other feature.
func ExampleMoE() {
	at := site()
	at.Inner = 1
	at.Experts = nn.Experts{Routing: nn.Routing{Router: fused.Router{Experts: 2, Active: 1}}}
	l := nn.NewMoE(at)
	set(at.Graph(), map[string][]float64{
		"router.weight":           {0, 0, 100, -100},
		"experts.0.c_gate.weight": {1, 0}, "experts.0.c_fc.weight": {1, 0}, "experts.0.c_proj.weight": {2, 0},
		"experts.1.c_gate.weight": {1, 0}, "experts.1.c_fc.weight": {1, 0}, "experts.1.c_proj.weight": {0, 3},
	})
	show(l.Forward(at.Value("x", numbers(20, 1, -5, -1, 5, 1), 3, 2)))
	// Output:
	// 800.00  0.00
	//   0.00  0.50
	//  49.67  0.00
}

func ExampleRouting() {
	z := site().Value("z", numbers(0, 1, 2, 5, 5, 5), 2, 3)
	l := nn.Routing{Router: fused.Router{Experts: 3, Active: 2}}
	show(l.Forward(z))
	l.Norm = true
	show(l.Forward(z))
	// Output:
	//   0.00  0.24  0.67
	//   0.33  0.33  0.00
	//   0.00  0.27  0.73
	//   0.50  0.50  0.00
}

// Two tokens choose the first of two experts, with certainty: the loss is twice the loss of balanced experts.
func ExampleBalance() {
	z := site().Value("z", numbers(50, 0, 50, 0), 2, 2)
	var b nn.Balance
	b.Add(z, nn.Routing{Router: fused.Router{Experts: 2, Active: 1}})
	loss, _ := b.Loss()
	show(loss)
	// Output:
	//   2.00
}

// All three tokens prefer the first expert. The bias that this changes lets them choose the second, with the gates that
// they have for it.
func ExampleLoads() {
	at := site()
	at.Inner = 1
	var loads nn.Loads
	at.Experts = nn.Experts{
		Routing: nn.Routing{Router: fused.Router{Experts: 2, Active: 1}}, BiasRate: 0.5, Loads: &loads,
	}
	l := nn.NewMoE(at)
	set(at.Graph(), map[string][]float64{"router.weight": {0.1, 0, 0, 0}})
	l.Forward(at.Value("x", numbers(1, 0, 2, 0, 3, 0), 3, 2))
	load := loads.List()[0]
	show(load.Count)
	load.Rebalance([]float64{3, 0})
	show(load.Bias)
	show(load.Count)
	// Output:
	//   3.00  0.00
	//  -0.50  0.50
	//   0.00  3.00
}

// ReGLU is an MLP with a gate by ReLU (Shazeer 2020): y = (relu(x·w_g) ∘ x·w_u)·w_d.
type ReGLU struct {
	Gate, Up, Down nn.Layer
	scope          graph.Scope
}

// NewReGLU declares w_gate and w_up (d, f) and w_down (f, d).
func NewReGLU(at nn.Site) nn.Layer {
	matrix := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, false, graph.Normal(0.02))
	}
	return &ReGLU{
		matrix("w_gate", at.Embd, at.Inner), matrix("w_up", at.Embd, at.Inner), matrix("w_down", at.Inner, at.Embd),
		at.Scope,
	}
}

// Forward returns (relu(x·w_g) ∘ x·w_u)·w_d.
func (l *ReGLU) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	gate := nn.ReLU{}.Forward(l.Gate.Forward(x).In(l.scope)) // relu(x·w_g)       (n, f)
	return l.Down.Forward(gate.Mul(l.Up.Forward(x)))         // (… ∘ x·w_u)·w_d   (n, d)
}

// A user-defined MLP takes the place of the default in every kind of block.
func ExampleSite_mlp() {
	at := site()
	at.MLP = NewReGLU
	nn.NewPostNormBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
	gated := NewReGLU(at.At("alone"))
	set(at.Graph(), map[string][]float64{
		"alone.w_gate.weight": {1, 0, 0, 0, 0, 1, 0, 0}, "alone.w_up.weight": {1, 0, 0, 0, 0, 1, 0, 0},
		"alone.w_down.weight": {1, 0, 0, 1, 0, 0, 0, 0},
	})
	show(gated.Forward(at.Value("x", numbers(1, 2, -1, 0), 2, 2)))
	// Output:
	// h.0.ln_1.weight [2]
	// h.0.attn.c_attn.weight [2 6]
	// h.0.attn.c_proj.weight [2 2]
	// h.0.ln_2.weight [2]
	// h.0.mlp.w_gate.weight [2 4]
	// h.0.mlp.w_up.weight [2 4]
	// h.0.mlp.w_down.weight [4 2]
	//   1.00  4.00
	//   0.00  0.00
}
