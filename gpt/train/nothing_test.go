package train

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// Whatever is nil or was not built is an error that says so.
func TestNothing(t *testing.T) {
	core, write := two(t, Training{}), func(io.Writer) error { return nil }
	var none context.Context
	var state State[int]
	for _, test := range []struct {
		err  error
		want string
	}{
		{(*Core)(nil).WriteMoments(io.Discard), "no moments"},
		{(&Core{}).WriteMoments(io.Discard), "no moments"},
		{(*Core)(nil).Attend(), "no moments"},
		{(&Core{}).Attend(), "no moments"},
		{core.Attend(), ""},
		{(*Core)(nil).AtStep(write)(io.Discard), "is nil"},
		{core.AtStep(nil)(io.Discard), "is nil"},
		{core.AtStep(write)(io.Discard), ""},
		{(*State[int])(nil).Check(&checkpoint.Checkpoint{}, 1), "the state or its checkpoint is nil"},
		{state.Check(nil, 1), "the state or its checkpoint is nil"},
		{PeekJSON(nil, StateFile, new(int)), "got nil"},
		{second((*Core)(nil).Loss(t.Context())), "nothing to train"},
		{second((&Core{}).Loss(t.Context())), "nothing to train"},
		{second(core.Loss(none)), "no context"},
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
	contains(t, second(core.Loss(ended)), "evaluate: context canceled")
	core.busy.Lock()
	contains(t, second(core.Step()), "in use by another goroutine")
	contains(t, second(core.Loss(t.Context())), "in use by another goroutine")
	contains(t, core.AtStep(func(io.Writer) error { return nil })(io.Discard), "in use by another goroutine")
	core.busy.Unlock()
	if _, err := core.Step(); err != nil {
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

// The memory limit is that of the run, also if it is below a GiB.
func TestLimit(t *testing.T) {
	for limit, want := range map[float64]int64{0.5: 1 << 29, 1: 1 << 30, 0: graph.MachineMemory(), 1e30: 1<<62 - 1} {
		if got := (Run{MemoryLimit: limit}).Limit(); got < want-1 || got > want+1 {
			t.Errorf("memory_limit %v: got %d bytes, want %d", limit, got, want)
		}
	}
	for n, want := range map[int]string{0: "gradient_accumulation_steps: got 0", -1: "gradient_accumulation_steps: got -1", 1: ""} {
		if err := (Training{GradientAccumulationSteps: n}).CheckRanks(1); want != "" {
			contains(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
}
