package train

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

func adamw(t Training) optim.Rule { return optim.AdamW{Beta1: t.Beta1, Beta2: t.Beta2} }
func sgd(t Training) optim.Rule   { return optim.SGD{Momentum: t.Beta1} }

// descent returns a Core of the loss (w₀ − x)² + w₁², where Fill sets x.
func descent(
	t *testing.T, training Training, o Optimizer, x func(step, micro int) float64, change ...func(*Task),
) (*Core, *graph.Expr) {
	t.Helper()
	var w, input graph.Expr
	task := Task{
		Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			s := g.Root()
			w, input = s.Param("w", graph.Const(2), 1, 2), s.Value("x", graph.Const(0), 1, 2)
			return w.Sub(input).Square().SumAll(), g.Params(), g.Err()
		},
		Fill: func(step, micro int) (int, error) {
			input.Tensor().Set(0, x(step, micro))
			return 2, nil
		},
		Optimizer: o, FLOPs: 3,
	}
	for _, change := range change {
		change(&task)
	}
	core, err := New(training, Run{Threads: 1}, task)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return core, &w
}

// A step uses the mean of its micro-batches: the gradient 2(w − x), here for x = 0 and 2, so w₀ changes as for x = 1.
func TestStep(t *testing.T) {
	training := Training{LearningRate: 0.25, GradientAccumulationSteps: 2}
	core, w := descent(t, training, sgd, func(_, micro int) float64 { return 2 * float64(micro) })
	p, err := core.Step()
	if err != nil {
		t.Fatal(err)
	}
	want := Progress{Step: 1, Loss: 4 + (4+0)/2, Norm: math.Sqrt(4 + 16), LR: 0.25, Took: p.Took, Tokens: 4, FLOP: 12}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, want %+v", p, want)
	}
	if got := w.Tensor().Floats(); got[0] != 1.5 || got[1] != 1 || core.Done != 1 {
		t.Errorf("w is %v after %d steps, want [1.5 1] after 1", got, core.Done)
	}
	if loss, err := lossNow(t.Context(), core); err != nil || loss != 0.25+1 { // x is 2 still
		t.Errorf("got loss %v (%v), want 1.25", loss, err)
	}
}

// A refused step changes neither weights nor the optimizer, and its error names the step and what is not finite.
func TestStepRefused(t *testing.T) {
	x := 0.0
	core, w := descent(
		t, Training{LearningRate: 0.1, GradientAccumulationSteps: 1, Beta1: .9, Beta2: .99}, adamw,
		func(int, int) float64 { return x },
	)
	if _, err := core.Step(); err != nil {
		t.Fatal(err)
	}
	before := w.Tensor().Floats()
	kinds := map[float64]string{math.NaN(): "sub: entry 0 is NaN", math.Inf(1): "square: entry 0 is +Inf"}
	for bad, begins := range kinds {
		x = bad
		_, err := core.Step()
		want := fmt.Sprintf("step 2: micro-batch 1 of 1: the loss is %v, all weights are finite; first: %s: ",
			bad, begins)
		if !errors.Is(err, graph.ErrNotFinite) || !strings.Contains(err.Error(), want) {
			t.Errorf("x = %v: got error %v, want %q in it", bad, err, want)
		}
	}
	if got := w.Tensor().Floats(); got[0] != before[0] || got[1] != before[1] || core.Done != 1 ||
		core.optimizer.Steps != 1 {
		t.Errorf("w was %v and is %v, %d steps are done", before, got, core.Done)
	}
	x = 0
	w.Tensor().Set(1, math.NaN())
	_, err := core.Step()
	contains(t, err, "step 2: micro-batch 1 of 1: w: entry 1 is NaN")
}

// A task's own learning rate replaces the schedule.
func TestRate(t *testing.T) {
	rate := func(step int) float64 { return 0.25 / float64(step+1) }
	core, w := descent(t, Training{LearningRate: 9, GradientAccumulationSteps: 1}, sgd,
		func(int, int) float64 { return 0 }, func(task *Task) { task.Rate = rate })
	for step, want := range []float64{2 * 0.5, 2 * 0.5 * 0.75} { // w ← w(1 − 2η)
		p, err := core.Step()
		if err != nil || p.LR != 0.25/float64(step+1) || w.Tensor().At(0) != want {
			t.Errorf("step %d: rate %v, w is %v (%v), want %v", step+1, p.LR, w.Tensor().At(0), err, want)
		}
	}
}

// A step that fails in a later micro-batch leaves nothing behind: the next one is the same as in a run without it.
func TestFailedStepLeavesNothing(t *testing.T) {
	for name, o := range map[string]Optimizer{"adamw": adamw, "sgd": sgd} {
		training := Training{LearningRate: 0.1, GradientAccumulationSteps: 3, Beta1: .9, Beta2: .99}
		bad := false
		drawing := func() (*Core, *graph.Expr) {
			batches := rand.NewPCG(1, 2)
			return descent(t, training, o, func(step, micro int) float64 {
				if drawn := rand.New(batches).Float64(); !bad || micro != 1 {
					return float64(step) - drawn
				}
				return math.NaN()
			}, func(task *Task) { task.Batches = batches })
		}
		failed, got := drawing()
		calm, want := drawing()
		for step := range 3 {
			bad = true
			if _, err := failed.Step(); !errors.Is(err, graph.ErrNotFinite) {
				t.Fatalf("%s: got error %v", name, err)
			}
			bad = false
			p, err := failed.Step()
			q, err2 := calm.Step()
			if err != nil || err2 != nil || p.Norm != q.Norm || p.Loss != q.Loss || p.Step != q.Step {
				t.Fatalf("%s, step %d: got %+v (%v), undisturbed %+v (%v)", name, step+1, p, err, q, err2)
			}
			if a, b := got.Tensor().F32, want.Tensor().F32; !slices.Equal(a, b) {
				t.Errorf("%s, step %d: w is %v, undisturbed %v", name, step+1, a, b)
			}
			for i, m := range failed.Moments() {
				if b := calm.Moments()[i]; !slices.Equal(m.F32, b.F32) {
					t.Errorf("%s, step %d: %s is %v, undisturbed %v", name, step+1, m.Name, m.F32, b.F32)
				}
			}
		}
	}
}

// An update that overflows is an error of its step, with the parameter's name, and is not saved.
func TestUpdateOverflows(t *testing.T) {
	for name, tc := range map[string]struct {
		optimizer Optimizer
		rate, x   float64 // x is the gradient
		want      string
	}{
		"sgd's weight":        {sgd, 3e38, 3, "step 1: after the update: w: entry 0 is -Inf"},
		"sgd's momentum":      {sgd, 1e-39, 1.5e38, "step 3: after the update: w: entry 0 is -Inf"},
		"adamw's weight":      {adamw, 1e39, 3, "step 1: after the update: w: entry 0 is -Inf"},
		"adamw's mean square": {adamw, 1e-3, 1e25, "step 1: after the update: v.w: entry 0 is +Inf"},
	} {
		training := Training{LearningRate: tc.rate, GradientAccumulationSteps: 1, Beta1: .9, Beta2: .99}
		core, w := descent(t, training, tc.optimizer, func(int, int) float64 { return tc.x }, func(task *Task) {
			build := task.Build
			task.Build = func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
				_, params, err := build(g)
				return params[0].Mul(g.Leaves()[1]).SumAll(), params, err
			}
		})
		var err error
		for range 3 {
			if err == nil {
				_, err = core.Step()
			}
		}
		if !errors.Is(err, graph.ErrNotFinite) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %s", name, err, tc.want)
		}
		var b bytes.Buffer
		if WriteTensors(&b, Parameters([]graph.Expr{*w}), nil, "") == nil && core.writeMoments(&b) == nil {
			t.Errorf("%s: what is not finite is written", name)
		}
	}
}

// A user-defined optimizer gets the Training, and is built once. The decay and the clip reach it.
func TestOwnOptimizer(t *testing.T) {
	built := 0
	own := func(t Training) optim.Rule {
		built++
		return optim.SGD{Momentum: t.Beta1}
	}
	build := func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		w := g.Root().Param("w", graph.Const(1), 2, 2)
		return w.SumAll(), g.Params(), g.Err()
	}
	task := Task{Build: build, Optimizer: own}
	core, err := New(Training{Beta1: 0.5, WeightDecay: 0.25, GradClip: 3}, Run{Threads: 1}, task)
	if err != nil || built != 1 {
		t.Fatalf("got error %v, built %d times", err, built)
	}
	if o := core.optimizer; o.Decay != 0.25 || o.Clip != 3 {
		t.Errorf("got decay %v and clip %v, want 0.25 and 3", o.Decay, o.Clip)
	}
	_, err = New(Training{Beta1: 1.5, Optimizer: "own"}, Run{Threads: 1}, task)
	contains(t, err, `optimizer "own": sgd: momentum: got 1.5, want a number, 0 ≤ x < 1`)
	task.Optimizer = func(Training) optim.Rule { return nil }
	_, err = New(Training{Optimizer: "own"}, Run{Threads: 1}, task)
	contains(t, err, `optimizer "own": Task.Optimizer has returned no Rule`)
}

// New returns an error if a network cannot be built or has no loss.
func TestNewErrors(t *testing.T) {
	boom := errors.New("boom")
	for want, build := range map[string]func(g *graph.Graph) (graph.Expr, []graph.Expr, error){
		"boom": func(*graph.Graph) (graph.Expr, []graph.Expr, error) { return graph.Expr{}, nil, boom },
		"want a scalar": func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			w := g.Root().Param("w", graph.Const(2), 1, 2)
			return w.Square(), g.Params(), nil
		},
	} {
		core, err := New(Training{}, Run{Threads: 1}, Task{Build: build, Optimizer: adamw})
		if core != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v and error %v, want %q", core, err, want)
		}
	}
}

// A checkpoint has the moments of every parameter that has some, even of a single number, and no best loss before the
// first evaluation.
func TestStateOfMoments(t *testing.T) {
	task := Task{Optimizer: adamw, Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		return g.Root().Param("w", graph.Const(2), 1, 1).Square().SumAll(), g.Params(), nil
	}}
	core, err := New(Training{}, Run{Threads: 1}, task)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range core.Moments() {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"m.w", "v.w"}) {
		t.Errorf("got moments %v", names)
	}
	if s, err := StateOf(core, 1, 0); err != nil || s.Best != nil || s.Batches != nil || s.Corpus != "" {
		t.Errorf("got %+v (%v), want no best loss, no batches and no corpus", s, err)
	}
	task.Corpus, task.Batches = func() string { return "sum" }, rand.NewPCG(1, 2)
	if core, err = New(Training{}, Run{Threads: 1}, task); err != nil {
		t.Fatal(err)
	}
	core.Best, core.Done = -1.5, 3
	s, err := StateOf(core, 2, 7)
	core.Best = -2
	if err != nil || s.Best == nil || *s.Best != -1.5 || s.Step != 3 || s.Format != 2 || s.Corpus != "sum" ||
		s.Config != 7 {
		t.Errorf("got %+v (%v)", s, err)
	}
	if again := new(rand.PCG); again.UnmarshalBinary(s.Batches) != nil || *again != *task.Batches {
		t.Errorf("got batches %x", s.Batches)
	}
	core.Best = math.NaN()
	contains(t, second(StateOf(core, 2, 7)), "Best: got NaN")
}

// A build is described by what the Go command recorded.
func TestThisBuild(t *testing.T) {
	want := Build{Version: "devel", Go: runtime.Version(), Arch: runtime.GOARCH, Instructions: graph.Instructions(),
		Arithmetic: arithmetic}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Skip("the program has no build information")
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOAMD64":
			want.GoAMD64 = s.Value
		case "-tags":
			want.Tags = s.Value
		}
	}
	if got := ThisBuild(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Equal bits are promised for one release of Go, on every processor. Before there was a version of the arithmetic, they
// were promised for one compiler with the same settings, on either of the vector instruction sets.
func TestSameBits(t *testing.T) {
	b := Build{"v1", "go1.26.8", "amd64", "v1", "", "AVX512", 0}
	vary := func(set func(*Build)) Build { v := b; set(&v); return v }
	for _, c := range []struct {
		other Build
		want  bool
	}{
		{b, true},
		{vary(func(b *Build) { b.Version = "v2" }), true},
		{vary(func(b *Build) { b.Instructions = "AVX2" }), true},
		{vary(func(b *Build) { b.Instructions = "" }), true},
		{vary(func(b *Build) { b.Instructions = "Go" }), false},
		{vary(func(b *Build) { b.Go = "go1.26.9" }), false},
		{vary(func(b *Build) { b.Arch = "arm64" }), false},
		{vary(func(b *Build) { b.GoAMD64 = "v3" }), false},
		{vary(func(b *Build) { b.Tags = "nosimd" }), false},
		{vary(func(b *Build) { b.Tags = "mpi,mpicc" }), true},
		{vary(func(b *Build) { b.Arithmetic = 1 }), false},
	} {
		if got := b.SameBits(c.other); got != c.want || c.other.SameBits(b) != got {
			t.Errorf("%s and %s: got %t, want %t", b, c.other, got, c.want)
		}
	}
	b.Arithmetic = 1
	for _, c := range []struct {
		other Build
		want  bool
	}{
		{b, true},
		{Build{"v2", "go1.26.9", "riscv64", "", "nosimd", "Go", 1}, true},
		{vary(func(b *Build) { b.Go = "go1.27.0" }), false},
		{vary(func(b *Build) { b.Arithmetic = 2 }), false},
		{vary(func(b *Build) { b.Go = "devel" }), false},
	} {
		if got := b.SameBits(c.other); got != c.want || c.other.SameBits(b) != got {
			t.Errorf("%s and %s: got %t, want %t", b, c.other, got, c.want)
		}
	}
}

// Blocks whose activations are dropped need less memory, and compute the same.
func TestRecompute(t *testing.T) {
	var loss [2]float64
	var bytes [2]int
	for i, recompute := range []bool{false, true} {
		core, err := New(Training{LearningRate: 0.01, GradientAccumulationSteps: 1, Optimizer: "sgd", Kernels: true},
			Run{Threads: 1, Recompute: recompute}, Task{
				Blocks: []string{"h.0", "h.1", "h.2"},
				Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
					x := g.Root().Param("x", graph.Normal(1), 64, 64)
					for j := range 3 {
						x = x.In(g.Root().Sub("h.%d", j))
						for range 4 {
							x = x.Tanh().Scale(1.5)
						}
					}
					return x.In(g.Root()).Square().SumAll(), g.Params(), nil
				},
				Fill: func(int, int) (int, error) { return 1, nil }, Optimizer: adamw,
			})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p, err := core.Step()
			if err != nil {
				t.Fatal(err)
			}
			loss[i] = p.Loss
		}
		bytes[i] = core.graph.Bytes()
	}
	if loss[0] != loss[1] || bytes[1] >= bytes[0] {
		t.Errorf("losses %v, and %v bytes, want fewer with Recompute", loss, bytes)
	}
}
