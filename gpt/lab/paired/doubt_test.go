package paired

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// Differences of few values or with a strong skew have a doubt, and sign flips decide about them; of normal ones 1 in
// 40 has.
func TestDoubt(t *testing.T) {
	for _, v := range []struct {
		d    []float64
		want Doubt
	}{
		{[]float64{0.1, 0.1, 0.1, -0.4}, FewValues},
		{[]float64{0.101, 0.1, 0.099, -0.4, 0.1}, FewValues},
		{[]float64{1, 0, 1, 0, 1, 0, 2}, FewValues},
		{[]float64{0.5, 0.5, 0.5}, FewValues}, {[]float64{1, 2, 1}, ""}, {[]float64{1, 2, 3, 4, 5.5, 7}, ""},
		{[]float64{0, 0, 0, 0}, ""},
		{[]float64{0.1, 1, 2, 0.5, 1.5, 9}, Skewed},
		{[]float64{-0.1, -1, -2, -0.5, -1.5, -9}, Skewed}, {[]float64{1, 2}, ""},
	} {
		c := compare(t, v.d, make([]float64, len(v.d)))
		if c.Doubt != v.want || (c.Doubt == "" && c.SD > 0) == (c.P == c.SignFlip) && !c.Same {
			t.Errorf(
				"%v: got %q and p = %g, sign flips %g, want %q, in which sign flips decide", v.d, c.Doubt, c.P,
				c.SignFlip, v.want,
			)
		}
	}
	const samples = 4000
	for _, n := range []int{4, 6, 10, 40} {
		r, doubted := rand.New(rand.NewPCG(7, uint64(n))), 0
		for range samples {
			d := make([]float64, n)
			for i := range d {
				d[i] = r.NormFloat64()
			}
			if doubt(d) != "" {
				doubted++
			}
		}
		if !(float64(doubted) <= 0.03*samples) {
			t.Errorf("%d seeds: got a doubt about %d of %d normal samples, want 1 in 40", n, doubted, samples)
		}
	}
}

// unlike are distributions of differences with the mean 0 that are no differences of measures with equal distributions,
// except for the first two.
func unlike() map[string]func(r *rand.Rand) float64 {
	found := func(r *rand.Rand, of int) float64 { // an arm that finds the rule with all seeds but one in so many
		if r.IntN(of) > 0 {
			return 1
		}
		return 0
	}
	noise := func(r *rand.Rand) float64 { return 0.01 * r.NormFloat64() }
	return map[string]func(r *rand.Rand) float64{
		"a coin":           func(r *rand.Rand) float64 { return found(r, 2) - 0.5 },
		"both find 4 of 5": func(r *rand.Rand) float64 { return found(r, 5) - found(r, 5) + noise(r) },
		"one finds 4 of 5": func(r *rand.Rand) float64 { return found(r, 5) - 0.8 + noise(r) },
		"exponential":      func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 },
	}
}

// The documented limit of both p: no test sees a value that no seed has taken. If one arm alone finds a rule with 4 of
// 5 seeds, 0.8ⁿ of the studies of n seeds see nothing else. If arm and baseline may be exchanged, sign flips keep
// Level.
func TestUnlikeDifferences(t *testing.T) {
	studies := 80
	if os.Getenv("NIGHTLY") != "" {
		studies = 5000
	}
	for name, draw := range unlike() {
		for _, number := range []int{1, 10} {
			for _, seeds := range []int{4, 6, 10, 16} {
				r, told, single := rand.New(rand.NewPCG(uint64(number), uint64(seeds))), 0.0, 0.0
				for range studies {
					_, arms := drawn(r, number, seeds, draw)
					decided, flip := anyVerdict(t, Plan{Looks: []int{seeds}}, make([]float64, seeds), arms)
					if decided {
						told += 1 / float64(studies)
					}
					if flip {
						single += 1 / float64(studies)
					}
				}
				limit := Level
				switch name {
				case "one finds 4 of 5":
					limit = 1 - math.Pow(1-math.Pow(0.8, float64(seeds)), float64(number)) + 2*Level
				case "exponential":
					limit = 0.12
					if number == 10 {
						limit = 0.3
					}
				}
				t.Logf("%-16s  %2d seeds, %2d arms: %.3f, by sign flips alone %.3f", name, seeds, number, told, single)
				if most := limit + 3*math.Sqrt(limit*(1-min(1, limit))/float64(studies)); !(told <= most) {
					t.Errorf(
						"%s, %d seeds, %d arms: got verdicts in %.3f of the studies, want at most %.3f", name, seeds,
						number, told, most,
					)
				}
			}
		}
	}
}
