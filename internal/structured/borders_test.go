package structured

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lowest is a source of the least random numbers: 0.
type lowest struct{}

func (lowest) Uint64() uint64 { return 0 }

// A setting may be at the border of its range but not beyond it, and one draw is enough.
func TestI48SettingsBorders(t *testing.T) {
	above := math.Nextafter(1, 2)
	for _, c := range []struct {
		set         func(*Settings, float64)
		inside, out []float64
		name        string
	}{
		{func(s *Settings, v float64) { s.Width, s.Tokens = int(v), 1 }, []float64{1, 9}, []float64{0, -1}, "width"},
		{func(s *Settings, v float64) { s.Tokens = int(v) }, []float64{0, 3}, []float64{-1, 4}, "tokens"},
		{func(s *Settings, v float64) { s.Drop = v }, []float64{0, 0.9}, []float64{-0.1, 1}, "drop"},
		{func(s *Settings, v float64) { s.Epsilon = v }, []float64{0, 1}, []float64{-0.1, above, 1.5}, "epsilon"},
		{func(s *Settings, v float64) { s.Share = v }, []float64{0, 1}, []float64{-0.1, above}, "share"},
		{func(s *Settings, v float64) { s.Draws = int(v) }, []float64{1, 2}, []float64{0}, "draws"},
	} {
		for _, v := range c.inside {
			s := paper()
			c.set(&s, v)
			table, err := Compare([][][]float64{sample(9, 1)}, s)
			if err != nil {
				t.Fatalf("%s of %v: %v", c.name, v, err)
			}
			for _, r := range table {
				if !(r.Distance >= 0 && r.Distance <= 81) {
					t.Errorf("%s of %v: %s is at %v", c.name, v, r.Approximant, r.Distance)
				}
			}
		}
		for _, v := range c.out {
			s := paper()
			c.set(&s, v)
			if _, err := Compare([][][]float64{sample(9, 1)}, s); err == nil ||
				!strings.Contains(err.Error(), c.name+": got") {
				t.Errorf("%s of %v: got %v", c.name, v, err)
			}
		}
	}
}

// Weights may be off by the rounding of float32, but not by more.
func TestI48WeightsBorders(t *testing.T) {
	s := paper()
	s.Tokens = 0
	for _, c := range []struct {
		a    [][]float64
		want string
	}{
		{nil, "got no rows"},
		{[][]float64{{1}}, ""},
		{[][]float64{{1 + 1e-4, 0}, {0.5, 0.5}}, ""},
		{[][]float64{{1.00015, 0}, {0.5, 0.5}}, "row 0, column 0: got weight 1.00015"},
		{[][]float64{{0.5, 0.50015}, {0.5, 0.5}}, "row 0: got sum 1.00015"},
		{[][]float64{{1, 0}, {0.25, 0.25}}, "row 1: got sum 0.5"},
	} {
		if _, err := Compare([][][]float64{c.a}, s); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.a, err, c.want)
		}
	}
}

// Groups may fill a matrix completely; a group contains its token and lies in the matrix.
func TestI48GroupsBorders(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for _, c := range []struct {
		n, w, count int
		ok          bool
	}{
		{8, 1, 8, true}, {9, 3, 3, true}, {8, 2, 0, true}, {0, 1, 0, true},
		{8, 0, 1, false}, {8, 2, -1, false}, {8, 3, 3, false}, {8, -2, 0, false},
	} {
		if groups, err := Groups(c.n, c.w, c.count, rng); (err == nil) != c.ok || err == nil && len(groups) != c.count {
			t.Errorf("%+v: got %v, %v", c, groups, err)
		}
	}
	for _, g := range []Group{{2, 3, 6}, {0, -1, 2}, {8, 7, 9}} {
		if _, err := Columns(8, g); err == nil {
			t.Errorf("%v: no error", g)
		}
	}
}

// A band narrower than the diagonal is the diagonal; entries outside the band count without their sign; and an event
// of probability 0 does not occur with the least number of a generator.
func TestI48BandBorders(t *testing.T) {
	a := [][]float64{{1, -2, 3}, {4, 5, -6}, {-7, 8, 9}}
	if diff := cmp.Diff([][]float64{{1, 0, 0}, {0, 5, 0}, {0, 0, 9}}, project(a, -1)); diff != "" {
		t.Error(diff)
	}
	equal(t, "outside of the diagonal", offBand(a, -1), 30)
	equal(t, "outside of the band", offBand(a, 1), 10)
	rng := rand.New(lowest{})
	if diff := cmp.Diff(identity(3), band(3, -2, 0.5, rng)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]float64{{0.5, 0.5}, {0.5, 0.5}}, band(2, 1, 0, rng)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(zeros(3), noise(3, 0.1, 0, rng)); diff != "" {
		t.Error(diff)
	}
}
