package gpt

import (
	"context"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
)

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
		if n := len(d.decoding.context); n != len(text) {
			t.Errorf("after %d tokens: the context holds %d, want %d", before, n, len(text))
		}
	}
}
