package session

import (
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// run is a training.
type run struct {
	*gpt.Trainer
	data   data
	losses []float64 // of every step
	norms  []float64 // of the gradient, before clipping
	probe  *inspect.Probe
	roads  []road // to the gradients; built when the first is asked for
}

// start begins a run. It takes the names that the choice leaves out from Default.
func start(c Choice) (*run, error) {
	usual := Default()
	for _, name := range []struct{ got, usual *string }{
		{&c.Task, &usual.Task}, {&c.Position, &usual.Position}, {&c.Norm, &usual.Norm},
		{&c.Attention, &usual.Attention},
	} {
		if *name.got == "" {
			*name.got = *name.usual
		}
	}
	list := tasks()
	i := slices.IndexFunc(list, func(t task) bool { return t.name == c.Task })
	if i < 0 {
		return nil, errors.Errorf("task: got %.40q, want sum, sort or text", c.Task)
	}
	config := c.config()
	data, err := list[i].load(&config, c.Text)
	if err != nil {
		return nil, err
	}
	r := &run{data: data}
	if r.Trainer, err = gpt.NewTrainer(config, data.Corpus, data.tok); err != nil {
		return nil, err
	}
	const attention, linear, recurrence = "h.*.attn.weights", "h.*.attn.scores", "h.*.attn.state_norm"
	for _, heads := range [][]string{{attention, recurrence}, {attention}, {linear}, {recurrence}, nil} { // what it has
		if r.probe, err = inspect.Tap(r.Model, append(heads, "logits")...); err == nil {
			break
		}
	}
	return r, err
}

// Started describes a run that has begun.
type Started struct {
	Parameters int      `json:"parameters"`
	Uniform    float64  `json:"uniform"` // the loss of a uniform guess, ln V, in nats
	Matrices   []Matrix `json:"matrices"`
	Vocabulary []string `json:"vocabulary"`
	Block      int      `json:"block"` // tokens of a sequence
	Batch      int      `json:"batch"`
	Steps      int      `json:"steps"` // of the schedule of the learning rate
}

// Matrix is a parameter. A vector is a row.
type Matrix struct {
	Name   string    `json:"name"`
	Rows   int       `json:"rows"`
	Cols   int       `json:"cols"`
	Values []float64 `json:"values,omitempty"`
}

func (r *run) started() Started {
	c := r.Config()
	s := Started{Uniform: math.Log(float64(c.VocabSize)), Block: c.BlockSize, Batch: c.BatchSize, Steps: c.LRDecayIters}
	for _, p := range r.Model.Params() {
		m := matrix(p.Name(), p.Tensor())
		s.Parameters += m.Rows * m.Cols
		m.Values = nil
		s.Matrices = append(s.Matrices, m)
	}
	for id := range c.VocabSize {
		name, err := r.data.tok.Decode([]int{id})
		if err != nil {
			name = "?"
		}
		s.Vocabulary = append(s.Vocabulary, name)
	}
	return s
}

// matrix returns a tensor as a matrix, with its leading axes merged, in four digits.
func matrix(name string, t graph.Tensor) Matrix {
	m := Matrix{Name: name, Rows: 1, Cols: 1}
	for _, n := range t.Shape {
		m.Rows, m.Cols = m.Rows*m.Cols, n
	}
	m.Values = t.Floats()
	for i, x := range m.Values {
		m.Values[i] = rounded(x)
	}
	return m
}

// rounded returns x in four digits, for a picture.
func rounded(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	if math.IsInf(scale, 0) {
		return 0
	}
	return math.Round(x*scale) / scale
}

// Stepped holds what some steps have measured.
type Stepped struct {
	Step   int       `json:"step"`   // the last one, from 1
	Losses []float64 `json:"losses"` // of each, in nats for a token
	Norm   float64   `json:"norm"`   // of the last gradient
	Rate   float64   `json:"rate"`   // of the last step
}

// steps does n steps.
func (r *run) steps(n int) (s Stepped, err error) {
	for range n {
		p, err := r.Step()
		if err != nil {
			return s, err
		}
		r.losses, r.norms = append(r.losses, p.Loss), append(r.norms, p.Norm)
		s.Step, s.Norm, s.Rate = p.Step, p.Norm, p.LR
		s.Losses = append(s.Losses, p.Loss)
	}
	return s, nil
}

// shown returns a token as it is shown.
func shown(s string) string {
	return strings.NewReplacer(" ", "␣", "\n", "⏎", "\t", "→").Replace(s)
}
