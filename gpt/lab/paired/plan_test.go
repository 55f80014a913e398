package paired

import (
	"math"
	"strings"
	"testing"
)

// equalLooks returns a plan of equal looks.
func equalLooks(number int, b Boundary) Plan {
	p := Plan{Boundary: b}
	for i := range number {
		p.Looks = append(p.Looks, 7*(i+1))
	}
	return p
}

// The constants are Pocock's (1977) and O'Brien and Fleming's (1979), as Jennison and Turnbull (2000) print them.
func TestPublishedBoundaries(t *testing.T) {
	for _, v := range []struct {
		number  int
		level   float64
		pocock  float64
		fleming float64
	}{
		{1, 0.05, 1.960, 1.960}, {2, 0.05, 2.178, 1.977}, {3, 0.05, 2.289, 2.004}, {4, 0.05, 2.361, 2.024},
		{5, 0.05, 2.413, 2.040},
		{10, 0.05, 2.555, 2.087}, {20, 0.05, 2.672, 2.126}, {3, 0.01, 2.873, 2.595}, {5, 0.01, 2.986, 2.621},
	} {
		for _, p := range []Plan{equalLooks(v.number, Pocock), equalLooks(v.number, OBrienFleming)} {
			for i, level := range p.levels(v.level) {
				want := v.pocock
				if p.Boundary == OBrienFleming {
					want = v.fleming * math.Sqrt(float64(v.number)/float64(i+1))
				}
				// The tables have three decimals.
				if z := quantile(level / 2); !(math.Abs(z-want) <= 0.0006*want) {
					t.Errorf(
						"%d looks, level %g, Δ = %g, look %d: got z = %.4f, want %.3f", v.number, v.level, p.Boundary,
						i, z, want,
					)
				}
			}
		}
	}
	levels, err := equalLooks(3, Pocock).Levels()
	if err != nil || math.Abs(levels[0]-0.0221) > 5e-5 || levels[1] != levels[0] {
		t.Errorf("got %v, %v, want 0.0221 of each look", levels, err)
	}
}

// Tests at 5 % at equal looks have the errors of Armitage, McPherson and Rowe (1969).
func TestRepeatedTests(t *testing.T) {
	for number, want := range map[int]float64{1: 0.050, 2: 0.083, 3: 0.107, 4: 0.126, 5: 0.142, 10: 0.193, 20: 0.248} {
		p := equalLooks(number, Pocock)
		if got := p.adjust(number-1, 0.05); !(math.Abs(got-want) <= 6e-4) {
			t.Errorf("%d looks: got %.4f, want %.3f", number, got, want)
		}
	}
}

// Two looks at any shares are a pair of normal numbers with the correlation √(n₁/n₂), whose probability is a single
// integral.
func TestUnequalLooks(t *testing.T) {
	for _, looks := range [][]int{{2, 10000}, {4, 16}, {4, 5}, {100, 101}, {9999, 10000}} {
		for _, b := range []Boundary{OBrienFleming, 0.3, Pocock} {
			p := Plan{looks, b}
			rho, c := math.Sqrt(p.shares()[0]), 2.1
			first := c * math.Pow(p.shares()[0], float64(b)-0.5)
			want, h := 2*tail(first), min(first, 9)/100_000
			for z := h / 2; z < min(first, 9); z += h {
				s := math.Sqrt(1 - rho*rho)
				want += 2 * h * normal(z) * (tail((c-rho*z)/s) + tail((c+rho*z)/s))
			}
			near(t, "crossing", p.crossing(p.shares(), c), want, 1e-8)
		}
	}
}

// The probability of the boundary through a level of a look is the level of the study, down to the smallest levels.
func TestLevelsAreAdjusted(t *testing.T) {
	for _, looks := range [][]int{{2, 3, 4, 9, 10}, {4, 8, 16}, {990, 995, 1000}} {
		for _, b := range []Boundary{OBrienFleming, 0.25, Pocock} {
			p := Plan{looks, b}
			for _, study := range []float64{0.5, 0.05, 0.005, 1e-6} {
				for i, level := range p.levels(study) {
					near(t, "adjusted", p.adjust(i, level), study, 1e-8)
					if level > study {
						t.Errorf("%v, look %d: got the level %g, want at most %g", looks, i, level, study)
					}
				}
			}
			for i := range looks {
				if p.adjust(i, 0) != 0 || p.adjust(i, 1) != 1 {
					t.Errorf("%v, look %d: got %g and %g, want 0 and 1", looks, i, p.adjust(i, 0), p.adjust(i, 1))
				}
			}
		}
	}
	if got := (Plan{}).adjust(0, 0.03); got != 0.03 {
		t.Errorf("no looks: got %g, want 0.03", got)
	}
}

func TestPlanRefuses(t *testing.T) {
	for want, p := range map[string]Plan{
		"boundary: got 0.6, want 0":                   {Boundary: 0.6},
		"boundary: got -0.1, want 0":                  {Boundary: -0.1},
		"boundary: got NaN, want 0":                   {Boundary: Boundary(math.NaN())},
		"looks: got 21, want at most 20":              equalLooks(21, Pocock),
		"looks[0]: got 1 seeds, want 2 to 10000":      {Looks: []int{1, 2}},
		"looks[1]: got 4 seeds, want 5 to 10000":      {Looks: []int{4, 4}},
		"looks[1]: got 10001 seeds, want 5 to 10000":  {Looks: []int{4, 10001}},
		"looks[2]: got 16 seeds, want 10001 to 10000": {Looks: []int{4, 10000, 16}},
	} {
		if _, err := p.Levels(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
