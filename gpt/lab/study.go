package lab

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Study is a question about architectures: which of the arms is better, at an equal budget. Run trains every arm with
// every seed on every text; each of these is a trial. Seed i draws the same batches for every arm, and parameters of
// equal name and shape begin with equal numbers, so arms are compared seed by seed. Where the initial spread depends on
// what an arm changes, as the spread of c_proj depends on n_layer, they begin with multiples of the same numbers.
type Study struct {
	Name   string     // the question; a directory belongs to one study
	Base   gpt.Config // what arms change; the first trials have its seed
	Arms   []Arm      // the first is the baseline, with which the others are compared
	Texts  []Text     // what every arm is trained on, usually one text
	Seeds  int        // the number of seeds: Base.Seed, Base.Seed + 1, …; with a Plan, the last of its Looks
	Budget Budget     // what is equal for all arms
	Dir    string     // the directory of the results, which several processes may share

	// These fields are optional.
	Version   string      // names the parts and hooks of Base, as Arm.Version does; required if it has any
	Tuning    Tuning      // chooses settings for each arm
	Plan      paired.Plan // the numbers of seeds at which arms with a verdict end
	Measures  []Measure   // what to measure besides the loss
	Outcome   string      // the number that decides: "loss", the default, or the name of a Measure
	Matters   float64     // the smallest difference of the outcome that matters; 0 means 0.01
	NoVerdict bool        // asks for no verdicts, so that one seed is enough
	Target    float64     // a validation loss in nats per token; a report says when an arm reaches it

	// The fields below decide how the trials are run, and not their results.
	Jobs        int        // the number of trials at once, which divide the threads; 0 means 1
	Part, Parts int        // this process begins with trial number Part·n/Parts of the n trials
	Watch       func(Step) // optional: called after every step of a trial, by one goroutine at a time

	every time.Duration // between two checkpoints of a trial; 0 means a minute
}

// Text is a text or a task to train on.
type Text struct {
	Name      string
	Corpus    text.Corpus
	Tokenizer text.Tokenizer
	Change    func(*gpt.Config) // optional: what the text needs of every arm, such as its block_size
	Measures  []Measure         // optional: measured on this text alone
	// Version names the parts and hooks that Change adds, as Arm.Version does. It is required if there are any.
	Version string
}

// Step is a step of a trial that Run is doing.
type Step struct {
	Trial *Trial
	Steps int // the number of steps of the trial
	train.Progress
}

// Measure is a number to measure at the end of a trial in addition to the loss.
type Measure struct {
	Name string
	Of   func(context.Context, *gpt.Trainer) (float64, error)
	// Version names what Of computes, with everything that it reads besides the trainer. It is required: results are
	// reused as long as Name and Version are the same.
	Version string
	Higher  bool // a higher number is better
	// Share marks a number of right answers divided by all, such as an accuracy. Few seeds say little about it, so that
	// no arm is better or worse with fewer than 6.
	Share bool
	// Timed marks a number that another run does not repeat, such as a speed. It is kept apart from the results.
	Timed bool
}

// check returns the first error in s that can be found without its texts.
func (s *Study) check() error {
	switch {
	case s == nil:
		return errors.New("study: got nil, want a Study")
	case s.Name == "":
		return errors.New("study: name: empty, want the question in a few words")
	case s.Dir == "":
		return errors.Errorf("study %q: dir: empty, want a directory for the results", s.Name)
	case len(s.Arms) < 1:
		return errors.Errorf("study %q: arms: got none, want a baseline and at least one other", s.Name)
	case len(s.Texts) < 1:
		return errors.Errorf("study %q: texts: got none, want at least 1", s.Name)
	case s.Seeds < 1:
		return errors.Errorf("study %q: seeds: got %d, want at least 1", s.Name, s.Seeds)
	case s.Seeds == 1 && len(s.Arms) > 1 && !s.NoVerdict:
		return errors.Errorf("study %q: seeds: got 1, want at least 2: one seed decides nothing", s.Name)
	case len(s.Plan.Looks) > 0 && s.Seeds != s.Plan.Looks[len(s.Plan.Looks)-1]:
		return errors.Errorf("study %q: seeds: got %d, want %d, the last look", s.Name, s.Seeds,
			s.Plan.Looks[len(s.Plan.Looks)-1])
	case s.Jobs < 0:
		return errors.Errorf("study %q: jobs: got %d, want at least 0", s.Name, s.Jobs)
	case s.Parts < 0 || s.Part < 0 || s.Part > 0 && s.Part >= s.Parts:
		return errors.Errorf("study %q: part: got %d of %d, want 0 to %d", s.Name, s.Part, s.Parts, max(s.Parts-1, 0))
	}
	if err := s.rule().Validate(); err != nil {
		return errors.WithMessagef(err, "study %q", s.Name)
	}
	return errors.WithMessagef(s.checkNames(), "study %q", s.Name)
}

// rule returns the rule of the verdicts.
func (s *Study) rule() paired.Rule {
	r := paired.Rule{Difference: cmp.Or(s.Matters, 0.01), Plan: s.Plan}
	for _, t := range s.Texts {
		for _, m := range s.measures(t) {
			if m.Name == s.Outcome {
				r.Higher = r.Higher || m.Higher
				if m.Share {
					r.Fewest = paired.Confirming
				}
			}
		}
	}
	return r
}

// checkNames returns an error unless every arm, text and measure has a name of its own.
func (s *Study) checkNames() error {
	var arms, texts []string
	for _, a := range s.Arms {
		arms = append(arms, a.Name)
	}
	for _, t := range s.Texts {
		if texts = append(texts, t.Name); t.Corpus == nil || t.Tokenizer == nil {
			return errors.Errorf("text %q: got no corpus or no tokenizer", t.Name)
		}
		for _, m := range s.measures(t) {
			if m.Version == "" {
				return errors.Errorf("measure %q: version: empty, want a name for what it computes and for all that "+
					"it reads: results are reused as long as the name is the same", m.Name)
			}
		}
		names := append([]string{"loss"}, measureNames(s.measures(t))...)
		if err := distinct("measures", names); err != nil {
			return err
		}
		if !slices.Contains(names, cmp.Or(s.Outcome, "loss")) {
			return errors.Errorf("outcome: got %q, want one of %s%s",
				s.Outcome, strings.Join(names, ", "), spelling.Hint(s.Outcome, names))
		}
	}
	if err := distinct("arms", arms); err != nil {
		return err
	}
	return distinct("texts", texts)
}

// distinct returns an error if a name is empty or repeated.
func distinct(field string, names []string) error {
	seen := map[string]bool{}
	for i, name := range names {
		if name == "" {
			return errors.Errorf("%s: number %d has no name", field, i)
		}
		if seen[name] {
			return errors.Errorf("%s: two have the name %q", field, name)
		}
		seen[name] = true
	}
	return nil
}

// measures returns what is measured on a text.
func (s *Study) measures(t Text) []Measure {
	return append(s.Measures[:len(s.Measures):len(s.Measures)], t.Measures...)
}

func measureNames(list []Measure) (names []string) {
	for _, m := range list {
		names = append(names, m.Name)
	}
	return names
}
