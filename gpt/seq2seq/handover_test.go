package seq2seq

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// descended returns the weights before and after one step of plain descent, by name, and the rate and norm of the
// step.
func descended(t *testing.T, change func(*Config)) (before, after map[string]graph.Tensor, rate, norm float64) {
	t.Helper()
	c := small()
	c.Optimizer, c.Beta1, c.GradClip, c.DecayLR = "sgd", 0, 0, false
	change(&c)
	tr := newTrainer(t, c)
	before, after = map[string]graph.Tensor{}, map[string]graph.Tensor{}
	for _, p := range tr.Model.Params() {
		before[p.Name()] = p.Tensor().Clone()
	}
	p, err := tr.Step()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tr.Model.Params() {
		after[p.Name()] = p.Tensor()
	}
	return before, after, p.LR, p.Norm
}

// The optimizer has the run's decay, which pulls matrices, but no vectors, towards 0 by the rate: θ ← θ − ηg − ηλθ.
// And it has the run's clip, which shortens a step to η·clip in all: θ ← θ − ηg·clip/‖g‖.
func TestDecayAndClipAreHandedOver(t *testing.T) {
	const decay, clip = 0.7, 0.01
	before, plain, rate, norm := descended(t, func(*Config) {})
	_, decayed, _, _ := descended(t, func(c *Config) { c.WeightDecay = decay })
	_, clipped, _, unclipped := descended(t, func(c *Config) { c.GradClip = clip })
	if !(norm > 10*clip) || norm != unclipped {
		t.Fatalf(
			"the gradient's norm is %v and %v, want more than ten times the clip %v and the same", norm, unclipped,
			clip,
		)
	}
	for name, w := range before {
		λ := 0.0
		if len(w.Shape) > 1 {
			λ = decay
		}
		for i := range w.Len() {
			step := plain[name].At(i) - w.At(i)
			for what, got := range map[string][2]float64{
				"decayed": {decayed[name].At(i), plain[name].At(i) - rate*λ*w.At(i)},
				"clipped": {clipped[name].At(i), w.At(i) + step*clip/norm},
			} {
				if !(math.Abs(got[0]-got[1]) <= 1e-6*max(1, math.Abs(got[1]))) {
					t.Fatalf("%s: %s[%d] is %v, want %v", what, name, i, got[0], got[1])
				}
			}
		}
	}
}

// Every micro-batch of every step drops other entries, also after an evaluation, which drops none and changes no mask.
func TestDropoutStepIsHandedOver(t *testing.T) {
	c := small()
	c.Dropout, c.LearningRate, c.DecayLR = 0.3, 1e-30, false // the weights do not change
	pairs := list{{[]int{4, 5, 6}, []int{6, 5, 4}}}
	run := func(micro, n int, evaluate bool) (losses []float64) {
		c.GradientAccumulationSteps = micro
		tr, err := NewTrainer(c, pairs)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if evaluate {
				first, err := tr.Evaluate(t.Context(), pairs)
				if err != nil {
					t.Fatal(err)
				}
				if again, _ := tr.Evaluate(t.Context(), pairs); again != first {
					t.Errorf("evaluated to %v, then to %v: entries are dropped", first, again)
				}
			}
			losses = append(losses, steps(t, tr, 1)...)
		}
		return losses
	}
	each := run(1, 6, false)
	for i, loss := range each {
		if slices.Contains(each[:i], loss) {
			t.Errorf("two steps drop the same: losses %v", each)
		}
	}
	if got := run(1, 6, true); !slices.Equal(got, each) {
		t.Errorf("with evaluations between the steps the losses are %v, want %v", got, each)
	}
	for i, got := range run(3, 2, false) {
		if want := (each[3*i] + each[3*i+1] + each[3*i+2]) / 3; !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("step %d of three micro-batches: loss %v, want the mean %v of the steps' own", i+1, got, want)
		}
	}
}

// A Translator ranks its beams by the given function: one that prefers short texts finds the empty text first, one
// that prefers long texts the longest that ends.
func TestTranslatorRanks(t *testing.T) {
	c := small()
	m, err := New(graph.New(graph.Float64, 5), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTranslator(m, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	longest := func(sign float64) string {
		all, err := w.Beam(t.Context(), [][]int{{4, 5}, {6}, {7, 8}}, func(logProb float64, n int) float64 {
			return logProb + sign*100*float64(n)
		})
		if err != nil {
			t.Fatal(err)
		}
		var lengths []int
		for _, list := range all {
			lengths = append(lengths, len(list[0].Tokens))
		}
		return fmt.Sprint(lengths)
	}
	if short, long := longest(-1), longest(1); short != "[0 0 0]" ||
		long != fmt.Sprint(slices.Repeat([]int{c.TargetSize}, 3)) {
		t.Errorf("got %s tokens if short is better and %s if long is, want 0 and %d", short, long, c.TargetSize)
	}
}
