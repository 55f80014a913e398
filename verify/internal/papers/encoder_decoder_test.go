package papers

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// coderConfig returns a model of two blocks on each side, with all sizes different.
func coderConfig(block, norm string) seq2seq.Config {
	c := seq2seq.Config{SourceSize: 4, TargetSize: 6, SourceVocab: 9, TargetVocab: 11}
	c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner, c.Bias = 2, 2, 8, 3, 5, 13, true
	c.Block, c.Norm = block, norm
	return c
}

// coderPairs returns pairs whose sources and targets of different lengths, the second padded on both sides.
func coderPairs() []seq2seq.Pair {
	return []seq2seq.Pair{
		{Source: []int{5, 4, 8, 5}, Target: []int{4, 10, 9, 4, 6}},
		{Source: []int{7, 5}, Target: []int{5, 4, 8}},
	}
}

// plan returns the description for the formulas by hand.
func (c coderModel) plan() variants.Plan {
	m := c.model.Config
	return variants.Plan{
		Batch: 2, Context: m.TargetSize, Layers: m.NLayer, Heads: m.NHead, QK: m.QKSize,
		Position: m.Position, Attention: "causal", Norm: m.Norm, Block: m.Block, Activation: m.Activation,
		Head: "linear", Eps: m.Eps,
		Encoder: &variants.Encoder{Context: m.SourceSize, Lengths: []int{4, 2}, Attention: "full"},
	}
}

// text returns the text that the model was filled with.
func (c coderModel) text() hand.Text {
	return hand.Text{Source: c.model.Source.Ints(), Tokens: c.model.Input.Ints(), Targets: c.model.Targets.Ints()}
}

// coderModel is a model in one form of the library, filled with pairs and random parameters.
type coderModel struct {
	model   *seq2seq.Model
	numbers parameters
}

func newCoder(t *testing.T, f form, c seq2seq.Config) coderModel {
	t.Helper()
	m, err := seq2seq.New(f.graph(fixture.Seed, fixture.Step), c, 2)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := m.Fill(coderPairs()); err != nil {
		t.Fatal(err)
	}
	numbers := parameters{}
	for _, p := range m.Params() {
		rows, cols := matrixShape(p.Tensor().Shape)
		numbers[p.Name()] = fixture.Random(p.Name(), rows, cols)
		fill(p, numbers[p.Name()])
	}
	return coderModel{m, numbers}
}

func (c coderModel) gradients(t *testing.T) (loss float64, g parameters) {
	t.Helper()
	p, err := graph.Compile(c.model.Loss, c.model.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	g = parameters{}
	for _, x := range c.model.Params() {
		g[x.Name()] = verify.FromTensor(p.Grad(x))
	}
	return p.Loss(), g
}

// Every gradient of the complete model, by hand, agrees with autodiff, the kernels and the complex step.
func TestI32EncoderDecoder(t *testing.T) {
	for _, v := range []struct{ block, norm, activation, position string }{
		{"pre", "layernorm", "gelu", "learned"}, {"post", "layernorm", "relu", "learned"},
		{"post", "layernorm_sigma", "relu", "sinusoidal"},
		{"pre", "layernorm_sigma", "gelu", "none"}, {"pre", "layernorm_plain", "relu", "sinusoidal"},
	} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			config := coderConfig(v.block, v.norm)
			config.Activation, config.Position = v.activation, v.position
			c := newCoder(t, reference, config)
			m, err := variants.Model(c.plan(), c.numbers)
			if err != nil {
				t.Fatal(err)
			}
			byHand := m.Forward(c.text())
			all, err := m.Backward(c.text())
			if err != nil {
				t.Fatal(err)
			}
			formula := all.Parameters()
			for _, f := range []form{reference, kernels64} {
				loss, g := newCoder(t, f, config).gradients(t)
				if !(math.Abs(loss-byHand.Data[0]) <= 1e-13) {
					t.Errorf("%s: loss %v, by hand %v", f.name, loss, byHand.Data[0])
				}
				d := worst(t, g, formula)
				t.Logf("%s: worst %.1e %s of %d", f.name, d.Distance, d.Name, len(formula))
				if !(d.Distance <= verify.Suspicion) {
					t.Errorf(
						"%s: %s (%d, %d): got %v, by hand %v; distance %.1e", f.name, d.Name, d.Row, d.Col, d.Got,
						d.Want, d.Distance,
					)
				}
			}
			f := func(p complexParameters) (complex128, error) {
				m, err := variants.Model(c.plan(), p)
				if err != nil {
					return 0, err
				}
				return m.Forward(c.text()).Data[0], nil
			}
			coderComplexStep(t, f, c.numbers, formula)
		})
	}
}

// coderComplexStep checks some entries of every parameter, and a random direction.
func coderComplexStep(t *testing.T, f verify.Objective, p, formula parameters) {
	t.Helper()
	largest, direction, slope := verify.Largest(formula), parameters{}, 0.0
	for name, m := range p {
		direction[name] = fixture.Random("direction "+name, m.Rows, m.Cols)
		for i, v := range direction[name].Data {
			slope += v * formula[name].Data[i]
		}
		h := fnv.New64a()
		h.Write([]byte(name))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range 3 {
			i := rng.IntN(len(m.Data))
			want, err := verify.ComplexStepAt(f, p, name, i)
			if got := formula[name].Data[i]; err != nil || !(math.Abs(got-want) <= verify.Suspicion*largest) {
				t.Errorf("%s[%d]: got %v by hand, the complex step has %v (%v)", name, i, got, want, err)
			}
		}
	}
	want, err := verify.ComplexStepAlong(f, p, direction)
	if err != nil || !(math.Abs(slope-want) <= verify.Suspicion*largest) {
		t.Errorf("along a direction: got %v by hand, the complex step has %v (%v)", slope, want, err)
	}
}

// Each block of the decoder sends a Δ to Z, and all are different: omitting one is a mistake of the size of the
// gradient.
func TestI32MemoryGradientIsASum(t *testing.T) {
	c := newCoder(t, reference, coderConfig("pre", ""))
	_, want := c.gradients(t)
	for _, left := range []int{-1, 0, 1} {
		m, err := variants.Model(c.plan(), c.numbers)
		if err != nil {
			t.Fatal(err)
		}
		original := m.Decoder
		m.Decoder = func(z matrix) hand.Stack[float64] {
			s := original(z)
			if left >= 0 {
				block := s.Blocks[left].(hand.DecoderBlock[float64])
				block.Cross = withoutMemory{block.Cross}
				s.Blocks[left] = block
			}
			return s
		}
		g, err := m.Backward(c.text())
		if err != nil {
			t.Fatal(err)
		}
		const name = "encoder.h.1.mlp.c_proj.weight"
		off := verify.Distance(g.Parameters()[name], want[name], verify.Largest(want)).Distance
		if left < 0 && !(off <= verify.Suspicion) || left >= 0 && !(off > 0.1) {
			t.Errorf("without the Δ of block %d: %s is off by %.2g", left, name, off)
		}
	}
}

// withoutMemory is cross-attention that sends nothing back to the encoder.
type withoutMemory struct{ hand.Layer[float64] }

func (l withoutMemory) Backward(x, delta matrix) (dx matrix, g hand.Gradients[float64]) {
	dx, g = l.Layer.Backward(x, delta)
	return dx, slices.DeleteFunc(g, func(e hand.Gradient[float64]) bool { return e.Name == hand.MemoryDelta })
}

// run returns the loss, and the logits by the rows of the targets.
func (c coderModel) run(t *testing.T) (loss float64, logits graph.Tensor) {
	t.Helper()
	for _, out := range []graph.Expr{c.model.Loss, c.model.Logits} {
		p, err := graph.Compile(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if out.Name() == "" && p.Value().Len() == 1 {
			loss = p.Loss()
		} else {
			logits = p.Value().Clone()
		}
	}
	return loss, logits
}

// The embeddings of the padding change no bit of the loss.
func TestI32PaddingIsInvisible(t *testing.T) {
	for _, f := range []form{reference, kernels64, kernels32} {
		for _, block := range []string{"pre", "post"} {
			c := newCoder(t, f, coderConfig(block, ""))
			before, _ := c.run(t)
			for _, p := range c.model.Params() {
				if name := p.Name(); name == "encoder.wte.weight" || name == "decoder.wte.weight" {
					row := p.Tensor().Row(seq2seq.Pad)
					for i := range row.Len() {
						row.Set(i, row.At(i)+3*float64(i+1))
					}
				}
			}
			if after, _ := c.run(t); after != before {
				t.Errorf(
					"%s, %s: the loss was %v, with other embeddings of the padding it is %v", f.name, block, before,
					after,
				)
			}
			c.model.Source.Ints()[0] = 6 // so that the test can fail
			if after, _ := c.run(t); after == before {
				t.Errorf("%s, %s: the first word of a source does not matter", f.name, block)
			}
		}
	}
}

// The continuation of a target changes no logits before it.
func TestI32FutureIsInvisible(t *testing.T) {
	for _, f := range []form{reference, kernels64, kernels32} {
		c := newCoder(t, f, coderConfig("pre", ""))
		_, before := c.run(t)
		const at = 3
		c.model.Input.Ints()[at] = 7
		_, after := c.run(t)
		for i := range before.Shape[0] {
			same := true
			for j := range before.Shape[1] {
				same = same && before.Row(i).At(j) == after.Row(i).At(j)
			}
			changes := i >= at && i < c.model.Config.TargetSize
			if same == changes {
				t.Errorf(
					"%s: token %d of the first target is another, and logits %d are the same: %t", f.name, at, i, same,
				)
			}
		}
	}
}

// Without positions an encoder does not depend on the order of the words: shuffled words give shuffled outputs, and the
// loss of hidden words is the same.
func TestI31EncoderIsEquivariant(t *testing.T) {
	for _, position := range []string{"none", "learned"} {
		c := coderConfig("post", "layernorm_sigma")
		c.Position = position
		logits := func(source, targets []int) (float64, graph.Tensor) {
			g := graph.New(graph.Float64, 5)
			m, err := seq2seq.NewMasked(g, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range m.Params() {
				rows, cols := matrixShape(p.Tensor().Shape)
				fill(p, fixture.Random(p.Name(), rows, cols))
			}
			if err := m.Fill([][]int{source}, 0, rand.New(rand.NewPCG(1, 1))); err != nil {
				t.Fatal(err)
			}
			copy(m.Source.Ints(), source)
			copy(m.Targets.Ints(), targets)
			values := [2]graph.Tensor{}
			for i, out := range []graph.Expr{m.Loss, m.Logits} {
				p, err := graph.Compile(out)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				values[i] = p.Value().Clone()
			}
			return values[0].At(0), values[1]
		}
		loss, y := logits([]int{5, 3, 8}, []int{-1, 4, -1})
		shuffledLoss, z := logits([]int{8, 5, 3}, []int{-1, -1, 4})
		off := math.Abs(loss - shuffledLoss)
		for i, j := range []int{1, 2, 0} {
			off = max(
				off,
				verify.Distance(verify.FromTensor(y).Tokens(i, i+1), verify.FromTensor(z).Tokens(j, j+1), 1).Distance,
			)
		}
		if (off <= 1e-12) != (position == "none") {
			t.Errorf("positions %s: shuffled words come out %.2g off the shuffled result", position, off)
		}
	}
}

// The masked model by hand: an encoder, a head, and a loss over the hidden words only.
func TestI31Masked(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 5)
		g.Kernels = kernels
		m, err := seq2seq.NewMasked(g, coderConfig("post", "layernorm_sigma"), 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Fill([][]int{{5, 4, 8, 5}, {7, 6}}, 0.3, rand.New(rand.NewPCG(2, 1))); err != nil {
			t.Fatal(err)
		}
		p := parameters{}
		for _, x := range m.Params() {
			rows, cols := matrixShape(x.Tensor().Shape)
			p[x.Name()] = fixture.Random(x.Name(), rows, cols)
			fill(x, p[x.Name()])
		}
		plan := variants.Plan{
			Batch: 2, Context: 4, Layers: 2, Heads: 2, QK: 3, Position: "learned", Attention: "causal",
			Norm: "layernorm_sigma", Block: "post",
			Activation: "gelu", Head: "linear", Eps: 1e-5, Encoder: &variants.Encoder{
				Context: 4, Lengths: []int{4, 2}, Attention: "full",
			},
		}
		formula, err := variants.Model(plan, p)
		if err != nil {
			t.Fatal(err)
		}
		ids, head := m.Source.Ints(), hand.Site[float64]{Parameters: p}.At("lm_head").Linear()
		loss := hand.CrossEntropy[float64]{Targets: m.Targets.Ints()}
		x := formula.Encoder.Forward(ids)
		logits := head.Forward(x)
		d, _ := loss.Backward(logits, ones(1, 1))
		d, own := head.Backward(x, d)
		all := slices.Concat(formula.Encoder.Backward(ids, d).In("encoder", ""), own.In("lm_head", ""))
		if err := all.Err(); err != nil {
			t.Fatal(err)
		}
		program, err := graph.Compile(m.Loss, m.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Run(); err != nil {
			t.Fatal(err)
		}
		got := parameters{}
		for _, x := range m.Params() {
			got[x.Name()] = verify.FromTensor(program.Grad(x))
		}
		if d := worst(t, got, all.Parameters()); !(d.Distance <= verify.Suspicion) {
			t.Errorf("kernels %t: %s: got %v, by hand %v; distance %.1e", kernels, d.Name, d.Got, d.Want, d.Distance)
		}
		if want := loss.Forward(logits).Data[0]; !(math.Abs(program.Loss()-want) <= 1e-13) {
			t.Errorf("kernels %t: loss %v, by hand %v", kernels, program.Loss(), want)
		}
	}
}

// Mistakes of the caller are errors that name the place.
func TestEncoderDecoderErrors(t *testing.T) {
	c := newCoder(t, reference, coderConfig("pre", ""))
	for _, tc := range []struct {
		name  string
		value matrix
		want  string
	}{
		{
			"decoder.h.1.cross.c_q.weight", fixture.Random("w", 8, 5),
			"decoder.h.1.cross: hand: shapes do not fit: (12, 5)",
		},
		{"encoder.h.0.mlp.c_fc.weight", fixture.Random("w", 7, 13), "encoder.h.0.mlp.c_fc: hand: shapes do not fit"},
	} {
		p := parameters{}
		for name, v := range c.numbers {
			p[name] = v
		}
		p[tc.name] = tc.value
		delete(p, "decoder.h.1.cross.c_q.bias")
		m, err := variants.Model(c.plan(), p)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m.Forward(c.text()).Err); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got error %s, want %s", tc.name, got, tc.want)
		}
	}
}
