package gpt

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// bits returns everything that a step may change.
func bits(trainer *Trainer) []byte {
	var b bytes.Buffer
	add := func(t graph.Tensor) {
		for _, x := range t.F32 {
			fmt.Fprintf(&b, "%08x", math.Float32bits(x))
		}
	}
	for _, p := range trainer.Model.Params() {
		add(p.Tensor())
	}
	for _, p := range trainer.Moments() {
		add(p.Tensor)
	}
	fmt.Fprint(&b, trainer.Done)
	return b.Bytes()
}

// refusesToStep checks that the next step returns an error with the step and the tensor, and changes nothing.
func refusesToStep(t *testing.T, trainer *Trainer, what string) train.Progress {
	t.Helper()
	before := bits(trainer)
	p, err := trainer.Step()
	if !errors.Is(err, graph.ErrNotFinite) {
		t.Fatalf("%s: got %v, want ErrNotFinite", what, err)
	}
	mustContain(t, err, fmt.Sprintf("step %d:", trainer.Done+1), what)
	if !bytes.Equal(before, bits(trainer)) {
		t.Errorf("%s: the step changed weights, moments or its number", what)
	}
	return p
}

// A weight that is not finite, at any step and any place, stops the run in that step, and is not saved.
func TestNaNStops(t *testing.T) {
	kinds := []func(*Config){
		func(*Config) {},
		func(c *Config) { *c = eventful() },
		func(c *Config) { c.LoraR, c.Block = 2, "post" },
		func(c *Config) { c.Activation, c.Kernels = "relu", false },
		func(c *Config) { c.Head, c.Activation, c.Precision = "linear", "gelu_tanh", "bf16" },
	}
	trials := 100
	if testing.Short() {
		trials = 25
	}
	for seed := range trials {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		c := tiny()
		kinds[seed%len(kinds)](&c)
		c.Seed = uint64(seed)
		trainer := newTrainer(t, c)
		steps(t, trainer, rng.IntN(4))

		x := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
		params := trainer.Model.Params()
		p := params[rng.IntN(len(params))]
		if p.Name() == "lm_head.bias" || c.Activation == "relu" { // -Inf there is not wrong: it is a token or a unit that never comes
			x = math.NaN()
		}
		w := p.Tensor()
		at := rng.IntN(w.Len())
		w.Set(at, x)
		if p.Name() == "wte.weight" { // whichever tokens come
			for i := at % w.Shape[1]; i < w.Len(); i += w.Shape[1] {
				w.Set(i, x)
			}
		}
		refusesToStep(t, trainer, p.Name())
		if _, err := trainer.Evaluate(t.Context()); !errors.Is(err, graph.ErrNotFinite) {
			t.Errorf("%s: evaluated: %v", p.Name(), err)
		}
		mustContain(t, trainer.Model.WriteWeights(new(bytes.Buffer)), "not finite", p.Name())
	}
}

// A gradient that overflows while the loss is finite also stops the run.
func TestInfiniteGradientStops(t *testing.T) {
	factors := map[string]float64{"wte.weight": 1e-3, "wpe.weight": 1e-3, published.HeadWeight: 1e39} // logits of 1e36, divided by a small σ
	for _, steady := range []int{0, 3} {
		c := tiny()
		c.Head = "linear"
		trainer := newTrainer(t, c)
		steps(t, trainer, steady)
		for _, p := range trainer.Model.Params() {
			for i := range p.Tensor().Len() {
				if f, ok := factors[p.Name()]; ok {
					p.Tensor().Set(i, f*p.Tensor().At(i))
				}
			}
		}
		p := refusesToStep(t, trainer, "the gradient of")
		if math.IsInf(p.Loss, 0) || math.IsNaN(p.Loss) || p.Loss == 0 {
			t.Errorf("loss %v: this was to be about gradients", p.Loss)
		}
	}
}

// A loss that overflows with finite weights is named as such.
func TestInfiniteLossStops(t *testing.T) {
	c := tiny()
	c.Head = "linear"
	trainer := newTrainer(t, c)
	for _, p := range trainer.Model.Params() {
		if p.Name() == published.HeadWeight {
			for i := range p.Tensor().Len() {
				p.Tensor().Set(i, math.Copysign(3e38, p.Tensor().At(i)))
			}
		}
	}
	refusesToStep(t, trainer, "all weights are finite")
}
