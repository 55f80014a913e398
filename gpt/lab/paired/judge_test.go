package paired

import (
	"math"
	"slices"
	"strings"
	"testing"
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
	arms := []Comparison{measured(-0.1, 0.001), measured(0.2, 0.002), measured(-0.3, 0.03), {Seeds: 5, P: 1, SignFlip: 1, Same: true}}
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

// An arm that one look tells apart may not be told apart by a plan of several, and the seeds are those of the last look.
func TestLooksAreStricter(t *testing.T) {
	arms := []Comparison{{Seeds: 4, Mean: -1, SD: 0.012, P: 0.03}}
	for _, v := range []struct {
		plan Plan
		want string
	}{
		{Plan{}, "better"}, {Plan{Looks: []int{4}}, "better"},
		{Plan{[]int{4, 8, 16}, Pocock}, "not told apart (0.010"}, {Plan{[]int{4, 8, 16}, OBrienFleming}, "not told apart (0.010"},
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
		"not told apart (0.010 would need 15 seeds)":                 {NotToldApart, 0.3, 0.01, 15},
		"not told apart (2.000 would need 15 seeds)":                 {NotToldApart, 0.3, 2, 15},
		"not told apart (0.0005 would need more than 1000000 seeds)": {NotToldApart, 0.3, 0.0005, mostSeeds},
		"not told apart (1.2345e-06 would need 999999 seeds)":        {NotToldApart, 0.3, 1.2345e-6, 999999},
		"better": {Better, 0.01, 0.01, 15},
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
