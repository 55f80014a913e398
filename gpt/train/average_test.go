package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
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
	core, unread := averaged(t), averaged(t) // of the second, nobody reads the averages meanwhile
	plain, _ := descent(
		t, Training{LearningRate: 0.25, GradientAccumulationSteps: 1}, sgd, func(int, int) float64 { return 1 },
	)
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
		for _, c := range []*Core{core, unread, plain} {
			if _, err := c.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := core.params[0].Tensor().F32, plain.params[0].Tensor().F32; !slices.Equal(got, want) {
			t.Fatalf("step %d: weights %v with averages, %v without", step+1, got, want)
		}
	}
	if a, b := core.Averages()[0].F32, unread.Averages()[0].F32; !slices.Equal(a, b) {
		t.Errorf("got the averages %v, and %v where nobody has read them before", a, b)
	}
	if plain.Averages() != nil || len(plain.Moments()) != 0 || len(core.Moments()) != 1 ||
		core.Moments()[0].Name != "e.w" {
		t.Errorf(
			"got averages %v and moments %v without EMA, %v with it", plain.Averages(), plain.Moments(), core.Moments(),
		)
	}
}

// Between two steps the weights of an optim.Averaging are its averages x, and the gradients are taken at y = z/4 +
// 3x/4.
func TestAveragingOptimizer(t *testing.T) {
	rule := optim.ScheduleFree{Beta1: 0.75, Beta2: 0.5, Eps: 1}
	core, w := descent(t, Training{LearningRate: 0.25, GradientAccumulationSteps: 1},
		func(Training) optim.Rule { return rule }, func(int, int) float64 { return 1 })
	x, z, v := []float64{2, 2}, []float64{2, 2}, []float64{0, 0}
	for step := 1; step < 5; step++ {
		p, err := core.Step()
		if err != nil {
			t.Fatal(err)
		}
		c, loss := 1/float64(step), 0.0
		for i, target := range []float64{1, 0} {
			y := z[i]/4 + 3*x[i]/4
			g := 2 * (y - target)
			loss += (y - target) * (y - target)
			v[i] = v[i]/2 + g*g/2
			z[i] -= 0.25 * g / (math.Sqrt(v[i]/(1-math.Pow(0.5, float64(step)))) + 1)
			x[i] = (1-c)*x[i] + c*z[i]
			got, next := w.Tensor().At(i), core.Averages()[0].At(i)
			if !(math.Abs(got-x[i]) <= 1e-6 && math.Abs(next-z[i]/4-3*x[i]/4) <= 1e-6) {
				t.Errorf("step %d, entry %d: got weight %v and next %v, want x = %v and y = %v",
					step, i, got, next, x[i], z[i]/4+3*x[i]/4)
			}
		}
		if !(math.Abs(p.Loss-loss) <= 1e-6) {
			t.Errorf("step %d: got loss %v, want %v", step, p.Loss, loss)
		}
	}
	_, err := New(Training{LearningRate: 0.25, GradientAccumulationSteps: 1, EMA: 0.5}, Run{}, Task{
		Build: core.task.Build, Fill: core.task.Fill, Optimizer: core.task.Optimizer})
	if err == nil || !strings.Contains(err.Error(), "ema: got 0.5 with optimizer") {
		t.Errorf("got error %v", err)
	}
}

// The averaged loss is the loss of the averages, (w̄₀ − 1)² + w̄₁². Afterwards the weights and the averages are as
// before.
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

// Overlay takes what it finds in the list, and the rest from the other model, which must have the same parameters.
func TestOverlay(t *testing.T) {
	model := func(width int, names ...string) (params []graph.Expr) {
		g := graph.New(graph.Float32, 1)
		for i, name := range names {
			params = append(params, g.Root().Param(name, graph.Const(float64(i+1)), 1, width))
		}
		return params
	}
	list := []Named{{Name: "v", Tensor: graph.Tensor{Shape: []int{1, 2}, F32: []float32{7, 8}}}}
	for _, c := range []struct {
		to   []graph.Expr
		want string
	}{
		{model(2, "v", "w"), ""}, {model(2, "w"), "overlay: got 1 parameters, want the 2 of the other model"},
		{model(2, "v", "w", "u"), "overlay: got 3 parameters, want the 2 of the other model"},
		{model(2, "v", "u"), `overlay: got a parameter "u", which the other model lacks`},
		{model(3, "v", "w"), "overlay: v: "},
	} {
		if err := Overlay(c.to, model(2, "w", "v"), list); c.want != "" {
			contains(t, err, c.want)
		} else if v, w := c.to[0].Tensor().F32, c.to[1].Tensor().F32; err != nil || !slices.Equal(v, []float32{7, 8}) ||
			!slices.Equal(w, []float32{1, 1}) {
			t.Errorf("got v %v and w %v (%v), want 7 and 8, and 1", v, w, err)
		}
	}
}
