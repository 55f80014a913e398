package plan

import (
	"fmt"
	"testing"
)

// added returns an operation that adds 1 to its first input, over it if permitted.
func added(over bool, inputs ...*Op) *Op {
	o := mixed(40, new(int), inputs...)
	o.Fills, o.Over = nil, over
	o.Run = func(out Numbers, in []Numbers) func() error {
		return func() error {
			for i, v := range in[0].F64 {
				out.F64[i] = v + 1
			}
			return nil
		}
	}
	return o
}

// TestOver: a result lies over its first input if nothing else needs that input, also in a chain, and all results are
// the same as without.
func TestOver(t *testing.T) {
	for _, c := range []struct {
		needed     func(first *Op) []*Op // besides
		slots      int
		last, kept float64
	}{
		{func(*Op) []*Op { return nil }, 1, 4, 0},
		{func(first *Op) []*Op { first.Output = true; return nil }, 2, 4, 1}, // read after the run
		{func(first *Op) []*Op { return []*Op{added(false, first)} }, 3, 4, 2},
	} {
		for _, alone := range []bool{false, true} {
			x := input(make([]float64, 40)...)
			first := added(false, x)
			second := added(true, first)
			third := added(true, second)
			last := added(true, third)
			last.Output = true
			ops := []*Op{x, first, second, third, last}
			more := c.needed(first)
			for _, o := range more {
				o.Output = true
			}
			ops = append(ops, more...)
			a := &Arena{Double: true, NoAlias: alone}
			p := mustPlan(t, ops, a)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if got, want := a.Bytes(), 8*48*c.slots; !alone && got != want {
				t.Errorf("%d slots: the arena has %d bytes, want %d", c.slots, got, want)
			}
			if need := a.Need(ops); need != a.Bytes() {
				t.Errorf("%d bytes are said to be needed, want %d", need, a.Bytes())
			}
			got := fmt.Sprint(p.Result(last).F64[39])
			if want := fmt.Sprint(c.last); got != want {
				t.Errorf("the last result is %s, want %s", got, want)
			}
			if first.Output && p.Result(first).F64[0] != c.kept || len(more) > 0 && p.Result(more[0]).F64[0] != c.kept {
				t.Errorf("a result that is read again has been overwritten")
			}
		}
	}
}
