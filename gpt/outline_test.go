package gpt

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// For any sizes, options and parts, a Config is counted and checked in little memory: work for every token or pair of
// tokens would allocate for them.
func TestHostileSizesAreCheap(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	names := func(list []string) string { return list[rng.IntN(len(list))] }
	trials := 150
	if os.Getenv("NIGHTLY") != "" {
		trials = 600
	}
	for range trials {
		c := shakespeare65()
		c.Position, c.Block = names(parts.Names(parts.Positions())), names([]string{"pre", "pre", "post", "elman", "sandwich", "post_part", "parallel", "parallel_two"})
		if c.Block != "elman" {
			c.Attention = names(parts.Names(parts.Attentions()))
		}
		sizes := []*int{&c.NLayer, &c.NHead, &c.NEmbd, &c.BlockSize, &c.VocabSize, &c.QKSize, &c.VSize, &c.NInner, &c.LoraR}
		for range 1 + rng.IntN(4) {
			*sizes[rng.IntN(len(sizes))] = []int{1, 1 << 14, field.MaxSize}[rng.IntN(3)]
		}
		for _, f := range c.OptionFields(c.known()) {
			c.Options.Offer(f.Name, []int{0, 1, 2, 1 << 14, field.MaxSize}[rng.IntN(5)])
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.Validate()
		c.Count()
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
			t.Errorf("%+v: allocated %d bytes: %v", c.Network, allocated, err)
		}
	}
}

// The shape of a mask does not need the list of all global tokens, either.
func TestManyGlobalTokensAreCheap(t *testing.T) {
	for _, attention := range []string{"bigbird", "dilated", "longformer"} {
		c := shakespeare65()
		c.Attention, c.BlockSize = attention, field.MaxSize
		c.Options.Set("global_tokens", field.MaxSize)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustContain(t, c.Validate(), "memory: got about")
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: allocated %d bytes", attention, got)
		}
	}
}

// A deep network is counted by some of its blocks, which is exact because they repeat.
func TestCountDeep(t *testing.T) {
	block := func(c Config) int64 {
		c.NLayer = 4
		four, _ := c.Count()
		c.NLayer = 2
		two, _ := c.Count()
		return (four - two) / 2
	}
	for _, attention := range []string{"causal", "alternating", "mla"} {
		c := shakespeare65()
		c.Attention = attention
		each := block(c)
		base, _ := c.Count()
		c.NLayer = 9_004
		if got, _ := c.Count(); got != base+9_000*each {
			t.Errorf("%s: got %d parameters, want %d", attention, got, base+9_000*each)
		}
		memory := func(layers int) float64 { c := c; c.NLayer = layers; return c.Memory() }
		if got, want := (memory(9_004)-memory(4))/9_000, (memory(6)-memory(4))/2; got != want {
			t.Errorf("%s: a block needs %v bytes in a deep network and %v in one of six", attention, got, want)
		}
	}
	declared := 0
	c := shakespeare65()
	c.NLayer, c.Attention = 9_004, "ledger"
	c.Parts.Attentions = []parts.Attention{ledger(func() int { declared++; return 1 })}
	if c.Count(); declared == 0 || declared > mostDeclared {
		t.Errorf("%d blocks were declared to count %d, want 1 … %d", declared, c.NLayer, mostDeclared)
	}
}

// ledger returns a user-defined attention with n parameters in every block.
func ledger(n func() int) parts.Attention {
	return parts.Attention{Name: "ledger", New: func(nn.Site, parts.Stack) nn.Attention {
		return func(at nn.Site) nn.Layer {
			at.Param("pages", graph.Const(0), n())
			return bare{nn.NewUnprojected(at)}
		}
	}}
}

// lateNorm declares its gain in Forward.
type lateNorm struct{ nn.Site }

func (l lateNorm) Forward(x graph.Expr) graph.Expr {
	return x.Mul(l.Param("gain", graph.Const(1), l.Embd))
}

// The parameters of a user-defined part count, and are refused if they are too large.
func TestOwnPartsAreCounted(t *testing.T) {
	with := func(n func() int) Config {
		c := odd()
		c.Attention, c.Parts.Attentions = "ledger", []parts.Attention{ledger(n)}
		return c
	}
	few, many := with(func() int { return 5 }), with(func() int { return 105 })
	a, _ := few.Count()
	b, _ := many.Count()
	if want := int64(100 * few.NLayer); b-a != want {
		t.Errorf("Count: got %d more, want %d", b-a, want)
	}
	if got, want := FLOPsPerToken(many)-FLOPsPerToken(few), float64(600*few.NLayer); got != want {
		t.Errorf("FLOPs: got %v more, want %v", got, want)
	}
	if got, want := many.Memory()-few.Memory(), float64(4*4*100*few.NLayer); got != want {
		t.Errorf("Memory: got %v more, want %v", got, want)
	}
	_, err := New(graph.New(graph.Float32, 1), with(func() int { return 1 << 35 }), 1)
	mustContain(t, err, "memory: got about 256 GiB for parameters")
	_, err = New(graph.New(graph.Float32, 1), with(func() int { return -1 }), 1)
	mustContain(t, err, "h.0.attn.pages: shape (-1): every size must be positive")

	late := with(func() int { return 1 })
	late.Parts.Norms, late.Norm = []parts.Norm{{Name: "late", New: func(at nn.Site) nn.Layer { return lateNorm{at} }}}, "late"
	_, err = New(graph.New(graph.Float32, 1), late, 1)
	mustContain(t, err, "gpt: built ", " parameters, but counted ", " before: a layer declares parameters in Forward")

	calls := 0
	_, err = New(graph.New(graph.Float32, 1), with(func() int { calls++; return calls }), 1)
	mustContain(t, err, "parameters, but counted ")
}

// The Graph's Kernels takes precedence, and the model's Config has the same value.
func TestKernelsAreTheGraphs(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		c := odd()
		c.Kernels = kernels
		g := graph.New(graph.Float64, 1)
		c.Configure(g)
		c.Kernels = !kernels
		m, err := New(g, c, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Config.Kernels != kernels || m.Graph.Kernels != kernels {
			t.Errorf("got %t in the Config and %t in the Graph, want %t", m.Config.Kernels, m.Graph.Kernels, kernels)
		}
	}
}

// Every attention drops entries of its result, the residual dropout, during training and not otherwise, in both forms.
func TestResidualDropout(t *testing.T) {
	for _, a := range parts.Attentions() {
		for _, kernels := range []bool{false, true} {
			c := tiny()
			c.VocabSize, c.Attention, c.Dropout, c.NLayer, c.Bias = 11, a.String(), 0.5, 1, true
			c.QKSize, c.VSize = 8, 8
			if c.suit(); c.ValidateModel() != nil && a.String() == "linformer" {
				continue // it cannot be causal
			} else if c.ValidateModel() != nil {
				t.Errorf("%s: %v", a, c.ValidateModel())
				continue
			}
			g := graph.New(graph.Float64, 5)
			g.Kernels = kernels
			m, err := New(g, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			scramble(m.Params(), 3)
			x, err := g.Activation("h.0.attn")
			if err != nil {
				t.Fatal(err)
			}
			p, err := graph.CompileWith(m.Loss, []graph.Expr{x})
			if err != nil {
				t.Fatal(err)
			}
			for _, training := range []bool{true, false} {
				g.SetTraining(training)
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				zeros := 0
				for _, v := range p.Kept(x).Floats() {
					if v == 0 {
						zeros++
					}
				}
				if n := p.Kept(x).Len(); training && (zeros < n/4 || zeros > n*3/4) || !training && zeros > 0 {
					t.Errorf("%s, kernels %v, training %v: %d of %d entries are dropped, want half or none", a, kernels, training, zeros, n)
				}
			}
		}
	}
}

// Two evaluations at one step are equal to the bit. At the next step, with the same weights, the batches differ, and so
// do the eval_iters batches of one evaluation.
func TestEvaluateDrawsBatches(t *testing.T) {
	c := tiny()
	c.Hooks.Rate = func(int) float64 { return 0 }
	c.WeightDecay = 0
	once := c
	once.EvalIters = 1
	tr, one := newTrainer(t, c), newTrainer(t, once)
	evaluate := func(tr *Trainer) Evaluation { return must(tr.Evaluate(context.Background())) }
	first := evaluate(tr)
	if again := evaluate(tr); again != first {
		t.Errorf("the same step again: got %v, want %v", again, first)
	}
	if e := evaluate(one); e.Val == first.Val || e.Train == first.Train {
		t.Errorf("%d batches have the losses of one: %v", c.EvalIters, e)
	}
	steps(t, tr, 1)
	if e := evaluate(tr); e.Val == first.Val || e.Train == first.Train {
		t.Errorf("after a step the batches are those before it: %v", e)
	}
	c.Seed++
	other := newTrainer(t, c)
	for i, p := range other.Model.Params() { // of the same weights
		if err := p.Tensor().Fill(tr.Model.Params()[i].Tensor().Floats()...); err != nil {
			t.Fatal(err)
		}
	}
	if e := evaluate(other); e.Val == first.Val || e.Train == first.Train {
		t.Errorf("with another seed the batches are the same: %v", e)
	}
}

// After as many tokens as the context holds, a decoder does not depend on earlier ones.
func TestFeedAFullContext(t *testing.T) {
	m := model64(t, odd(), true, 1)
	text := make([]int, m.Config.BlockSize)
	for i := range text {
		text[i] = (3*i + 1) % m.Config.VocabSize
	}
	for before := range m.Config.BlockSize + 1 {
		d := newDecoderOf(t, m)
		for i := range before {
			feed(t, d, i%m.Config.VocabSize)
		}
		got := feed(t, d, text...)
		sameLogits(t, "a whole context, in use", got, feed(t, newDecoderOf(t, m), text...))
	}
}
