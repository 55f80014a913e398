package parts_test

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// signs is a user-defined optimizer, that of Bernstein et al. 2018: θ ← θ − η·sign(g). Micro-batches, clipping, ranks and
// hooks are the same for every optimizer.
type signs struct{}

func (signs) State() (optim.State, error) { return optim.State{Name: "signs"}, nil }

func (signs) Step(s optim.Step) {
	for i := range s.W.Len() {
		s.W.Set(i, s.W.At(i)-s.Rate*math.Copysign(1, s.G.At(i)))
	}
}

// An optimizer is a part like any other: checkpoints contain its name.
func ExampleRegistry_ownOptimizer() {
	c := small()
	c.Optimizer, c.LearningRate, c.MinLR = "signs", 2e-3, 1e-3
	c.Parts.Optimizers = []parts.Optimizer{{
		Name: "signs",
		New:  func(train.Training) optim.Rule { return signs{} },
	}}
	trains(c)
	// Output: the loss falls, and it writes
}

// Groups give parameters different rules by their names: here the matrices of the blocks move by Muon with three
// iterations unless muon_steps is set, and all other parameters by SGD.
func ExampleRegistry_ownGroups() {
	c := small()
	c.Optimizer, c.LearningRate, c.MinLR, c.MuonSteps = "mixed", 2e-2, 1e-3, 4
	c.Parts.Optimizers = []parts.Optimizer{{
		Name:    "mixed",
		Options: []string{"muon_steps"},
		New: func(t train.Training) optim.Rule {
			return optim.Groups{Name: "mixed", List: []optim.Group{
				{Names: parts.InBlocks(), Matrices: true, Rule: optim.Muon{Momentum: 0.9, Steps: cmp.Or(t.MuonSteps, 3)}},
				{Rule: optim.SGD{Momentum: 0.9}},
			}}
		},
	}}
	trains(c)
	// Output: the loss falls, and it writes
}
