package inspect

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// With plain gradient descent every layer moves by the learning rate times its gradient, and the layers' gradients
// together are the step's.
func TestWatch(t *testing.T) {
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 2, 2, 8, 6, 3
	c.Optimizer, c.Beta1, c.WeightDecay, c.GradClip, c.WarmupIters = "sgd", 0, 0, 0, 0
	c.Bias = true // two parameters of a layer
	w := &Watch{}
	c.Hooks.Gradients = w.Gradients
	s := digits(100)
	trainer, err := gpt.NewTrainer(c, text.Dataset{Training: s, Validation: s}, text.Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := w.Layers(trainer.Model)
	if err != nil || !math.IsNaN(first[0].Update) || first[0].Gradient != 0 {
		t.Errorf("before the first step: %+v, %v", first[0], err)
	}
	p, err := trainer.Step()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := w.Layers(trainer.Model)
	if err != nil {
		t.Fatal(err)
	}
	sum, rest, names := 0.0, 0.0, map[string]bool{}
	for _, x := range trainer.Model.Params() {
		rest += squares(x.Tensor().Len(), x.Tensor().At)
	}
	for i, l := range layers {
		names[l.Layer], rest = true, rest-l.Weight*l.Weight
		if sum += l.Gradient * l.Gradient; !(math.Abs(l.Update-p.LR*l.Gradient) <= 1e-4*l.Update+1e-7) {
			t.Errorf("%s moves by %v, want %v times %v", l.Layer, l.Update, p.LR, l.Gradient)
		}
		if l.Ratio() != l.Update/l.Weight || !(math.Abs(l.Weight-first[i].Weight) <= l.Update*1.01+1e-6) {
			t.Errorf("%s: got %+v after %+v", l.Layer, l, first[i])
		}
	}
	if !(math.Abs(math.Sqrt(sum)-p.Norm) <= 1e-5*p.Norm) || !names["h.1.mlp.c_fc"] || len(names) != len(layers) {
		t.Errorf("got gradients of length %v in %d layers, want %v", math.Sqrt(sum), len(layers), p.Norm)
	}
	if !(math.Abs(rest) <= 1e-9) {
		t.Errorf("the layers have %v less than all Σx² of the parameters", rest)
	}
	p, err = trainer.Step() // the second call measures from the end of the first, not from its beginning
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Layers(trainer.Model)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range again {
		if !(math.Abs(l.Update-p.LR*l.Gradient) <= 1e-4*l.Update+1e-7) {
			t.Errorf(
				"after two steps %s moves by %v in the second, want %v times %v", l.Layer, l.Update, p.LR, l.Gradient,
			)
		}
	}
	for _, f := range []func() ([]LayerNorms, error){
		func() ([]LayerNorms, error) { return w.Layers(nil) },
		func() ([]LayerNorms, error) { return w.Layers(&gpt.Model{}) },
		func() ([]LayerNorms, error) { return (*Watch)(nil).Layers(trainer.Model) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), "got no Watch or no model") {
			t.Errorf("got the error %v", err)
		}
	}
	if (*Watch)(nil).Gradients(0, nil) == nil {
		t.Error("no Watch keeps gradients")
	}
}

func TestEffectiveRank(t *testing.T) {
	matrix := func(rows, columns int, x ...float64) graph.Tensor {
		return graph.Tensor{Shape: []int{rows, columns}, F64: x}
	}
	for _, tc := range []struct {
		w    graph.Tensor
		want float64
	}{
		{matrix(2, 3, 0, 2, 0, 0, 0, -2), 2},                          // two equal ones
		{matrix(3, 2, 1, 2, 2, 4, -3, -6), 1},                         // one row, in three lengths
		{matrix(2, 2, 3, 0, 0, 1), math.Pow(4, 1) / math.Pow(3, .75)}, // e^H of ¾ and ¼
		{matrix(1, 2, 0, 0), 0},
		{matrix(2, 2, 3, 0, 0, 0), 1}, // one that is exactly 0
	} {
		if got, err := EffectiveRank(tc.w); err != nil || !(math.Abs(got-tc.want) <= 1e-12) {
			t.Errorf("%v: got %v, %v, want %v", tc.w, got, err, tc.want)
		}
	}
	for want, w := range map[string]graph.Tensor{
		"4 numbers of shape [4]": {Shape: []int{4}, F64: make([]float64, 4)}, "not finite": matrix(1, 1, math.NaN()),
		"0 numbers of shape [0 3]": matrix(0, 3), "0 numbers of shape [3 0]": matrix(3, 0),
		"3 numbers of shape [2 2]": matrix(2, 2, 1, 2, 3), "2 numbers of shape [-1 -2]": matrix(-1, -2, 1, 2),
		"1 numbers of shape [1 1 1]": {Shape: []int{1, 1, 1}, F64: []float64{1}},
	} {
		if _, err := EffectiveRank(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want it to say %q", err, want)
		}
	}
}
