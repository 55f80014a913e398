package train

import (
	"math"
	"slices"
	"testing"
)

// averaged returns a Core of descent with the average of decay 0.75, for x = 1.
func averaged(t *testing.T) *Core {
	t.Helper()
	training := Training{LearningRate: 0.25, GradientAccumulationSteps: 1, EMA: 0.75}
	core, _ := descent(t, training, sgd, func(int, int) float64 { return 1 })
	return core
}

// The averages follow the formula w̄ ← βw̄ + (1−β)w from the first weights on, and training does not depend on them.
func TestAverages(t *testing.T) {
	core := averaged(t)
	plain, _ := descent(t, Training{LearningRate: 0.25, GradientAccumulationSteps: 1}, sgd, func(int, int) float64 { return 1 })
	want := []float64{2, 2}
	for step := range 6 {
		for i := range want {
			w := core.params[0].Tensor().At(i)
			if want[i] = 0.75*want[i] + 0.25*w; step == 0 {
				want[i] = w
			}
			if got := core.Averages()[0].At(i); !(math.Abs(got-want[i]) <= 1e-6) {
				t.Errorf("after %d steps: the average of entry %d is %v, want %v", step, i, got, want[i])
			}
		}
		if _, err := core.Step(); err != nil {
			t.Fatal(err)
		}
		if _, err := plain.Step(); err != nil {
			t.Fatal(err)
		}
		if got, want := core.params[0].Tensor().F32, plain.params[0].Tensor().F32; !slices.Equal(got, want) {
			t.Fatalf("step %d: weights %v with averages, %v without", step+1, got, want)
		}
	}
	if plain.Averages() != nil || len(plain.Moments()) != 0 || len(core.Moments()) != 1 || core.Moments()[0].Name != "e.w" {
		t.Errorf("got averages %v and moments %v without EMA, %v with it", plain.Averages(), plain.Moments(), core.Moments())
	}
}

// The averaged loss is that of the averages, (w̄₀ − 1)² + w̄₁². Afterwards the weights and the averages are as before.
func TestAveragedLosses(t *testing.T) {
	core := averaged(t)
	one := func(yield func(float64, error) bool) { yield(1, nil) }
	for step := range 3 {
		w, average := slices.Clone(core.params[0].Tensor().F32), slices.Clone(core.Averages()[0].F32)
		a, b := float64(average[0])-1, float64(average[1])
		got := 0.0
		if err := core.AveragedLosses(t.Context(), one, func(_ []float64, mean float64) { got = mean }); err != nil {
			t.Fatal(err)
		}
		if want := a*a + b*b; step > 0 && !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("after %d steps: got %v, want %v", step, got, want)
		}
		if !slices.Equal(core.params[0].Tensor().F32, w) || !slices.Equal(core.Averages()[0].F32, average) {
			t.Errorf("after %d steps: the evaluation has changed the weights or the averages", step)
		}
		if _, err := core.Step(); err != nil {
			t.Fatal(err)
		}
	}
	plain, _ := descent(t, Training{GradientAccumulationSteps: 1}, sgd, func(int, int) float64 { return 1 })
	contains(t, plain.AveragedLosses(t.Context(), one, func([]float64, float64) {}), "ema: got 0")
	contains(t, (*Core)(nil).AveragedLosses(t.Context(), one, func([]float64, float64) {}), "nothing to train")
}
