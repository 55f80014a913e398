package verify

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// coderConfig is a model of two blocks on either side, all sizes different.
func coderConfig(block, norm string) seq2seq.Config {
	return seq2seq.Config{
		SourceSize: 4, TargetSize: 6, SourceVocab: 9, TargetVocab: 11,
		Stack: parts.Stack{NLayer: 2, NHead: 2, NEmbd: 8, QKSize: 3, VSize: 5, NInner: 13, Bias: true, Block: block, Norm: norm},
	}
}

// coderPairs have sources and targets of different lengths, the second padded on both sides.
func coderPairs() []seq2seq.Pair {
	return []seq2seq.Pair{
		{Source: []int{5, 4, 8, 5}, Target: []int{4, 10, 9, 4, 6}},
		{Source: []int{7, 5}, Target: []int{5, 4, 8}},
	}
}

func (c coderModel) hand() EncoderDecoder {
	m := c.model.Config
	return EncoderDecoder{
		Batch: 2, Source: m.SourceSize, Target: m.TargetSize, Layers: m.NLayer, Heads: m.NHead, QK: m.QKSize, Lengths: []int{4, 2},
		Eps: m.Eps, PostNorm: m.Block == "post",
		Norm:       map[string]Norm{"layernorm": NormRoot, "layernorm_sigma": NormSigma, "layernorm_plain": NormPlain}[m.Norm],
		Activation: map[string]Activation{"gelu": GELU, "relu": ReLU}[m.Activation],
		Position:   map[string]Position{"learned": LearnedPositions, "sinusoidal": SinusoidalPositions, "none": NoPositions}[m.Position],
	}
}

// coderModel is a model in one form of the library, filled with pairs and random parameters.
type coderModel struct {
	model   *seq2seq.Model
	numbers Parameters[float64]
}

func newCoder(t *testing.T, f form, c seq2seq.Config) coderModel {
	t.Helper()
	m, err := seq2seq.New(f.graph(caseSeed, caseStep), c, 2)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := m.Fill(coderPairs()); err != nil {
		t.Fatal(err)
	}
	numbers := Parameters[float64]{}
	for _, p := range m.Params() {
		rows, cols := matrixShape(p.Tensor().Shape)
		numbers[p.Name()] = Random(p.Name(), rows, cols)
		fill(p, numbers[p.Name()])
	}
	return coderModel{m, numbers}
}

func (c coderModel) gradients(t *testing.T) (loss float64, g Parameters[float64]) {
	t.Helper()
	p, err := graph.Compile(c.model.Loss, c.model.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	g = Parameters[float64]{}
	for _, x := range c.model.Params() {
		g[x.Name()] = FromTensor(p.Grad(x))
	}
	return p.Loss(), g
}

// Every gradient of every parameter of the whole model, by hand against autodiff, the kernels and the complex step.
func TestI32EncoderDecoder(t *testing.T) {
	for _, v := range []struct{ block, norm, activation, position string }{
		{"pre", "layernorm", "gelu", "learned"}, {"post", "layernorm", "relu", "learned"}, {"post", "layernorm_sigma", "relu", "sinusoidal"},
		{"pre", "layernorm_sigma", "gelu", "none"}, {"pre", "layernorm_plain", "relu", "sinusoidal"},
	} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			config := coderConfig(v.block, v.norm)
			config.Activation, config.Position = v.activation, v.position
			c := newCoder(t, spelled, config)
			e, m := c.hand(), c.model
			source, in, targets := m.Source.Ints(), m.Input.Ints(), m.Targets.Ints()
			a, err := EncoderDecoderForward(e, c.numbers, source, in, targets)
			if err != nil {
				t.Fatal(err)
			}
			hand, err := EncoderDecoderBackward(e, c.numbers, source, in, targets, a)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []form{spelled, kernels64} {
				loss, g := newCoder(t, f, config).gradients(t)
				if !(math.Abs(loss-a.Loss.Data[0]) <= 1e-13) {
					t.Errorf("%s: loss %v, by hand %v", f.name, loss, a.Loss.Data[0])
				}
				d := worst(t, g, hand)
				t.Logf("%s: worst %.1e %s of %d", f.name, d.Distance, d.Name, len(hand))
				if !(d.Distance <= Suspicion) {
					t.Errorf("%s: %s (%d, %d): got %v, by hand %v; distance %.1e", f.name, d.Name, d.Row, d.Col, d.Got, d.Want, d.Distance)
				}
			}
			f := func(p Parameters[complex128]) (complex128, error) {
				a, err := EncoderDecoderForward(e, p, source, in, targets)
				if err != nil {
					return 0, err
				}
				return a.Loss.Data[0], nil
			}
			coderComplexStep(t, f, c.numbers, hand)
		})
	}
}

// coderComplexStep looks at some entries of every parameter, and along a random direction.
func coderComplexStep(t *testing.T, f Objective, p, hand Parameters[float64]) {
	t.Helper()
	largest, direction, slope := Largest(hand), Parameters[float64]{}, 0.0
	for name, m := range p {
		direction[name] = Random("direction "+name, m.Rows, m.Cols)
		for i, v := range direction[name].Data {
			slope += v * hand[name].Data[i]
		}
		h := fnv.New64a()
		h.Write([]byte(name))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range 3 {
			i := rng.IntN(len(m.Data))
			want, err := ComplexStepAt(f, p, name, i)
			if got := hand[name].Data[i]; err != nil || !(math.Abs(got-want) <= Suspicion*largest) {
				t.Errorf("%s[%d]: got %v by hand, the complex step has %v (%v)", name, i, got, want, err)
			}
		}
	}
	want, err := ComplexStepAlong(f, p, direction)
	if err != nil || !(math.Abs(slope-want) <= Suspicion*largest) {
		t.Errorf("along a direction: got %v by hand, the complex step has %v (%v)", slope, want, err)
	}
}

// Each block of the decoder sends a Δ to Z, and no two are alike: leaving one out is a mistake of the size of the gradient.
func TestI32MemoryGradientIsASum(t *testing.T) {
	c := newCoder(t, spelled, coderConfig("pre", ""))
	e, m := c.hand(), c.model
	a, err := EncoderDecoderForward(e, c.numbers, m.Source.Ints(), m.Input.Ints(), m.Targets.Ints())
	if err != nil {
		t.Fatal(err)
	}
	_, want := c.gradients(t)
	for _, left := range []string{"", "decoder.h.0", "decoder.h.1"} {
		r := newPass(e, c.numbers)
		r.dz = Zeros[float64](a.Z.Rows, a.Z.Cols)
		parts := r.decoder(a.Z)
		for i := range parts {
			if left != "" && strings.HasPrefix(parts[i].name, left+".cross") {
				whole := parts[i].backward
				parts[i].backward = func(x, delta Matrix[float64]) Matrix[float64] {
					before := r.dz
					dx := whole(x, delta)
					r.dz = before
					return dx
				}
			}
		}
		d := r.linearBackward("decoder.lm_head", a.Decoder.out, CrossEntropyBackward(a.Logits, m.Targets.Ints(), Mean))
		r.stackBackward("decoder", a.Decoder, parts, d)
		r.stackBackward("encoder", a.Encoder, r.encoder(), r.dz)
		const name = "encoder.h.1.mlp.c_proj.weight"
		off := Distance(r.g[name], want[name], Largest(want)).Distance
		if left == "" && !(off <= Suspicion) || left != "" && !(off > 0.1) {
			t.Errorf("without the Δ of %q: %s is off by %.2g", left, name, off)
		}
	}
}

// run is the loss, and the logits by the rows of the targets.
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

// Whatever the padding's embeddings are, the loss is the same to the bit.
func TestI32PaddingIsInvisible(t *testing.T) {
	for _, f := range []form{spelled, kernels64, kernels32} {
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
				t.Errorf("%s, %s: the loss was %v, with other embeddings of the padding it is %v", f.name, block, before, after)
			}
			c.model.Source.Ints()[0] = 6 // so that the test can fail
			if after, _ := c.run(t); after == before {
				t.Errorf("%s, %s: the first word of a source does not matter", f.name, block)
			}
		}
	}
}

// What a target goes on with changes no logits before it.
func TestI32FutureIsInvisible(t *testing.T) {
	for _, f := range []form{spelled, kernels64, kernels32} {
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
				t.Errorf("%s: token %d of the first target is another, and logits %d are the same: %t", f.name, at, i, same)
			}
		}
	}
}

// Without positions an encoder cannot tell in which order the words stand: shuffled words come out shuffled, and the loss of
// hidden words is the same.
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
				fill(p, Random(p.Name(), rows, cols))
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
			off = max(off, Distance(FromTensor(y).Tokens(i, i+1), FromTensor(z).Tokens(j, j+1), 1).Distance)
		}
		if (off <= 1e-12) != (position == "none") {
			t.Errorf("positions %s: shuffled words come out %.2g off the shuffled result", position, off)
		}
	}
}

// The masked model by hand: an encoder, a head, and a loss of what was hidden alone.
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
		p := Parameters[float64]{}
		for _, x := range m.Params() {
			rows, cols := matrixShape(x.Tensor().Shape)
			p[x.Name()] = Random(x.Name(), rows, cols)
			fill(x, p[x.Name()])
		}
		c := EncoderDecoder{Batch: 2, Source: 4, Layers: 2, Heads: 2, QK: 3, Lengths: []int{4, 2}, Eps: 1e-5, PostNorm: true, Norm: NormSigma}
		ids, targets := m.Source.Ints(), m.Targets.Ints()
		r := newPass(c, p)
		s := r.stack("encoder", r.embed("encoder", ids, 4), r.encoder())
		logits := r.linear("lm_head", s.out)
		d := r.linearBackward("lm_head", s.out, CrossEntropyBackward(logits, targets, Mean))
		r.embedBackward("encoder", ids, 4, r.stackBackward("encoder", s, r.encoder(), d))
		if err := r.err(); err != nil {
			t.Fatal(err)
		}
		program, err := graph.Compile(m.Loss, m.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Run(); err != nil {
			t.Fatal(err)
		}
		got := Parameters[float64]{}
		for _, x := range m.Params() {
			got[x.Name()] = FromTensor(program.Grad(x))
		}
		if d := worst(t, got, r.g); !(d.Distance <= Suspicion) {
			t.Errorf("kernels %t: %s: got %v, by hand %v; distance %.1e", kernels, d.Name, d.Got, d.Want, d.Distance)
		}
		if want := CrossEntropyForward(logits, targets, Mean).Data[0]; !(math.Abs(program.Loss()-want) <= 1e-13) {
			t.Errorf("kernels %t: loss %v, by hand %v", kernels, program.Loss(), want)
		}
	}
}

// Mistakes of the caller are errors that name the place.
func TestEncoderDecoderErrors(t *testing.T) {
	c := newCoder(t, spelled, coderConfig("pre", ""))
	e, m := c.hand(), c.model
	for _, tc := range []struct {
		name  string
		value Matrix[float64]
		want  string
	}{
		{"decoder.h.1.cross.c_q.weight", Random("w", 8, 5), "decoder.h.1.cross: verify: shapes do not fit: queries (12, 5)"},
		{"encoder.h.0.mlp.c_fc.weight", Random("w", 7, 13), "encoder.h.0.mlp.c_fc: verify: shapes do not fit"},
	} {
		p := Parameters[float64]{}
		for name, v := range c.numbers {
			p[name] = v
		}
		p[tc.name] = tc.value
		delete(p, "decoder.h.1.cross.c_q.bias")
		_, err := EncoderDecoderForward(e, p, m.Source.Ints(), m.Input.Ints(), m.Targets.Ints())
		if got := fmt.Sprint(err); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got error %s, want %s", tc.name, got, tc.want)
		}
	}
}
