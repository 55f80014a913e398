package train

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Schedule is a course of the learning rate over the steps of a run, by name in configurations.
type Schedule struct {
	Name  string
	Rate  func(t Training, it int) float64 // the rate of iteration it, counted from 0; it depends on nothing else
	Check func(t Training) error           // optional; returns an error for settings that contradict each other
}

// String returns the name.
func (s Schedule) String() string { return s.Name }

// Schedules lists the library's schedules, the default first. All but constant begin with a linear warm-up,
// η(it+1)/(w+1) for it < w, where η is LearningRate and w is WarmupIters; they descend from η to η₀ = MinLR, which they
// reach in iteration D = LRDecayIters and then keep.
func Schedules() []Schedule {
	return []Schedule{
		{"cosine", cosine, Training.descends},
		{"linear", linear, Training.descends},
		{"wsd", wsd, checkWSD},
		{"constant", constant, Training.uncooled},
	}
}

// Resolved returns t with the defaults of Schedule and Precision filled in. Schedule constant has DecayLR false.
func (t Training) Resolved() Training {
	t.Precision = cmp.Or(t.Precision, graph.Precisions()[0])
	if t.Schedule == "" {
		t.Schedule = "constant"
		if t.DecayLR {
			t.Schedule = Schedules()[0].Name
		}
	}
	t.DecayLR = t.DecayLR && t.Schedule != "constant"
	return t
}

// schedule returns the schedule that t names, one's own or the library's.
func (t Training) schedule(own []Schedule) (Schedule, error) {
	name, known := t.Resolved().Schedule, []string{}
	for _, s := range append(slices.Clip(own), Schedules()...) {
		switch {
		case s.Name != name:
			known = append(known, s.Name)
		case s.Rate == nil:
			return s, errors.Errorf("schedule: got %s, a part without Rate: nothing computes it", name)
		default:
			return s, nil
		}
	}
	return Schedule{}, errors.Errorf("schedule: got %s, want one of %s%s",
		field.Clip(name), strings.Join(known, ", "), spelling.Hint(name, known))
}

// Check returns an error if fields contradict each other, also for a schedule of one's own. A warm-up longer than the
// run is allowed: the run then ends during the warm-up. Only kernels round.
func (t Training) Check(own ...Schedule) error {
	r := t.Resolved()
	s, err := t.schedule(own)
	switch {
	case !t.Kernels && r.Precision != graph.Precisions()[0]:
		return errors.Errorf("precision: got %s with kernels false, want %s: the reference does not round",
			t.Precision, graph.Precisions()[0])
	case err != nil:
		return err
	case !t.DecayLR && r.Schedule != "constant":
		return errors.Errorf("schedule: got %s with decay_lr false, which is schedule constant: want decay_lr true",
			t.Schedule)
	case s.Check != nil:
		return s.Check(r)
	}
	return nil
}

// descends returns an error unless the rate can descend to MinLR after the warm-up, and in one way.
func (t Training) descends() error {
	switch {
	case t.LRDecayIters <= t.WarmupIters:
		return errors.Errorf("lr_decay_iters: got %d, want more than warmup_iters %d", t.LRDecayIters, t.WarmupIters)
	case !(t.MinLR <= t.LearningRate):
		return errors.Errorf("min_lr: got %v, want at most learning_rate %v", t.MinLR, t.LearningRate)
	}
	return t.uncooled()
}

// uncooled returns an error if CooldownIters is set, which only schedule wsd reads.
func (t Training) uncooled() error {
	if t.CooldownIters != 0 {
		return errors.Errorf("cooldown_iters: got %d, which schedule %s does not read, want 0 or schedule wsd",
			t.CooldownIters, t.Schedule)
	}
	return nil
}

// RateAt returns the learning rate of iteration it, counted from 0, by one's own schedule or the library's, or NaN if
// neither has that name.
func (t Training) RateAt(it int, own ...Schedule) float64 {
	s, err := t.schedule(own)
	if err != nil {
		return math.NaN()
	}
	return s.Rate(t, it)
}

// course returns the rate of iteration it: the warm-up, then η₀ + (η − η₀)·share(r), where r rises from 0 to 1 at
// LRDecayIters, and then η₀.
func (t Training) course(it int, share func(r float64) float64) float64 {
	switch {
	case it < t.WarmupIters:
		return t.LearningRate * float64(it+1) / float64(t.WarmupIters+1)
	case it > t.LRDecayIters:
		return t.MinLR
	}
	r := float64(it-t.WarmupIters) / float64(t.LRDecayIters-t.WarmupIters)
	return t.MinLR + float64((t.LearningRate-t.MinLR)*share(r)) // rounded twice on every processor
}
