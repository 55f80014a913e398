package parts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Optimizer is a kind of optimizer.
type Optimizer struct {
	Name
	New     train.Optimizer
	Options []string // names of the fields, such as muon_steps, that this optimizer reads and others do not
}

// Optimizers lists the library's optimizers, the default first.
func Optimizers() []Optimizer {
	return []Optimizer{
		{Name: "adamw", New: func(t train.Training) optim.Rule { return adamw(t) }},
		{Name: "sgd", New: func(t train.Training) optim.Rule { return optim.SGD{Momentum: t.Beta1} }},
		{Name: "lion", New: func(t train.Training) optim.Rule { return optim.Lion{Beta1: t.Beta1, Beta2: t.Beta2} }},
		{Name: "schedule_free", New: scheduleFree},
		{Name: "soap", New: soap, Options: []string{"precondition_frequency", "shampoo_beta", "max_precond_dim"}},
		{Name: "muon", New: muon, Options: []string{"muon_momentum", "muon_steps", "muon_scale"}},
	}
}

func adamw(t train.Training) optim.Rule { return optim.AdamW{Beta1: t.Beta1, Beta2: t.Beta2} }

// scheduleFree weights the average as the warm-up of the rate, which schedule constant does not have.
func scheduleFree(t train.Training) optim.Rule {
	o := optim.ScheduleFree{Beta1: t.Beta1, Beta2: t.Beta2}
	if t.Resolved().DecayLR {
		o.Warmup = t.WarmupIters
	}
	return o
}

// muon updates the matrices of the blocks by Muon, and embeddings, the head and vectors by AdamW.
func muon(t train.Training) optim.Rule {
	rule := optim.Muon{Momentum: cmp.Or(t.MuonMomentum, 0.95), Steps: t.MuonSteps, Scale: t.MuonScale}
	return optim.Groups{Name: "muon", List: []optim.Group{
		{Names: InBlocks(), Matrices: true, Rule: rule},
		{Rule: adamw(t)},
	}}
}

// soap updates the matrices of the blocks by SOAP, and embeddings, the head and vectors by AdamW.
func soap(t train.Training) optim.Rule {
	rule := optim.SOAP{Beta1: t.Beta1, Beta2: t.Beta2, ShampooBeta: t.ShampooBeta, Frequency: t.PreconditionFrequency,
		MaxDim: t.MaxPrecondDim}
	return optim.Groups{Name: "soap", List: []optim.Group{
		{Names: InBlocks(), Matrices: true, Rule: rule},
		{Rule: adamw(t)},
	}}
}

// InBlocks returns the patterns of the names of all parameters of the blocks of a network, for an [optim.Group].
func InBlocks() []string { return []string{"h.*", "encoder.h.*", "decoder.h.*"} }

// CheckOptimizer returns an error if fields sets an option that the optimizer of that name does not read.
func (r Registry) CheckOptimizer(name string, fields field.List) error {
	reads := Find(r.Optimizers, name).Options
	for _, o := range r.Optimizers {
		for _, option := range o.Options {
			f, ok := fields.Find(option)
			if got := f.String(); ok && got != "" && got != "0" && !slices.Contains(reads, option) {
				return errors.Errorf("%s: got %s, which optimizer %s does not read, want optimizer %s",
					option, got, name, strings.Join(r.readers(option), ", "))
			}
		}
	}
	return nil
}

// readers returns the names of the optimizers that read an option.
func (r Registry) readers(option string) (names []string) {
	for _, o := range r.Optimizers {
		if slices.Contains(o.Options, option) && !slices.Contains(names, o.String()) {
			names = append(names, o.String())
		}
	}
	return names
}
