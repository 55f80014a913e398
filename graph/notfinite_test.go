package graph

import (
	"math"
	"testing"

	"github.com/pkg/errors"
)

// NotFinite names the first operation whose result is NaN or +∞, or else one of −∞, and leaves no value behind.
func TestNotFinite(t *testing.T) {
	g := New(Float32, 1)
	s := g.Root().Sub("h.0")
	x := s.Param("x", Const(1), 2, 3)
	p, err := Compile(x.Log().Scale(-1).Scale(-1).Exp().SumAll(), x) // −∞ of 0 becomes +∞, and then −∞ and 0
	if err != nil {
		t.Fatal(err)
	}
	q, err := Compile(x.Log().Exp().SumAll())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x    float64
		p, q string
	}{
		{2, "", ""},
		{0, "h.0: scale by -1: row 1 of 2, column 1 is +Inf", "h.0: log: row 1 of 2, column 1 is -Inf"},
		{-1, "h.0: log: row 1 of 2, column 1 is NaN", "h.0: log: row 1 of 2, column 1 is NaN"},
	} {
		if err := x.Tensor().Set(4, c.x); err != nil {
			t.Fatal(err)
		}
		for program, want := range map[*Program]string{p: c.p, q: c.q} {
			if err := program.Run(); err != nil {
				t.Fatal(err)
			}
			err := program.NotFinite()
			if want != "" {
				want += ": not finite"
			}
			if err == nil && want != "" || err != nil && (!errors.Is(err, ErrNotFinite) || err.Error() != want) {
				t.Errorf("x = %v: got %v, want %q", c.x, err, want)
			}
			if !math.IsNaN(program.Loss()) {
				t.Errorf("x = %v: got the loss %v, want none before the next run", c.x, program.Loss())
			}
		}
	}
	if err := (*Program)(nil).NotFinite(); err == nil {
		t.Error("nil: no error")
	}
}
