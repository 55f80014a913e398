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
		Eps: c.Eps, PostNorm: c.Block == "post", Recurrent: c.Block == "elman", Tied: c.Head == "tied", Theta: c.RopeTheta,
		Reduction: m.Reduction, Mask: m.mask(), Windows: m.windows,
	}
	var ok bool
	for _, known := range []struct {
		field, name string
		set         func(name string) bool
	}{
		{"position", c.Position, pick(&h.Position, map[string]Position{
			"learned": LearnedPositions, "sinusoidal": SinusoidalPositions, "rope": RotaryPositions, "alibi": NoPositions, "none": NoPositions,
		})},
		{"attention", c.Attention, pick(&h.Mixing, map[string]Mixing{
			"causal": SoftmaxMixing, "window": SoftmaxMixing, "alternating": SoftmaxMixing, "bigbird": SoftmaxMixing, "dilated": SoftmaxMixing,
			"longformer": LongformerMixing, "linear": LinearMixing, "taylor": TaylorMixing,
			"mla": LatentMixing, "mla_rope": LatentRotaryMixing, "mla_latent_rope": LatentKeyRotaryMixing,
		})},
		{"norm", c.Norm, pick(&h.Norm, map[string]Norm{"layernorm": NormRoot, "layernorm_sigma": NormSigma, "layernorm_plain": NormPlain})},
		{"block", c.Block, pick(new(string), map[string]string{"pre": "", "post": "", "elman": ""})},
		{"head", c.Head, pick(new(string), map[string]string{"linear": "", "tied": ""})},
		{"activation", c.Activation, pick(&h.Activation, map[string]Activation{"gelu": GELU, "gelu_tanh": GELUTanh, "relu": ReLU})},
	} {
		if ok = known.set(known.name); !ok {
			return h, errors.Errorf("verify: %s: no formula by hand for %q in a whole model; its layer alone can be checked by a Case", known.field, known.name)
		}
	}
	if c.LoraR > 0 {
		if h.LoRAScale = c.LoraAlpha; c.LoraScale == "alpha/r" {
			h.LoRAScale /= float64(c.LoraR)
		}
	}
	return h, nil
}

// pick sets a choice by its name.
func pick[V any](choice *V, known map[string]V) func(name string) bool {
	return func(name string) (ok bool) {
		*choice, ok = known[name]
		return ok
	}
}

// mask is who sees whom, and what is added to the scores of those who do, in a block, a sequence and a head; nil is causal
// throughout. Where chance draws keys, built.draw knows.
func (m Model) mask() func(block, sequence, head int) Matrix[float64] {
	c, causal := m.Config, CausalMask(m.Config.BlockSize)
	see := func(block, head int) Matrix[float64] {
		switch {
		case c.Attention == "window" || c.Attention == "alternating" && block%2 == 1:
			return WindowMask(c.BlockSize, c.Options.Get("window"))
		case c.Attention == "dilated":
			return causal.Add(Either(dilatedMask(c, head), globalMask(c)))
		}
		return causal
	}
	return func(block, _, head int) Matrix[float64] {
		if c.Position == "alibi" {
			return see(block, head).Add(ALiBiMask(c.BlockSize, head+1, c.NHead))
		}
		return see(block, head)
	}
}

// dilatedMask is a window of every δth token; δ goes evenly from 1 in the first head to the last.
func dilatedMask(c gpt.Config, head int) Matrix[float64] {
	delta := 1
	if c.NHead > 1 {
		delta += head * (c.Options.Get("dilation") - 1) / (c.NHead - 1)
	}
	return DilatedMask(c.BlockSize, 2*c.Options.Get("window")-1, delta)
}

// globalMask are the pairs with one of the first tokens.
func globalMask(c gpt.Config) Matrix[float64] { return GlobalMask(c.BlockSize, firstTokens(c)) }

// firstTokens are those that everybody sees.
func firstTokens(c gpt.Config) (first []int) {
	for i := range c.Options.Get("global_tokens") {
		first = append(first, i)
	}
	return first
}

// windows are the same pairs in two masks: the windows, and the pairs with a global token.
func (m Model) windows(head int) LongformerMask {
	c := m.Config
	under, global := CausalMask(c.BlockSize), globalMask(c)
	if c.Position == "alibi" {
		under = under.Add(ALiBiMask(c.BlockSize, head+1, c.NHead))
	}
	return LongformerMask{Local: under.Add(Except(dilatedMask(c, head), global)), Global: under.Add(global)}
}
