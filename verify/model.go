package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pkg/errors"
)

// Model is what Check looks at: a configuration, the numbers of its parameters, and a batch of text.
type Model struct {
	Config          gpt.Config
	Reduction       Reduction
	Parameters      Parameters[float64]
	Tokens, Targets []int  // B·T each
	Seed, Step      uint64 // of the dropout
}

// NewModel fills the model that c describes with random numbers: nothing is left at 0 or 1, where a mistake could hide,
// words repeat within and across sequences, and one target in seven is ignored.
func NewModel(c gpt.Config, batch int, seed uint64) (Model, error) {
	m := Model{Config: c.Resolved(), Parameters: Parameters[float64]{}, Seed: seed, Step: 3}
	shapes, err := m.shapes(batch)
	if err != nil {
		return Model{}, err
	}
	for name, s := range shapes {
		p := Random(fmt.Sprint(seed, " ", name), s[0], s[1])
		if strings.Contains(name, "ln_") && strings.HasSuffix(name, ".weight") {
			p = p.Scale(0.5).Shift(1)
		}
		m.Parameters[name] = p
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range batch * c.BlockSize {
		m.Tokens = append(m.Tokens, rng.IntN(c.VocabSize))
		target := rng.IntN(c.VocabSize)
		if i%7 == 3 {
			target = Ignore
		}
		m.Targets = append(m.Targets, target)
	}
	return m, nil
}

// shapes asks the library which parameters the model has.
func (m Model) shapes(batch int) (map[string][2]int, error) {
	b, err := build(m, batch, kernels64)
	if err != nil {
		return nil, err
	}
	out := map[string][2]int{}
	for _, p := range b.model.Params() {
		if _, twice := out[p.Name()]; twice {
			return nil, errors.Errorf("verify: %s is declared twice", p.Name())
		}
		rows, cols := matrixShape(p.Tensor().Shape)
		out[p.Name()] = [2]int{rows, cols}
	}
	return out, nil
}

// matrixShape is the shape of a parameter as a matrix: vectors are rows, and leading axes become one.
func matrixShape(shape []int) (rows, cols int) {
	rows, cols = 1, 1
	for _, n := range shape {
		rows, cols = rows*cols, n
	}
	return rows, cols
}

// batch is B.
func (m Model) batch() int { return len(m.Tokens) / m.Config.BlockSize }

// Count is the number of parameters.
func (m Model) Count() (n int) {
	for _, p := range m.Parameters {
		n += len(p.Data)
	}
	return n
}

// hand describes the model to the formulas.
func (m Model) hand() (GPT, error) {
	c := m.Config
	h := GPT{
		Batch: m.batch(), Context: c.BlockSize, Layers: c.NLayer, Heads: c.NHead, QK: c.QKSize,
		Eps: c.Eps, PostNorm: c.Block == "post", Tied: c.Head == "tied", Reduction: m.Reduction,
	}
	switch c.Activation {
	case "gelu":
		h.Activation = GELU
	case "gelu_tanh":
		h.Activation = GELUTanh
	case "relu":
		h.Activation = ReLU
	default:
		return h, errors.Errorf("verify: activation: no formula by hand for %q", c.Activation)
	}
	if c.LoraR > 0 {
		if h.LoRAScale = c.LoraAlpha; c.LoraScale == "alpha/r" {
			h.LoRAScale /= float64(c.LoraR)
		}
	}
	return h, nil
}
