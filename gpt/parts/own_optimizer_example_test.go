package parts_test

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// signs is a user-defined optimizer (Bernstein et al. 2018): θ ← θ − η·sign(g). Micro-batches, clipping, ranks and
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
				{
					Names: parts.InBlocks(), Matrices: true,
					Rule: optim.Muon{Momentum: 0.9, Steps: cmp.Or(t.MuonSteps, 3)},
				},
				{Rule: optim.SGD{Momentum: 0.9}},
			}}
		},
	}}
	trains(c)
	// Output: the loss falls, and it writes
}

// orthogonal is Muon (Jordan et al. 2024) in a user's own code, for matrices alone: m ← μm + g, u = g + μm, X = u/‖u‖,
// five times X ← aX + (bA + cA²)X with A = XXᵀ, and θ ← θ − η(0.2·√max(rows, cols)·X + λθ).
type orthogonal struct{ momentum float64 }

func (orthogonal) State() (optim.State, error) {
	return optim.State{Name: "orthogonal", Moments: 1, Whole: true}, nil
}

func (o orthogonal) Step(s optim.Step) {
	rows, cols, norm := s.W.Shape[0], s.W.Shape[1], 1e-30
	x := make([]float64, s.W.Len()) // empty if another machine updates this parameter
	for i := range x {
		g := s.Scale * s.G.At(i)
		s.M.Set(i, o.momentum*s.M.At(i)+g)
		x[i] = g + o.momentum*s.M.At(i)
		norm += x[i] * x[i]
	}
	for i := range x {
		x[i] /= math.Sqrt(norm)
	}
	at := func(i, j int) float64 { return x[i*cols+j] }
	for range min(5, len(x)) {
		a := product(rows, cols, rows, at, func(i, j int) float64 { return at(j, i) })
		atA := func(i, j int) float64 { return a[i*rows+j] }
		b := product(rows, rows, rows, atA, atA)
		for i := range b {
			b[i] = -4.7750*a[i] + 2.0315*b[i]
		}
		for i, y := range product(rows, rows, cols, func(i, j int) float64 { return b[i*rows+j] }, at) {
			x[i] = 3.4445*x[i] + y
		}
	}
	scale := 0.2 * math.Sqrt(float64(max(rows, cols)))
	for i := range x {
		s.W.Set(i, s.W.At(i)-s.Rate*(scale*x[i]+s.Decay*s.W.At(i)))
	}
}

// product returns the matrix a·b of n rows and m columns, for a with k columns.
func product(n, k, m int, a, b func(i, j int) float64) []float64 {
	c := make([]float64, n*m)
	for i := range c {
		for l := range k {
			c[i] += a(i/m, l) * b(l, i%m)
		}
	}
	return c
}

// Muon takes fifty lines in a user's own code. Groups give it the matrices of the blocks, and AdamW the rest.
func ExampleRegistry_ownMuon() {
	c := small()
	c.Optimizer, c.LearningRate, c.MinLR = "own_muon", 1e-2, 1e-3
	c.Parts.Optimizers = []parts.Optimizer{{
		Name: "own_muon",
		New: func(t train.Training) optim.Rule {
			return optim.Groups{Name: "own_muon", List: []optim.Group{
				{Names: parts.InBlocks(), Matrices: true, Rule: orthogonal{0.95}},
				{Rule: optim.AdamW{Beta1: t.Beta1, Beta2: t.Beta2}},
			}}
		},
	}}
	trains(c)
	// Output: the loss falls, and it writes
}
