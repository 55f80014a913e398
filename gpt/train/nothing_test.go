package train

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Whatever is nil or was not built is an error that says so.
func TestNothing(t *testing.T) {
	core, write := two(t, Training{}), func(io.Writer) error { return nil }
	weights := func(c *Core, step int, write func(io.Writer) error) error {
		return c.Files(step, write, 0)[0].Write(io.Discard)
	}
	batches := func(yield func(float64, error) bool) { yield(1, errors.New("no batch")) }
	var none context.Context
	var state State[int]
	for _, test := range []struct {
		err  error
		want string
	}{
		{(*Core)(nil).Attend(), "nothing to train"},
		{(&Core{}).Attend(), "nothing to train"},
		{core.Attend(), ""},
		{weights(nil, 0, write), "nothing to train"},
		{weights(core, 0, nil), ""},
		{WriteWeights(io.Discard, nil), "weights: graph: got nil"},
		{ReadWeights(nil, nil), "weights: graph: got nil"},
		{(*Core)(nil).Averaged(nil), "nothing to train"},
		{core.Averaged(nil), "averaged: the function that builds the network is nil"},
		{weights(core, 1, write), "files of step 1: got step 0 since"},
		{weights(core, 0, write), ""},
		{core.Losses(t.Context(), nil, func([]float64, float64) {}), "is nil"},
		{core.Losses(t.Context(), batches, nil), "is nil"},
		{core.Losses(t.Context(), batches, func([]float64, float64) { t.Error("used") }), "no batch"},
		{second(StateOf((*Core)(nil), 1, 0)), "nothing to train"},
		{(*State[int])(nil).Check(&checkpoint.Checkpoint{}, 1), "the state or its checkpoint is nil"},
		{state.Check(nil, 1), "the state or its checkpoint is nil"},
		{PeekJSON(nil, StateFile, new(int)), "got nil"},
		{second(lossNow(t.Context(), nil)), "nothing to train"},
		{second(lossNow(t.Context(), &Core{})), "nothing to train"},
		{second(lossNow(none, core)), "no context"},
		{second((&Core{}).Step()), "nothing to train"},
	} {
		if test.want != "" {
			contains(t, test.err, test.want)
		} else if test.err != nil {
			t.Errorf("got error %v, want none", test.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// One goroutine at a time uses a Core, until its context ends.
func TestInUse(t *testing.T) {
	core := two(t, Training{})
	ended, end := context.WithCancel(t.Context())
	end()
	contains(t, second(lossNow(ended, core)), "evaluate: context canceled")
	core.busy.Lock()
	contains(t, second(core.Step()), "in use by another goroutine")
	contains(t, second(lossNow(t.Context(), core)), "in use by another goroutine")
	contains(t, second(StateOf(core, 1, 0)), "in use by another goroutine")
	contains(t, core.Attend(), "in use by another goroutine")
	contains(t, core.Files(0, core.writeMoments, 0)[0].Write(io.Discard), "files of step 0: trainer: in use by another")
	core.busy.Unlock()
	batches := func(yield func(float64, error) bool) {
		contains(t, second(core.Step()), "trainer: in use by another goroutine")
		yield(1, nil)
	}
	err := core.Losses(t.Context(), batches, func([]float64, float64) {
		contains(t, second(core.Step()), "trainer: in use by another goroutine")
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := core.Step(); err != nil {
		t.Error(err)
	}
}

// Losses passes the loss of every batch, and their mean by weight.
func TestLosses(t *testing.T) {
	var w graph.Expr
	core, err := New(Training{}, Run{Threads: 1}, Task{Optimizer: adamw,
		Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			w = g.Root().Param("w", graph.Const(2), 1, 1)
			return w.Square().SumAll(), g.Params(), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	batches := func(yield func(float64, error) bool) {
		for _, x := range []float64{1, 3, 2} {
			w.Tensor().Set(0, x)
			if !yield(x, nil) {
				return
			}
		}
	}
	err = core.Losses(t.Context(), batches, func(losses []float64, mean float64) {
		if want := (1. + 27 + 8) / 6; !slices.Equal(losses, []float64{1, 9, 4}) || mean != want {
			t.Errorf("got losses %v and mean %v, want [1 9 4] and %v", losses, mean, want)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// failing is a rule that is refused.
type failing struct{ error }

func (f failing) State() (optim.State, error) { return optim.State{Name: "failing"}, f.error }
func (failing) Step(optim.Step)               {}

// An optimizer that is missing or fails is an error, and so are no batches and frozen parameters that do not exist.
func TestTaskErrors(t *testing.T) {
	fault := errors.New("fault")
	build := func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		return g.Root().Param("w", graph.Const(2), 1, 2).Square().SumAll(), g.Params(), g.Err()
	}
	fill := func(int, int) (int, error) { return 1, nil }
	training := Training{LearningRate: 0.1, GradientAccumulationSteps: 1}
	with := func(change func(*Training, *Task)) func() error {
		t, task := training, Task{Build: build, Fill: fill, Optimizer: adamw}
		change(&t, &task)
		return func() error { return second(New(t, Run{Threads: 1}, task)) }
	}
	// carrying returns a task that carries s.x, of the given shape, to the state after.
	carrying := func(after func(x graph.Expr) graph.Expr, shape ...int) func() error {
		return with(func(_ *Training, task *Task) {
			var x graph.Expr
			task.Build = func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
				x = g.Root().Value("s.x", graph.Const(0), shape...)
				return build(g)
			}
			task.Carried = func() []Carried { return []Carried{{x, after(x)}} }
		})
	}
	twice := func(x graph.Expr) graph.Expr { return x.Scale(2) }
	for want, f := range map[string]func() error{
		"Task.Optimizer is nil": func() error {
			return second(New(training, Run{Threads: 1}, Task{Build: build, Fill: fill}))
		},
		"Task.Optimizer has returned no Rule": func() error {
			none := func(Training) optim.Rule { return nil }
			return second(New(training, Run{Threads: 1}, Task{Build: build, Fill: fill, Optimizer: none}))
		},
		"fault": func() error {
			failed := func(Training) optim.Rule { return failing{fault} }
			err := second(New(training, Run{Threads: 1}, Task{Build: build, Fill: fill, Optimizer: failed}))
			if !errors.Is(err, fault) {
				t.Errorf("got error %v, want %v", err, fault)
			}
			return err
		},
		"Task.Fill is nil": func() error {
			core, err := New(training, Run{Threads: 1}, Task{Build: build, Optimizer: adamw})
			if err != nil {
				return err
			}
			return second(core.Step())
		},
		"carry: s.x: got shape [2], want a matrix": carrying(twice, 2),
		"carry: s.x: got shape [2 3], want a matrix": carrying(
			func(graph.Expr) graph.Expr { return graph.Expr{} }, 2, 3,
		),
		"carried: panic: stone": carrying(func(graph.Expr) graph.Expr { panic("stone") }, 2, 3),
		"loads: panic: stone":   with(func(_ *Training, t *Task) { t.Loads = func() []nn.Load { panic("stone") } }),
		"evaluated: panic: stone": with(func(_ *Training, t *Task) {
			t.Evaluated = func() graph.Expr { panic("stone") }
		}),
		"evaluated: the loss is not of the graph": with(func(_ *Training, t *Task) {
			t.Evaluated = func() graph.Expr { return graph.Expr{} }
		}),
		"trainer: schedule: got steep, want one of": with(func(t *Training, _ *Task) { t.Schedule = "steep" }),
		"trainer: ema: got 1, want":                 with(func(t *Training, _ *Task) { t.EMA = 1 }),
		`optimizer "heavy": panic: stone`: with(func(t *Training, task *Task) {
			t.Optimizer, task.Optimizer = "heavy", func(Training) optim.Rule { panic("stone") }
		}),
		"trainer: gradient_accumulation_steps: got 1": with(func(_ *Training, t *Task) { t.Group = &sent{} }),
		"frozen: got x*": func() error {
			frozen := training
			frozen.Frozen = Frozen{"x*"}
			return second(New(frozen, Run{Threads: 1}, Task{Build: build, Fill: fill, Optimizer: adamw}))
		},
	} {
		contains(t, f(), want)
	}
}

// The nearest names match a pattern's parts before the first star and after the last one; the list stays as it is.
func TestNearest(t *testing.T) {
	list := []string{"wte.weight", "h.0.attn.c_attn.weight", "h.0.mlp.c_fc.bias", "h.1.attn.c_attn.bias", "ln_f.weight"}
	before := slices.Clone(list)
	for pattern, want := range map[string]string{
		"wtf.weight": "wte.weight", "h.2.*.c_atn.bias": "h.1.attn.c_attn.bias",
		"h.0.*_fd.bias": "h.0.mlp.c_fc.bias", "ln*x.weight": "ln_f.weight",
	} {
		if got := nearest(pattern, list); len(got) != 4 || got[0] != want {
			t.Errorf("%s: got %q, want %s first of 4", pattern, got, want)
		}
		contains(t, Frozen{pattern}.Check(list), "the nearest are "+want)
	}
	if !slices.Equal(list, before) {
		t.Errorf("the names are now %q", list)
	}
	contains(t, Frozen{"h[0"}.Check(list), "frozen: got h[0: want a name, * for any letters")
	contains(t, Frozen{"*"}.Check(list), "all of the 5 parameters")
	contains(t, Frozen{"w*", "h*", "l*"}.Check(list), "all of the 5 parameters")
	if err := (Frozen{"h*"}).Check(list); err != nil {
		t.Error(err)
	}
	if err := (Frozen{}).Check(nil); err != nil {
		t.Error(err)
	}
}

// Files are indented by two spaces.
func TestWriteJSONIndents(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(map[string]int{"a": 1})(&b); err != nil || b.String() != "{\n  \"a\": 1\n}\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// The memory limit is the run's, also if it is below a GiB.
func TestLimit(t *testing.T) {
	for limit, want := range map[float64]int64{0.5: 1 << 29, 1: 1 << 30, 0: graph.MachineMemory(), 1e30: 1<<62 - 1} {
		if err := (Run{MemoryLimit: limit}).CheckMemory(1, "a byte", nil); err != nil {
			t.Errorf("memory_limit %v: got error %v", limit, err)
		}
		if got := (Run{MemoryLimit: limit}).Limit(); got < want-1 || got > want+1 {
			t.Errorf("memory_limit %v: got %d bytes, want %d", limit, got, want)
		}
	}
	for n, want := range map[int]string{
		0: "gradient_accumulation_steps: got 0", -1: "gradient_accumulation_steps: got -1", 1: "",
	} {
		if err := (Training{GradientAccumulationSteps: n}).CheckRanks(1); want != "" {
			contains(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
	for _, limit := range []float64{-0.5, math.NaN()} {
		contains(t, Run{MemoryLimit: limit}.CheckMemory(1, "a byte", nil), "memory_limit: got")
	}
}

// lossNow returns the loss of the batch that is in the network.
func lossNow(ctx context.Context, c *Core) (loss float64, err error) {
	batch := func(yield func(float64, error) bool) { yield(1, nil) }
	err = c.Losses(ctx, batch, func(_ []float64, mean float64) { loss = mean })
	return loss, err
}
