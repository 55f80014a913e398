// Package parts finds the formulas by hand under the names of a configuration. It builds a model by hand from them,
// like gpt and seq2seq build theirs.
package parts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Plan describes the model to build.
type Plan struct {
	Batch, Context    int // B sequences of n tokens
	Layers, Heads, QK int // L, H, dρ

	Position, Attention, Norm, Block, Activation, Head string

	MLP string // empty is mlp

	Option    func(name string) int // options of the attention, such as window; optional
	Random    [][]int               // keys drawn at random for every query, in attention bigbird
	Eps       float64               // ε of every norm
	Theta     float64               // base of rotary positions
	LoRAScale float64               // α/r, or α
	Reduction hand.Reduction        // of the loss

	// Mask returns the additive mask of a head, for a sequence in a block. If it is nil the attention's own mask
	// applies.
	Mask func(block, sequence, head int) hand.Matrix[float64]
	// Dropout returns the mask (0 or 1/(1−p)) of a path, or the zero Matrix. If it is nil there is no dropout. Paths
	// and shapes: drop (B·n, d), h.i.attn.attn_dropout (B·H·n, n), h.i.attn.resid_dropout (B·n, d), h.i.mlp.dropout
	// (B·n, d).
	Dropout func(path string) hand.Matrix[float64]

	Encoder *Encoder // of pairs; nil for a decoder alone
}

// Encoder describes the encoder of a model of pairs: m tokens of every source, the first Lengths of which are not
// padding.
type Encoder struct {
	Context   int
	Lengths   []int
	Attention string
}

// ErrNoFormula is wrapped if a plan names a part that was not derived by hand.
var ErrNoFormula = errors.New("verify: no formula by hand")

// Model builds the model from the parameters.
func Model[T hand.Number](c Plan, p hand.Parameters[T]) (m hand.Model[T], err error) {
	if err := c.check(); err != nil {
		return m, err
	}
	if err := p.Check(); err != nil {
		return m, err
	}
	at := hand.Site[T]{Parameters: p, Eps: c.Eps, LoRAScale: c.LoRAScale, Dropout: c.Dropout}
	m.Loss = func(targets []int) hand.Layer[T] {
		return hand.CrossEntropy[T]{Targets: targets, Reduction: c.Reduction}
	}
	decoder := at
	if c.Encoder != nil {
		decoder = at.At("decoder")
		s := stack(at.At("encoder"), c, c.encoderSide(), hand.Matrix[T]{})
		m.Encoder = &s
	}
	m.Decoder = func(z hand.Matrix[T]) hand.Stack[T] { return stack(decoder, c, c.decoderSide(), z) }
	m.Head = heads[T]()[c.Head](decoder)
	return m, nil
}

// check returns an error if a name has no formula.
func (c Plan) check() error {
	chosen := []struct {
		field, name string
		known       []string
	}{
		{"position", c.Position, known(positions[float64]())},
		{"norm", c.Norm, known(norms[float64]())},
		{"block", c.Block, known(blocks[float64]())},
		{"activation", c.Activation, known(activations[float64]())},
		{"mlp", cmp.Or(c.MLP, "mlp"), known(mlps[float64]())},
		{"head", c.Head, known(heads[float64]())},
		{"attention", c.Attention, known(attentions[float64]())},
		{"attention", c.encoderSide().attention, known(attentions[float64]())},
	}
	for _, s := range chosen {
		if !slices.Contains(s.known, s.name) {
			return fmt.Errorf("%w for %s %q, only for %s", ErrNoFormula, s.field, s.name, strings.Join(s.known, ", "))
		}
	}
	return nil
}

func known[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }

// side is the encoder or the decoder of a plan.
type side struct {
	context   int
	attention string
	lengths   []int // of sequences with padding; optional
	causal    bool
	cross     bool
}

func (c Plan) decoderSide() side {
	return side{context: c.Context, attention: c.Attention, causal: true, cross: c.Encoder != nil}
}

func (c Plan) encoderSide() side {
	if c.Encoder == nil {
		return c.decoderSide()
	}
	return side{context: c.Encoder.Context, attention: c.Encoder.Attention, lengths: c.Encoder.Lengths}
}

func stack[T hand.Number](at hand.Site[T], c Plan, s side, z hand.Matrix[T]) hand.Stack[T] {
	tokens := hand.Embedding[T]{Weight: at.At("wte").Param("weight")}
	out := hand.Stack[T]{
		Tokens:    tokens,
		Positions: positions[T]()[c.Position](at, c, s),
		Drop:      at.Drop("drop"),
	}
	block := blocks[T]()[c.Block]
	for i := range c.Layers {
		out.Blocks = append(out.Blocks, block.at(at.At(fmt.Sprintf("h.%d", i)), c, s, i, z))
	}
	if block.final {
		out.Norm = norms[T]()[c.Norm](at.At("ln_f"))
	}
	return out
}
