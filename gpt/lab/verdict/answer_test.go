package verdict

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// loss returns a comparison with a verdict.
func loss(size int, b budget, verdict paired.Verdict, mean float64) Loss {
	return Loss{Size: Size{size, 1}, Budget: b, Compared: &paired.Comparison{Mean: mean},
		Judged: &paired.Judgement{Verdict: verdict}}
}

// A verdict on text needs two sizes of one direction, of differences that matter, and none of the other direction.
func TestOnText(t *testing.T) {
	const better, worse, none, same = paired.Better, paired.Worse, paired.NotToldApart, paired.Same
	list := func(list ...Loss) []Loss { return list }
	for _, c := range []struct {
		name   string
		losses []Loss
		want   string
	}{
		{"three", list(loss(1, combined, better, -1), loss(2, combined, better, -1), loss(3, combined, better, -1)),
			"better"},
		{"two", list(loss(1, combined, better, -1), loss(2, combined, none, 0), loss(3, combined, better, -1)),
			"better"},
		{"worse", list(loss(1, combined, worse, 1), loss(2, combined, none, 0), loss(3, combined, worse, 1)), "worse"},
		{"one", list(loss(1, combined, better, -1), loss(2, combined, none, 0)), "not told apart"},
		{"small", list(loss(1, combined, better, -1), loss(2, combined, better, -.009)), "not told apart"},
		{
			"against", list(loss(1, combined, better, -1), loss(2, combined, better, -1), loss(3, combined, worse, 1)),
			"not told apart",
		},
		{"same", list(loss(1, combined, same, 0), loss(2, combined, same, 0)), "equal for every seed"},
		{"diverged", list(Loss{Budget: combined}, Loss{Budget: combined}), "diverged"},
		{"one budget at a size", list(loss(1, combined, better, -1), loss(2, parameters, better, -1)), "better"},
	} {
		r := &Report{Losses: c.losses}
		b := c.losses[len(c.losses)-1].Budget
		if a, asked := r.onText(b); !asked || a.Verdict != c.want {
			t.Errorf("%s: got %+v, %v; want %s", c.name, a, asked, c.want)
		}
	}
	if _, asked := (&Report{Losses: []Loss{loss(1, combined, better, -1)}}).onText(work); asked {
		t.Error("a budget that no size has alone is not asked about")
	}
}

// An accuracy needs other seeds that confirm it, and a difference that matters.
func TestConfirmed(t *testing.T) {
	told := func(v paired.Verdict) *paired.Judgement { return &paired.Judgement{Verdict: v} }
	for _, c := range []struct {
		a    Accuracy
		want bool
		word string
	}{
		{Accuracy{Judged: told(paired.Better), Again: told(paired.Better), Means: [2]float64{.5, .6}}, true, "confirm"},
		{Accuracy{Judged: told(paired.Worse), Again: told(paired.Worse), Means: [2]float64{.6, .5}}, true, "confirm"},
		{Accuracy{Judged: told(paired.Better), Again: told(paired.Better), Means: [2]float64{.5, .54}}, false, "below"},
		{
			Accuracy{Judged: told(paired.Better), Again: told(paired.Worse), Means: [2]float64{.5, .6}}, false,
			"not confirm",
		},
		{Accuracy{Judged: told(paired.NotToldApart), Means: [2]float64{.5, .6}}, false, "no difference"},
		{Accuracy{Judged: told(paired.NotToldApart), Means: [2]float64{.05, .06}}, false, "Neither"},
		{Accuracy{Diverged: [2]int{0, 1}}, false, "diverge"},
	} {
		if got := c.a.Confirmed(); got != c.want || !strings.Contains(c.a.answer().Sentence, c.word) {
			t.Errorf("%+v: got %v, %q; want %v, %q", c.a, got, c.a.answer().Sentence, c.want, c.word)
		}
	}
}

// The slope is of the line through the differences of each seed, and its sign is compared with the difference.
func TestGrowth(t *testing.T) {
	j := &judge{Report: &Report{Plan: Plan{Sizes: make([]Size, 3)}}}
	for i, parameters := range []int64{1 << 10, 1 << 12, 1 << 14} { // −0.01 for twice the parameters
		l := loss(i, combined, paired.Better, -.1-.02*float64(i))
		l.Parameters[0] = parameters
		l.differences = map[uint64]float64{}
		for seed := range uint64(4) {
			l.differences[seed] = -.1 - .02*float64(i) + .001*float64(seed)
		}
		l.differences[9] = float64(i) // a seed that only some sizes have
		if i == 2 {
			delete(l.differences, 9)
		}
		j.Losses = append(j.Losses, l)
	}
	j.grow()
	if len(j.Growth) != 1 {
		t.Fatalf("got %v", j.Growth)
	}
	g := j.Growth[0]
	if g.Seeds != 4 || g.Slope < -.010001 || g.Slope > -.009999 || j.growth(g).Verdict != "grows" {
		t.Errorf("got %+v: %v", g, j.growth(g))
	}
	g.Slope, g.Low, g.High = .01, .005, .015
	if v := j.growth(g).Verdict; v != "vanishes" {
		t.Errorf("got %s, want vanishes", v)
	}
	g.Low = -.005
	if v := j.growth(g).Verdict; v != "not told" {
		t.Errorf("got %s, want not told", v)
	}
}

// A picture holds every comparison.
func TestForest(t *testing.T) {
	r := &Report{Losses: []Loss{
		loss(1, combined, paired.Better, -.1), loss(2, combined, paired.Worse, .2), {Budget: combined},
	}}
	f := r.forest()
	if len(f.Lines) != 2 || f.Lines[0].Mean >= f.Zero || f.Lines[1].Mean <= f.Zero || f.Lines[0].Class != "better" {
		t.Errorf("got %+v", f)
	}
	if (&Report{}).forest() != nil {
		t.Error("a report without losses has no picture")
	}
}
