package graph

import "testing"

// A run fails on a position outside the sequence, and on one declared as ignored, in both forms.
func TestRunRefusesPlaces(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x, at := g.Root().Value("x", Normal(1), 6, 2), g.Root().Ints("at", 2, 3, -1)
		y, ok := GatherTokens(x, at)
		if !ok {
			y = at.OneHot(3)
		}
		p := mustCompile(t, y)
		for place, want := range map[int]string{-1: "at[1] is -1, not in 0 … 2", 3: "at[1] is 3, not in 0 … 2", 2: ""} {
			at.Ints()[1] = place
			if err := p.Run(); err == nil && want != "" || err != nil && err.Error() != want {
				t.Errorf("kernels %t, place %d: got %v, want %s", kernels, place, err, want)
			}
		}
	}
}
