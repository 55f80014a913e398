package train

import (
	"math"
	"testing"
)

// falling returns a Training with η = 8, η₀ = 2, w = 3 and D = 11.
func falling(schedule string) Training {
	return Training{LearningRate: 8, MinLR: 2, DecayLR: true, Schedule: schedule, WarmupIters: 3, LRDecayIters: 11}
}

// The rates at the corners of every schedule, and a few between them.
func TestSchedules(t *testing.T) {
	cooled := falling("wsd")
	cooled.CooldownIters = 4
	for _, c := range []struct {
		training Training
		want     map[int]float64
	}{
		{
			falling("cosine"),
			map[int]float64{0: 2, 2: 6, 3: 8, 5: 2 + 6*(1+math.Sqrt2/2)/2, 7: 5, 11: 2, 12: 2, 1 << 28: 2},
		},
		{falling("linear"), map[int]float64{0: 2, 2: 6, 3: 8, 5: 6.5, 7: 5, 10: 2.75, 11: 2, 12: 2, 1 << 28: 2}},
		{falling("wsd"), map[int]float64{0: 2, 2: 6, 3: 8, 9: 8, 10: 8 - 6*math.Sqrt(0.5), 11: 2, 12: 2, 1 << 28: 2}},
		{
			cooled,
			map[int]float64{
				0: 2, 2: 6, 3: 8, 7: 8, 8: 5, 9: 8 - 6*math.Sqrt(0.5), 10: 8 - 6*math.Sqrt(0.75), 11: 2, 12: 2,
			},
		},
		{falling("constant"), map[int]float64{0: 8, 3: 8, 12: 8}},
		{Training{LearningRate: 8, WarmupIters: 3}, map[int]float64{0: 8, 12: 8}},
		{
			Training{LearningRate: 8, DecayLR: true, Schedule: "linear", LRDecayIters: 4},
			map[int]float64{0: 8, 1: 6, 4: 0, 5: 0},
		},
	} {
		for it, want := range c.want {
			if got := c.training.RateAt(it); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s, iteration %d: got %v, want %v", c.training.Schedule, it, got, want)
			}
		}
	}
	if got := falling("own").RateAt(0); !math.IsNaN(got) {
		t.Errorf("an unknown schedule: got %v, want NaN", got)
	}
}

// After the warm-up no schedule rises, none falls below min_lr, and in a thousand steps no rate jumps
// by more than the first of 220 steps along a square root, 0.9·√(1/220).
func TestSchedulesDescend(t *testing.T) {
	for _, s := range Schedules() {
		training := Training{
			LearningRate: 1, MinLR: 0.1, DecayLR: true, Schedule: s.Name, WarmupIters: 100, LRDecayIters: 1100,
		}
		if err := training.Check(); err != nil {
			t.Fatal(err)
		}
		before := training.RateAt(0)
		for it := 1; it <= 1200; it++ {
			rate := training.RateAt(it)
			switch {
			case it > 100 && rate > before:
				t.Errorf("%s rises from %v to %v in iteration %d", s, before, rate, it)
			case !(math.Abs(rate-before) <= 0.061):
				t.Errorf("%s jumps from %v to %v in iteration %d", s, before, rate, it)
			case it > 100 && rate < 0.1:
				t.Errorf("%s is %v in iteration %d, want at least 0.1", s, rate, it)
			}
			before = rate
		}
	}
}

// Settings that contradict each other are refused; decay_lr false means constant, with any of the other settings.
func TestScheduleChecks(t *testing.T) {
	change := func(schedule string, change func(t *Training)) Training {
		training := falling(schedule)
		change(&training)
		return training
	}
	own := Schedule{Name: "own", Rate: constant}
	broken := Schedule{Name: "broken"}
	for _, c := range []struct {
		training Training
		want     string
	}{
		{falling(""), ""}, {falling("linear"), ""}, {falling("wsd"), ""}, {falling("constant"), ""},
		{falling("own"), ""},
		{falling("none"), "schedule: got none, want one of own, broken, cosine, linear, wsd, constant"},
		{falling("broken"), "schedule: got broken, a part without Rate: nothing computes it"},
		{change("", func(t *Training) { t.DecayLR, t.LRDecayIters = false, 0 }), ""},
		{change("constant", func(t *Training) { t.DecayLR, t.LRDecayIters = false, 0 }), ""},
		{
			change("linear", func(t *Training) { t.DecayLR = false }),
			"schedule: got linear with decay_lr false, which is schedule constant: want decay_lr true",
		},
		{
			change("linear", func(t *Training) { t.LRDecayIters = 3 }),
			"lr_decay_iters: got 3, want more than warmup_iters 3",
		},
		{
			change("wsd", func(t *Training) { t.LRDecayIters = 3 }),
			"lr_decay_iters: got 3, want more than warmup_iters 3",
		},
		{change("wsd", func(t *Training) { t.MinLR = 9 }), "min_lr: got 9, want at most learning_rate 8"},
		{change("wsd", func(t *Training) { t.CooldownIters = 8 }), ""},
		{
			change("wsd", func(t *Training) { t.CooldownIters = 9 }),
			"cooldown_iters: got 9, want at most 8, lr_decay_iters without warmup_iters",
		},
		{change("wsd", func(t *Training) {
			t.LRDecayIters = 4
			t.CooldownIters = 2
		}), "cooldown_iters: got 2, want at most 1, lr_decay_iters without warmup_iters"},
		{change("wsd", func(t *Training) {
			t.LRDecayIters = 3
			t.CooldownIters = 1
		}), "lr_decay_iters: got 3, want more than warmup_iters 3"},
		{
			change("", func(t *Training) { t.CooldownIters = 1 }),
			"cooldown_iters: got 1, which schedule cosine does not read, want 0 or schedule wsd",
		},
		{
			change("constant", func(t *Training) { t.CooldownIters = 1 }),
			"cooldown_iters: got 1, which schedule constant does not read, want 0 or schedule wsd",
		},
	} {
		c.training.Kernels = true
		if err := c.training.Check(own, broken); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: got error %v, want %q", c.training, err, c.want)
		}
	}
}
