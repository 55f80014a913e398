package session

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

// Gradient is the derivative of the loss by a parameter: of the batch of the last step, at the weights after it.
type Gradient struct {
	Step     int     `json:"step"`
	Name     string  `json:"name"`
	Row      int     `json:"row"`
	Col      int     `json:"col"`
	Weight   float64 `json:"weight"`
	Symbol   string  `json:"symbol"`   // in the paper
	Equation string  `json:"equation"` // by which it is computed by hand
	States   string  `json:"states"`   // the formula of a numbered equation
	// The entry by the formulas of verify/hand, by Gorgonia's differentiation of the equations, both in float64, and by
	// the kernels in float32 with which the model trains.
	Hand     float64 `json:"hand"`
	Autodiff float64 `json:"autodiff"`
	Trained  float64 `json:"trained"`
	// The largest distances from the gradient by hand over all entries of the matrix, relative as in package verify.
	AutodiffDistance float64 `json:"autodiffDistance"`
	TrainedDistance  float64 `json:"trainedDistance"`
	Matrix           Matrix  `json:"matrix"` // the gradient by hand of all entries
}

// road is a way to the gradients by automatic differentiation.
type road struct {
	model   *gpt.Model
	program *graph.Program
}

// build builds the roads: the equations in float64, and the kernels in float32.
func (r *run) build() error {
	for _, form := range []struct {
		dtype   graph.Dtype
		kernels bool
	}{{graph.Float64, false}, {graph.Float32, true}} {
		var f road
		_, err := graph.Build(form.dtype, r.Config().Seed, func(g *graph.Graph) (err error) {
			c := r.Config()
			c.Configure(g)
			g.Kernels = form.kernels
			if f.model, err = gpt.New(g, c, c.BatchSize); err != nil {
				return err
			}
			f.program, err = graph.Compile(f.model.Objective, f.model.Params()...)
			return err
		})
		if err != nil {
			return err
		}
		r.roads = append(r.roads, f)
	}
	return nil
}

// batch returns the batch of the last step, or one of its own before the first.
func (r *run) batch() (tokens, targets []int, err error) {
	tokens, targets = r.Model.Tokens.Ints(), r.Model.Targets.Ints()
	if r.Done > 0 {
		return tokens, targets, nil
	}
	c := r.Config()
	err = text.Sample(r.Corpus.Train(), rand.New(rand.NewPCG(c.Seed, 1)), tokens, targets, c.BlockSize)
	return tokens, targets, err
}

// gradients returns the gradients of a road for a batch, at the weights of the run.
func (r *run) gradients(f road, tokens, targets []int) (hand.Parameters[float64], error) {
	copy(f.model.Tokens.Ints(), tokens)
	copy(f.model.Targets.Ints(), targets)
	from := r.Model.Params()
	for i, p := range f.model.Params() {
		if err := p.Tensor().Copy(from[i].Tensor()); err != nil {
			return nil, errors.WithMessage(err, p.Name())
		}
	}
	if err := f.program.Run(); err != nil {
		return nil, err
	}
	list := hand.Parameters[float64]{}
	for _, p := range f.model.Params() {
		list[p.Name()] = verify.FromTensor(f.program.Grad(p))
	}
	return list, nil
}

// gradient returns the derivative by an entry of a parameter, three times.
func (r *run) gradient(name string, row, col int) (g Gradient, err error) {
	if r.roads == nil {
		if err := r.build(); err != nil {
			return g, err
		}
	}
	weights := verify.ParametersOf(r.Model.Params())
	w, ok := weights[name]
	switch {
	case !ok:
		return g, errors.Errorf("gradient: the model has no parameter %.80q", name)
	case row < 0 || row >= w.Rows || col < 0 || col >= w.Cols:
		return g, errors.Errorf("gradient: %s: got entry (%d, %d), want one of (%d, %d)",
			name, row, col, w.Rows, w.Cols)
	}
	tokens, targets, err := r.batch()
	if err != nil {
		return g, err
	}
	c := r.Config()
	_, list, err := verify.Model{
		Config: c, Parameters: weights, Tokens: tokens, Targets: targets, Seed: c.Seed,
	}.ByHand()
	if err != nil {
		return g, err
	}
	byHand := list.Parameters()
	at := row*w.Cols + col
	g = Gradient{Step: r.Done, Name: name, Row: row, Col: col, Weight: w.Data[at], Hand: byHand[name].Data[at]}
	g.Symbol, g.Equation = source(list, name, col)
	g.States = statement(g.Equation)
	g.Matrix = Matrix{Name: name, Rows: w.Rows, Cols: w.Cols}
	for _, x := range byHand[name].Data {
		g.Matrix.Values = append(g.Matrix.Values, rounded(x))
	}
	largest := verify.Largest(byHand)
	for i, to := range []struct{ entry, distance *float64 }{
		{&g.Autodiff, &g.AutodiffDistance}, {&g.Trained, &g.TrainedDistance},
	} {
		other, err := r.gradients(r.roads[i], tokens, targets)
		if err != nil {
			return g, err
		}
		*to.entry = other[name].Data[at]
		*to.distance = verify.Distance(other[name], byHand[name], largest).Distance
	}
	return g, nil
}

// source returns the symbol and the equation of the gradient of a column of a parameter.
func source(list hand.Gradients[float64], name string, col int) (symbol, equation string) {
	first := 0
	for _, e := range list {
		if e.Name != name || e.Delta {
			continue
		}
		if col < first+e.Value.Cols {
			return e.Symbol, e.Equation
		}
		first += e.Value.Cols
	}
	return "", ""
}

// statement returns the formula of a numbered equation of the paper. It returns "" for an equation that is a formula
// already.
func statement(equation string) string {
	return map[string]string{
		"(3)":    "∂L/∂w: row v is the sum of Δ over the tokens with id v",
		"(41)":   "∂L/∂w̃ = Σ over tokens of ā ∘ Δ",
		"(42)":   "∂L/∂b̃ = Σ over tokens of Δ",
		"(31.a)": "∂L/∂w_q = aᵗ Δ_q, where Δ_q = Δ_scores k / √dρ",
		"(31.b)": "∂L/∂w_k = aᵗ Δ_k, where Δ_k = Δ_scoresᵗ q / √dρ",
		"(23)":   "∂L/∂w_v = aᵗ Δ_v, where Δ_v = ρᵗ Δ",
		"(32.a)": "∂L/∂b_q = Σ over tokens of Δ_q",
		"(29)":   "∂L/∂b_k = 0: a softmax does not change with its bias",
		"(24)":   "∂L/∂b_v = Σ over tokens of Δ_v",
	}[equation]
}
