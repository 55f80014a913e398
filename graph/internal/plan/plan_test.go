package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// memory is a Buffer of a test.
type memory struct {
	size     int
	optional bool
	now      Numbers
}

func (b *memory) Len() int       { return b.size }
func (b *memory) Optional() bool { return b.optional }
func (b *memory) Bind(n Numbers) { b.now = n }

func input(values ...float64) *Op {
	return &Op{Name: "input", Value: Numbers{F64: values}, Forward: true}
}

// mixed returns an operation whose entry i is a sum over the inputs, with scratch that it fills with nonsense and a
// state that it writes: twice its result.
func mixed(size int, runs *int, inputs ...*Op) *Op {
	scratch, state := &memory{size: size}, &memory{size: size}
	return &Op{
		Name: "mixed", Inputs: inputs, Out: &memory{size: size}, Fills: []Buffer{scratch, state}, Forward: true,
		Run: func(out Numbers, in []Numbers) func() error {
			return func() error {
				*runs++
				for i := range out.F64 {
					scratch.now.F64[i] = -1e9
					sum := 0.1
					for k, x := range in {
						sum += float64(k+1) * x.F64[i%len(x.F64)]
					}
					out.F64[i], state.now.F64[i] = sum, 2*sum
				}
				return nil
			}
		},
	}
}

// difference returns an operation of the backward pass on the state of an operation, and on others.
func difference(of *Op, others ...*Op) *Op {
	state := of.Fills[1].(*memory)
	o := mixed(state.size, new(int), others...)
	run := o.Run
	o.Forward, o.Uses = false, []Buffer{state}
	o.Run = func(out Numbers, in []Numbers) func() error {
		inner := run(out, in)
		return func() error {
			if err := inner(); err != nil {
				return err
			}
			for i, x := range state.now.F64 {
				out.F64[i] -= x
			}
			return nil
		}
	}
	return o
}

// build returns a random program of a forward and a backward pass, which is the same for the same seed.
func build(seed uint64, places bool) (ops []*Op, runs *int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	runs = new(int)
	ops = append(ops, input(1, 2, 3), input(4, 5))
	for layer := range 4 {
		place := ""
		if places && layer > 0 {
			place = fmt.Sprint("h.", layer)
		}
		for range 5 {
			o := mixed(1+rng.IntN(40), runs, ops[len(ops)-1], ops[max(0, len(ops)-1-rng.IntN(4))])
			o.Place, o.Output, o.Once = place, rng.IntN(8) == 0, rng.IntN(8) == 0
			ops = append(ops, o)
		}
	}
	last := len(ops) - 1
	ops[last].Output = true
	grad := ops[last]
	for i := last; i > 1; i-- {
		grad = difference(ops[i], grad)
		grad.Output = rng.IntN(4) == 0
		ops = append(ops, grad)
	}
	grad.Output = true
	return ops, runs
}

func results(t *testing.T, ops []*Op, a *Arena) (list [][]float64) {
	t.Helper()
	p := mustPlan(t, ops, a)
	for range 2 { // the second run finds the memory of the first
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range ops {
		if o.Output {
			list = append(list, slices.Clone(p.Result(o).F64))
		}
	}
	return list
}

// inside returns the number of operations whose results stay in their place.
func inside(ops []*Op) (n int) {
	for _, o := range ops {
		leaves := o.Place == "" || o.Output || o.Once
		for _, reader := range ops {
			leaves = leaves || reader.Forward && reader.Place != o.Place && slices.Contains(reader.Inputs, o)
		}
		if !leaves {
			n++
		}
	}
	return n
}

// Sharing memory and computing results twice give the same bits, each in less memory.
func TestSharing(t *testing.T) {
	var sizes [3]int
	for seed := range uint64(50) {
		ops, _ := build(seed, false)
		apart, shared, dropped := &Arena{Double: true, NoAlias: true}, &Arena{Double: true}, &Arena{Double: true}
		want := results(t, ops, apart)
		if got := results(t, ops, shared); !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("seed %d: shared memory gives other results", seed)
		}
		again, runs := build(seed, true)
		if got := results(t, again, dropped); !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("seed %d: results that are computed twice differ", seed)
		}
		if want := 2 * (20 + inside(again)); *runs != want {
			t.Errorf("seed %d: %d operations ran in two runs, want %d", seed, *runs, want)
		}
		sizes[0] += apart.Bytes()
		sizes[1] += shared.Bytes()
		sizes[2] += dropped.Bytes()
	}
	if !(sizes[0] > sizes[1]*4/3 && sizes[1] > sizes[2]) {
		t.Errorf("%d bytes apart, %d shared, %d recomputed", sizes[0], sizes[1], sizes[2])
	}
}

// Programs of one arena run in turns; a smaller one after a larger one needs no more memory.
func TestArenaIsShared(t *testing.T) {
	large, _ := build(1, false)
	small := large[:5]
	a := &Arena{Double: true}
	want := results(t, large, a)
	bytes := a.Bytes()
	first := &a.numbers.F64[0]
	results(t, small, a)
	if got := results(t, large, a); a.Bytes() != bytes || first != &a.numbers.F64[0] ||
		!slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d bytes after %d, or others", a.Bytes(), bytes)
	}
}

// An optional result has memory only if an operation returns it.
func TestOptional(t *testing.T) {
	for _, returned := range []bool{false, true} {
		extra := &memory{size: 7, optional: true}
		first := &Op{Name: "first", Out: &memory{size: 3}, Fills: []Buffer{extra},
			Run: func(Numbers, []Numbers) func() error {
				return func() error {
					if got, want := extra.now.Len() > 0, returned; got != want {
						return errors.Errorf("%d entries", extra.now.Len())
					}
					return nil
				}
			}}
		ops := []*Op{first}
		if returned {
			ops = append(ops, &Op{Name: "second", Inputs: ops, Out: extra, Run: func(Numbers, []Numbers) func() error {
				return func() error { return nil }
			}})
		}
		if err := mustPlan(t, ops, &Arena{}).Run(); err != nil {
			t.Error(err)
		}
	}
}

// An error and a panic contain the operation's name, and nothing runs after them.
func TestErrors(t *testing.T) {
	for want, f := range map[string]func() error{
		"h.0: glass: broken": func() error { return errors.New("broken") },
		"h.0: glass: fell":   func() error { panic("fell") },
	} {
		runs := 0
		x := input(1)
		glass := &Op{Name: "h.0: glass", Inputs: []*Op{x}, Run: func(Numbers, []Numbers) func() error { return f }}
		err := mustPlan(t, []*Op{x, glass, mixed(3, &runs, x)}, &Arena{Double: true}).Run()
		if err == nil || !strings.HasPrefix(err.Error(), want) || runs > 0 {
			t.Errorf("got error %v and %d runs, want %s", err, runs, want)
		}
	}
}

// Every slot begins a cache line of 64 bytes, and no line is unused between two slots.
func TestLines(t *testing.T) {
	ops := []*Op{input(1)}
	for _, size := range []int{16, 17, 1, 32} {
		o := mixed(size, new(int), ops[0])
		o.Fills, o.Output = nil, true
		o.Run = func(out Numbers, in []Numbers) func() error { return func() error { return nil } }
		ops = append(ops, o)
	}
	var a Arena
	p := mustPlan(t, ops, &a)
	if want := 4 * (16 + 32 + 16 + 32); a.Bytes() != want {
		t.Errorf("the arena has %d bytes, want %d", a.Bytes(), want)
	}
	begins := map[int]bool{}
	for _, o := range ops[1:] {
		for i := range a.numbers.F32 {
			if &a.numbers.F32[i] == &p.Result(o).F32[0] {
				begins[i] = true
			}
		}
	}
	for _, want := range []int{0, 32, 64, 80} { // 32 and 17 floats, 16, 1
		if !begins[want] {
			t.Errorf("no slot begins at float %d: %v", want, begins)
		}
	}
}

// A result that lies elsewhere is not a buffer of the arena, even if it is read after the run.
func TestResultElsewhere(t *testing.T) {
	ran := false
	o := &Op{Name: "elsewhere", Inputs: []*Op{input(7)}, Value: Numbers{F64: []float64{5}}, Output: true, Forward: true}
	o.Run = func(out Numbers, in []Numbers) func() error {
		return func() error {
			if ran = true; out.Len() != 0 || in[0].F64[0] != 7 {
				t.Errorf("got out %v and in %v", out, in)
			}
			return nil
		}
	}
	p := mustPlan(t, []*Op{o.Inputs[0], o}, &Arena{Double: true})
	if err := p.Run(); err != nil || !ran || p.Result(o).F64[0] != 5 {
		t.Errorf("got %v, %v, %v", err, ran, p.Result(o))
	}
}

// An operation is computed again only if its place drops it. Values, results that lie elsewhere, results read after the
// run or outside, operations that may run once, and the backward pass are not.
func TestDropped(t *testing.T) {
	run := func(Numbers, []Numbers) func() error { return func() error { return nil } }
	op := func(change func(o *Op)) *Op {
		o := &Op{Out: &memory{size: 3}, Run: run, Forward: true, Place: "h"}
		change(o)
		return o
	}
	for name, c := range map[string]struct {
		change  func(o *Op)
		reader  *Op
		dropped bool
	}{
		"inside":                {func(*Op) {}, &Op{Forward: true, Place: "h"}, true},
		"read elsewhere":        {func(*Op) {}, &Op{Forward: true, Place: "h.1"}, false},
		"read by the backward":  {func(*Op) {}, &Op{}, true},
		"of the backward pass":  {func(o *Op) { o.Forward = false }, nil, false},
		"a value":               {func(o *Op) { o.Run = nil }, nil, false},
		"elsewhere":             {func(o *Op) { o.Out = nil }, nil, false},
		"read after the run":    {func(o *Op) { o.Output = true }, nil, false},
		"once":                  {func(o *Op) { o.Once = true }, nil, false},
		"nowhere":               {func(o *Op) { o.Place = "" }, nil, false},
		"nowhere, read nowhere": {func(o *Op) { o.Place = "" }, &Op{Forward: true}, false},
	} {
		o := op(c.change)
		ops := []*Op{o}
		if c.reader != nil {
			c.reader.Inputs = ops
			ops = append(ops, c.reader)
		}
		places := dropped(ops)
		if _, found := places[o]; found != c.dropped || len(places) > 1 {
			t.Errorf("%s: got %v, want %t", name, places, c.dropped)
		}
		if c.dropped && places[o] != "h" {
			t.Errorf("%s: dropped in %q", name, places[o])
		}
	}
}

// The largest slot lies first, each of the others at the lowest address that is free for all of its life, even in an
// exact gap between two others. The order of the given list is preserved.
func TestLayout(t *testing.T) {
	l := func(size, first, last int) *life {
		return &life{slot: slot{buffer: &memory{size: size}}, first: first, last: last}
	}
	for _, double := range []bool{false, true} {
		low, middle, high, gap, wide := l(64, 0, 9), l(48, 0, 3), l(48, 0, 9), l(48, 4, 5), l(16, 6, 9)
		all := []*life{wide, middle, high, gap, low}
		order := slices.Clone(all)
		a := Arena{Double: double}
		if numbers, err := a.layout(nil); err != nil || len(numbers) != 0 || a.Bytes() != 0 {
			t.Errorf("an empty arena has %d bytes", a.Bytes())
		}
		numbers, err := a.layout(all)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range map[*life]int{low: 0, middle: 64, high: 112, gap: 64, wide: 64} {
			if i.from != want || numbers[i.slot].Len() != i.buffer.Len() {
				t.Errorf("%d numbers from %d on, want %d", i.buffer.Len(), i.from, want)
			}
		}
		if want := 160 * map[bool]int{false: 4, true: 8}[double]; a.Bytes() != want || !slices.Equal(all, order) {
			t.Errorf("%d bytes, want %d", a.Bytes(), want)
		}
	}
}

// A used buffer is bound to its last content, even after another program has run.
func TestUsesAreBound(t *testing.T) {
	state := &memory{size: 3}
	nothing := func(Numbers, []Numbers) func() error { return func() error { return nil } }
	first := &Op{Name: "first", Fills: []Buffer{state}, Run: nothing, Forward: true}
	seen := Numbers{}
	second := &Op{Name: "second", Uses: []Buffer{state}, Run: func(Numbers, []Numbers) func() error {
		return func() error { seen = state.now; return nil }
	}}
	p := mustPlan(t, []*Op{first, second}, &Arena{Double: true})
	for range 2 {
		state.Bind(Numbers{})
		if err := errors.Wrap(p.steps[1].do(), "alone"); err != nil || seen.Len() != 3 {
			t.Errorf("got %d numbers and error %v, want 3", seen.Len(), err)
		}
	}
}

// A chain of any length takes the memory of two results: only those read after the run are kept.
func TestChain(t *testing.T) {
	ops := []*Op{input(1)}
	for range 9 {
		o := mixed(16, new(int), ops[len(ops)-1])
		run := func(Numbers, []Numbers) func() error { return func() error { return nil } }
		o.Fills, o.Run = nil, run
		ops = append(ops, o)
	}
	a := &Arena{Double: true}
	if mustPlan(t, ops, a); a.Bytes() != 2*16*8 {
		t.Errorf("%d bytes, want %d", a.Bytes(), 2*16*8)
	}
}

// A further result keeps its numbers from the operation that fills it to the one that returns it.
func TestFurtherResult(t *testing.T) {
	further := &memory{size: 16, optional: true}
	fill := func(x float64, b *memory) func(out Numbers, in []Numbers) func() error {
		return func(out Numbers, _ []Numbers) func() error {
			return func() error {
				for i := range out.F64 {
					out.F64[i] = x
				}
				if b != nil {
					copy(b.now.F64, slices.Repeat([]float64{7}, 16))
				}
				return nil
			}
		}
	}
	first := &Op{Name: "first", Out: &memory{size: 16}, Fills: []Buffer{further}, Run: fill(1, further)}
	ops := []*Op{first}
	for range 3 {
		ops = append(ops, &Op{Name: "other", Inputs: ops[len(ops)-1:], Out: &memory{size: 16}, Run: fill(2, nil)})
	}
	part := &Op{
		Name: "part", Inputs: []*Op{first}, Out: further, Output: true,
		Run: func(Numbers, []Numbers) func() error { return func() error { return nil } },
	}
	p := mustPlan(t, append(ops, part), &Arena{Double: true})
	if err := p.Run(); err != nil || !slices.Equal(p.Result(part).F64, slices.Repeat([]float64{7}, 16)) {
		t.Errorf("got %v, error %v, want 7", p.Result(part).F64, err)
	}
}

func mustPlan(t *testing.T, ops []*Op, a *Arena) *Program {
	t.Helper()
	p, err := New(ops, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
