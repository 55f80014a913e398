package lab

import (
	"context"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pkg/errors"
)

// plan holds the configuration of every arm on every text, and the versions of the user's code in it.
type plan struct {
	*Study
	configs  map[place]gpt.Config
	versions map[place]map[string]string
}

// place says where a configuration belongs: the indices of text and arm, and a setting of Tuning, which may be "".
type place struct {
	text, arm int
	setting   string
}

// planned checks the study and everything that does not need a trial, so that a study fails before its first trial.
func (s *Study) planned() (p *plan, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.Budget.check(); err != nil {
		return nil, errors.WithMessagef(err, "study %q", s.Name)
	}
	if err := s.Tuning.check(s); err != nil {
		return nil, errors.WithMessagef(err, "study %q: tuning", s.Name)
	}
	p = &plan{s, map[place]gpt.Config{}, map[place]map[string]string{}}
	return p, errors.WithMessagef(p.distinct(), "study %q", s.Name)
}

// config returns the configuration of an arm on a text with a setting of Tuning, within the budget.
func (p *plan) config(at place) (c gpt.Config, err error) {
	if c, ok := p.configs[at]; ok {
		return c, nil
	}
	c, p.versions[at], err = p.configure(&p.Texts[at.text], p.Arms[at.arm], at.setting)
	p.configs[at] = c
	return c, errors.WithMessagef(err, "arm %q: text %q", p.Arms[at.arm].Name, p.Texts[at.text].Name)
}

func (s *Study) configure(t *Text, a Arm, setting string) (gpt.Config, map[string]string, error) {
	c, versions := s.Base, map[string]string{}
	err := versioned(versions, "base", s.Version, hasCode(c))
	if t.Change != nil && err == nil {
		t.Change(&c)
		err = versioned(versions, "text", t.Version, hasCode(c))
	}
	if err == nil {
		c, err = a.Apply(c)
	}
	if a.Change != nil && err == nil {
		err = versioned(versions, "arm", a.Version, hasCode(c))
	}
	if err == nil && setting != "" {
		err = apply(&c, strings.Split(setting, ","))
	}
	if err == nil {
		c, err = s.sized(t, c)
	}
	return c, versions, err
}

// versioned adds the version of the code of a place. It is an error if there may be code without one.
func versioned(versions map[string]string, place, version string, code bool) error {
	if code && version == "" {
		return errors.Errorf("version of the %s: empty, want a name for its parts and hooks and for all that they "+
			"read: they are code, which a configuration does not hold, and results are reused as long as the name is "+
			"the same", place)
	}
	if version != "" {
		versions[place] = version
	}
	return nil
}

// sized returns c with the sizes that the text and the budget decide.
func (s *Study) sized(t *Text, c gpt.Config) (_ gpt.Config, err error) {
	if c.VocabSize == 0 {
		c.VocabSize = t.Tokenizer.Size()
	}
	if c, err = s.Budget.Apply(c); err != nil {
		return c, err
	}
	c.Threads = s.threads(c)
	if err := c.Validate(); err != nil {
		return c, err
	}
	if jobs := float64(max(s.Jobs, 1)); jobs > 1 { // each trial has its share of the memory
		c.MemoryLimit = float64(c.Limit()) / (1 << 30) / jobs
		if err := c.Validate(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// distinct returns an error if two arms of a text have the same configuration, which is a mistake in their changes.
func (p *plan) distinct() error {
	for i := range p.Texts {
		keys := map[string]string{}
		for j, a := range p.Arms {
			t, err := p.trial(place{i, j, ""}, p.Base.Seed)
			if err != nil {
				return err
			}
			if other, ok := keys[t.Key]; ok {
				return errors.Errorf("arm %q: the same configuration as arm %q", a.Name, other)
			}
			keys[t.Key] = a.Name
		}
	}
	return nil
}

// trial returns the trial of a configuration with a seed.
func (p *plan) trial(at place, seed uint64) (*Trial, error) {
	c, err := p.config(at)
	if err != nil {
		return nil, err
	}
	c.Seed = seed
	text := &p.Texts[at.text]
	t := &Trial{Text: text.Name, Arm: p.Arms[at.arm].Name, Setting: at.setting, Seed: seed, config: c, text: text}
	return t, p.identify(t, p.versions[at])
}

// Causal returns an error if the predictions of the model of c depend on later tokens or on other texts of the batch,
// also if all parts are the library's. Run calls it before the first step of a trial.
func Causal(ctx context.Context, c gpt.Config) error {
	if ctx == nil {
		return errors.New("causal: no context (nil)")
	}
	if err := c.Validate(); err != nil {
		return err
	}
	c.Context = ctx
	_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) error {
		train.Configure(g, c.Training, c.Run)
		m, err := gpt.New(g, c, 2)
		if err != nil {
			return err
		}
		causal.Perturb(g)
		return causal.Check(causal.Model{Input: m.Tokens, Output: m.Logits, Batch: 2, Vocabulary: c.VocabSize,
			Bidirectional: c.Parts.Bidirectional})
	})
	if errors.Is(err, graph.ErrNotFinite) {
		return nil // the first step reports it
	}
	return err
}
