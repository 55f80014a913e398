package paired

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The example is adjusted by hand: 4·0.01, 3·0.02, 2·0.02 which may not be below 0.06, and 0.7.
func TestHolm(t *testing.T) {
	for _, v := range [][2][]float64{
		{{0.02, 0.7, 0.01, 0.02}, {0.06, 0.7, 0.04, 0.06}},
		{{0.01, 0.04, 0.03}, {0.03, 0.06, 0.06}},
		{{0.5, 0.9}, {1, 1}}, {{0.03}, {0.03}}, {{0, 1}, {0, 1}},
	} {
		if got := holm(v[0]); !slices.EqualFunc(got, v[1], func(a, b float64) bool { return math.Abs(a-b) <= 1e-15 }) {
			t.Errorf("%v: got %v, want %v", v[0], got, v[1])
		}
	}
}

// measured returns a comparison by its mean and p.
func measured(mean, p float64) Comparison {
	return Comparison{Seeds: 5, Mean: mean, SD: 0.012, P: p}
}

func TestVerdicts(t *testing.T) {
	arms := []Comparison{
		measured(-0.1, 0.001), measured(0.2, 0.002), measured(-0.3, 0.03), {Seeds: 5, P: 1, SignFlip: 1, Same: true},
	}
	rule := Rule{Difference: 0.01}
	check := func(r Rule, want ...string) {
		t.Helper()
		list, err := r.Judge(0, arms)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range list {
			if found := j.Seeds > 0; found == (j.Verdict == Same) || j.Difference != r.Difference {
				t.Errorf("arm %d: got %d seeds for %g, want them unless it is Same", i, j.Seeds, j.Difference)
			}
			if !strings.HasPrefix(j.String(), want[i]) {
				t.Errorf("arm %d: got %s, p = %g, want %s", i, j, j.P, want[i])
			}
		}
	}
	n := seedsFor(0.01/0.012, Level/4)
	if n != 20 {
		t.Errorf("got %d seeds, want 20", n)
	}
	check(rule, "better", "worse", "not told apart (0.010 would need 20 seeds)", "equal for every seed")
	check(Rule{Higher: true, Difference: 0.01}, "worse", "better", "not", "equal for every seed")
	arms = arms[:1]
	arms[0].P = Level
	check(rule, "not told apart (0.010")
	arms[0].P = math.Nextafter(Level, 0)
	check(rule, "better")
}

// A verdict by t that sign flips do not confirm is provisional, and with too few seeds there is none.
func TestConfirmed(t *testing.T) {
	for _, v := range []struct {
		c           Comparison
		fewest      int
		want        Verdict
		provisional bool
	}{
		{Comparison{Seeds: 4, Mean: -1, SD: 0.1, SE: 0.05, P: 0.001, SignFlip: 0.125}, 0, Better, true},
		{Comparison{Seeds: 6, Mean: -1, SD: 0.1, SE: 0.05, P: 0.001, SignFlip: 0.03125}, 6, Better, false},
		{Comparison{Seeds: 6, Mean: 1, SD: 0.1, SE: 0.05, P: 0.001, SignFlip: 0.0625}, 6, Worse, true},
		{Comparison{Seeds: 6, Mean: 1, SD: 0.1, SE: 0.05, P: 0.001, SignFlip: Level}, 0, Worse, true},
		{Comparison{Seeds: 5, Mean: -1, SD: 0.1, SE: 0.05, P: 0.001, SignFlip: 0.0625}, 6, TooFew, false},
		{Comparison{Seeds: 5, Same: true, P: 1, SignFlip: 1}, 6, Same, false},
		{Comparison{Seeds: 4, Mean: -1, SD: 0.1, SE: 0.05, P: 0.5, SignFlip: 0.5}, 0, NotToldApart, false},
	} {
		list, err := Rule{Difference: 1, Fewest: v.fewest}.Judge(0, []Comparison{v.c})
		if err != nil || list[0].Verdict != v.want || list[0].Provisional != v.provisional || v.want != Same &&
			list[0].Seeds < v.fewest {
			t.Errorf("%+v: got %+v, %v, want %s, provisional %t", v.c, list, err, v.want, v.provisional)
		}
	}
}

// The interval is adjusted for the arms and for the look with which the arm ends, and has Student's factors; it ends at
// 0 where only Holm's steps find the arm, and reaches to 0 where sign flips do not.
func TestInterval(t *testing.T) {
	student := func(seeds int, p float64) float64 {
		return distuv.StudentsT{Sigma: 1, Nu: float64(seeds - 1)}.Quantile(1 - p/2)
	}
	c := Comparison{Seeds: 9, Mean: 2, SD: 0.3, SE: 0.1, P: 1e-9, SignFlip: 0.004}
	weak := Comparison{Seeds: 9, Mean: -0.25, SD: 0.3, SE: 0.1, P: 0.037, SignFlip: 0.01}
	none := Comparison{Seeds: 9, Mean: -0.25, SD: 0.3, SE: 0.1, P: 0.2, SignFlip: 0.2}
	plan := Plan{[]int{9, 18}, OBrienFleming}
	levels := plan.levels(Level / 2)
	for _, v := range []struct {
		plan      Plan
		look      int
		arms      []Comparison
		low, high []float64
	}{
		{Plan{}, 0, []Comparison{c}, []float64{2 - 0.1*student(9, Level)}, []float64{2 + 0.1*student(9, Level)}},
		{Plan{}, 0, []Comparison{c, weak}, []float64{2 - 0.1*student(9, Level/2), -0.25 - 0.1*student(9, Level/2)},
			[]float64{2 + 0.1*student(9, Level/2), 0}},
		{plan, 1, []Comparison{c, none}, []float64{2 - 0.1*student(9, levels[0]), -0.25 - 0.1*student(9, levels[0])},
			[]float64{2 + 0.1*student(9, levels[0]), -0.25 + 0.1*student(9, levels[0])}},
		{Plan{}, 0, []Comparison{{Seeds: 4, Mean: 2, SD: 0.2, SE: 0.1, P: 0.125, SignFlip: 0.125, Doubt: FewValues}},
			[]float64{0},
			[]float64{2 + 0.1*student(4, Level)}},
		{
			Plan{}, 0, []Comparison{{Seeds: 4, Mean: -2, P: 0.125, SignFlip: 0.125, Doubt: FewValues}}, []float64{-2},
			[]float64{0},
		},
	} {
		list, err := Rule{Difference: 1, Plan: v.plan}.Judge(v.look, v.arms)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range list {
			near(t, "low", j.Low, v.low[i], 1e-9)
			near(t, "high", j.High, v.high[i], 1e-9)
		}
	}
}

// An arm that one look tells apart may not be told apart by a plan of several, and the seeds are the last look's.
func TestLooksAreStricter(t *testing.T) {
	arms := []Comparison{{Seeds: 4, Mean: -1, SD: 0.012, P: 0.03}}
	for _, v := range []struct {
		plan Plan
		want string
	}{
		{Plan{}, "better"}, {Plan{Looks: []int{4}}, "better"},
		{Plan{[]int{4, 8, 16}, Pocock}, "not told apart (0.010"},
		{Plan{[]int{4, 8, 16}, OBrienFleming}, "not told apart (0.010"},
	} {
		rule := Rule{Difference: 0.01, Plan: v.plan}
		list, err := rule.Judge(0, arms)
		if err != nil || !strings.HasPrefix(list[0].String(), v.want) {
			t.Fatalf("%v: got %v, %v, want %s", v.plan, list, err, v.want)
		}
		levels := v.plan.levels(Level)
		if want := seedsFor(0.01/0.012, levels[len(levels)-1]); list[0].Seeds != want {
			t.Errorf("%v: got %d seeds, want %d", v.plan, list[0].Seeds, want)
		}
	}
}

func TestJudgementString(t *testing.T) {
	for want, j := range map[string]Judgement{
		"not told apart (0.010 would need 15 seeds)": {Verdict: NotToldApart, P: 0.3, Difference: 0.01, Seeds: 15},
		"not told apart (2.000 would need 15 seeds)": {Verdict: NotToldApart, P: 0.3, Difference: 2, Seeds: 15},
		"not told apart (0.0005 would need more than 1000000 seeds)": {
			Verdict: NotToldApart, P: 0.3, Difference: 0.0005, Seeds: mostSeeds,
		},
		"not told apart (1.2345e-06 would need 999999 seeds)": {
			Verdict: NotToldApart, P: 0.3, Difference: 1.2345e-6, Seeds: 999999,
		},
		"too few seeds (0.010 would need 6 seeds)": {Verdict: TooFew, P: 0.01, Difference: 0.01, Seeds: 6},
		"worse (provisional)": {
			Verdict: Worse, P: 0.01, Difference: 0.01, Seeds: 6, Provisional: true,
		},
		"better": {Verdict: Better, P: 0.01, Difference: 0.01, Seeds: 15},
	} {
		if got := j.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	nan, good := math.NaN(), Rule{Difference: 0.01, Plan: Plan{Looks: []int{4, 8}}}
	arm := Comparison{Seeds: 4, P: 0.5, SD: 1}
	for _, v := range []struct {
		rule Rule
		look int
		arms []Comparison
		want string
	}{
		{Rule{}, 0, []Comparison{arm}, "difference: got 0, want a positive finite number"},
		{Rule{Difference: nan}, 0, []Comparison{arm}, "difference: got NaN"},
		{Rule{Difference: math.Inf(1)}, 0, []Comparison{arm}, "difference: got +Inf"},
		{Rule{Difference: 1, Plan: Plan{Looks: []int{1}}}, 0, []Comparison{arm}, "looks[0]: got 1 seeds"},
		{Rule{Difference: 1, Fewest: -1}, 0, []Comparison{arm}, "fewest: got -1 seeds, want 0 to 10000"},
		{Rule{Difference: 1, Fewest: 10001}, 0, []Comparison{arm}, "fewest: got 10001 seeds"},
		{good, 2, []Comparison{arm}, "look: got 2, want 0 to 1"},
		{good, -1, []Comparison{arm}, "look: got -1, want 0 to 1"},
		{Rule{Difference: 1}, 1, []Comparison{arm}, "look: got 1, want 0 to 0"},
		{good, 0, nil, "arms: got none, want at least 1"},
		{good, 0, []Comparison{arm, {}}, "arms[1]: seeds: got 0, want at least 2: one seed decides nothing"},
		{good, 0, []Comparison{{Seeds: 5}}, "arms[0]: seeds: got 5, want at most the 4 of look 0"},
		{good, 0, []Comparison{{Seeds: 4, P: nan}}, "arms[0]: p: got NaN, want 0 to 1"},
		{good, 0, []Comparison{{Seeds: 4, P: -1}}, "arms[0]: p: got -1, want 0 to 1"},
		{good, 0, []Comparison{{Seeds: 4, P: 2}}, "arms[0]: p: got 2, want 0 to 1"},
		{good, 0, []Comparison{{Seeds: 4, SD: -1}}, "arms[0]: deviation: got -1, want a finite number, 0 or more"},
		{good, 0, []Comparison{{Seeds: 4, SD: math.Inf(1)}}, "arms[0]: deviation: got +Inf"},
		{good, 0, []Comparison{{Seeds: 4, Mean: nan}}, "arms[0]: mean: got NaN, want a finite number"},
	} {
		if _, err := v.rule.Judge(v.look, v.arms); err == nil || !strings.HasPrefix(err.Error(), v.want) {
			t.Errorf("got %v, want %s", err, v.want)
		}
	}
}
