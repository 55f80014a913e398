package lab

import (
	"flag"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/internal/flags"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Arm is a variant of the study's Base.
type Arm struct {
	Name string
	// Set lists changes such as "attention=linear" or "n_inner=344", with the names of the flags of gpt.Config, or
	// "preset=modern": the network and the optimizer of a preset. The study gives the batches, the context, the steps
	// and the seed.
	Set []string
	// Change, which is optional, changes what Set cannot: it may add user-defined parts and hooks. It follows Set.
	Change func(*gpt.Config)
	// Version names the parts and hooks that Change adds, with everything that they read, such as "rate 1e-3, v2". They
	// are code, which a Config does not hold: results are reused as long as Version is the same. It is required if
	// there are any.
	Version string
}

// Arms returns an arm for each list of changes, such as "attention=gqa,n_kv_head=1"; the list is its name. An item
// without "=" continues the value before it, as in "attention=gated_deltanet*3,causal,norm=rmsnorm". The list
// "baseline" changes nothing.
func Arms(lists ...string) (arms []Arm) {
	for _, list := range lists {
		a := Arm{Name: list}
		if list != "baseline" {
			a.Set = changes(list)
		}
		arms = append(arms, a)
	}
	return arms
}

// changes splits a list at the commas before each name=value.
func changes(list string) (set []string) {
	for item := range strings.SplitSeq(list, ",") {
		if n := len(set); n > 0 && !strings.Contains(item, "=") {
			set[n-1] += "," + item
		} else {
			set = append(set, item)
		}
	}
	return set
}

// Cross returns the arms of a factorial study: every arm of the first list with the changes of every arm of the second.
// The arm of two baselines is the baseline.
func Cross(first, second []Arm) (arms []Arm) {
	for _, a := range first {
		for _, b := range second {
			arms = append(arms, a.with(b))
		}
	}
	return arms
}

// Factorial returns the arms of the factorial study of some arms, of which the first is the baseline. Arms that change
// the same field first are levels of one factor.
func Factorial(arms []Arm) []Arm {
	if len(arms) == 0 {
		return nil
	}
	baseline, factors, order := arms[0], map[string][]Arm{}, []string{}
	for _, a := range arms[1:] {
		field, _, _ := strings.Cut(a.Name, "=")
		if factors[field] == nil {
			order, factors[field] = append(order, field), []Arm{baseline}
		}
		factors[field] = append(factors[field], a)
	}
	all := []Arm{baseline}
	for _, field := range order {
		all = Cross(all, factors[field])
	}
	return all
}

// with returns a with the changes of b.
func (a Arm) with(b Arm) Arm {
	both := Arm{Name: a.Name + "," + b.Name, Set: append(a.Set[:len(a.Set):len(a.Set)], b.Set...)}
	switch {
	case b.plain():
		both.Name = a.Name
	case a.plain():
		both.Name = b.Name
	}
	both.Version = strings.Trim(a.Version+", "+b.Version, ", ")
	if a.Change != nil || b.Change != nil {
		both.Change = func(c *gpt.Config) {
			for _, change := range []func(*gpt.Config){a.Change, b.Change} {
				if change != nil {
					change(c)
				}
			}
		}
	}
	return both
}

// plain reports whether a changes nothing.
func (a Arm) plain() bool { return len(a.Set) == 0 && a.Change == nil }

// Apply returns c with the changes of a. Options that only other parts read do not count as changes of c.
func (a Arm) Apply(c gpt.Config) (gpt.Config, error) {
	if err := apply(&c, a.Set); err != nil {
		return c, err
	}
	if a.Change != nil {
		a.Change(&c)
	}
	return c, nil
}

// presets lists the names of the presets that have a network.
func presets() (names []string) {
	for _, p := range gpt.Presets() {
		if p.Config.NEmbd > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// preset replaces the network of c and its optimizer by a preset's.
func preset(c *gpt.Config, name string) error {
	p, err := gpt.PresetOf(name)
	if err != nil {
		return err
	}
	if p.Config.NEmbd == 0 {
		return errors.Errorf("preset: got %s, which has no network, want one of %s", name, strings.Join(presets(),
			", "))
	}
	next := p.Config
	next.BlockSize, next.VocabSize, next.Run, next.Carry, next.Parts, next.Hooks = c.BlockSize, c.VocabSize, c.Run,
		c.Carry,
		c.Parts, c.Hooks
	next.BatchSize, next.GradientAccumulationSteps, next.Seed = c.BatchSize, c.GradientAccumulationSteps, c.Seed
	next.DecayLR, next.Schedule, next.WarmupIters = c.DecayLR, c.Schedule, c.WarmupIters
	next.LRDecayIters, next.CooldownIters = c.LRDecayIters, c.CooldownIters
	next.Kernels, next.Precision = c.Kernels, c.Precision
	*c = next
	return nil
}

// apply applies changes of the form name=value.
func apply(c *gpt.Config, changes []string) error {
	fs := flag.NewFlagSet("arm", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Flags(fs)
	for _, change := range changes {
		name, value, ok := strings.Cut(change, "=")
		switch _, err := gpt.PresetOf(change); {
		case !ok && err == nil: // modern is short for preset=modern
			name, value = "preset", change
		case !ok:
			return errors.Errorf("got %q, want name=value such as attention=linear, or a preset%s", change,
				spelling.Hint(change, presets()))
		}
		if name == "preset" {
			if err := preset(c, value); err != nil {
				return err
			}
			continue
		}
		if fs.Lookup(name) == nil {
			var names []string
			fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
			return errors.Errorf("got %q, want the name of a field of the configuration%s",
				name, spelling.Hint(name, names))
		}
		if err := flags.Set(fs, name, value); err != nil {
			return err
		}
	}
	return nil
}
