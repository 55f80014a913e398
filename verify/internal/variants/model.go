// Package variants lists the parts that a configuration can name, each with its layer by hand, its entry of the
// inventory and the settings of its Cases. It builds a model by hand from them, like gpt and seq2seq build theirs;
// verify/internal/cases derives the Cases, which need verify.Case. A formula is written once, generic in its numbers;
// List is instantiated for float64 and, for the complex step, complex128.
package variants

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Plan describes the model to build.
type Plan struct {
	Batch, Context    int // B sequences of n tokens
	Layers, Heads, QK int // L, H, dρ

	Position, Attention, Norm, Block, Activation, Head string

	MLP     string  // empty is mlp
	Experts Experts // of mlp moe

	With map[string]string // parts by the keys of further kinds, such as qk_norm; none where it has no entry

	Option    func(name string) int // options of the attention, such as window; optional
	Random    [][]int               // keys drawn at random for every query, in attention bigbird
	Eps       float64               // ε of every norm
	Theta     float64               // base of rotary positions
	ThetaNear float64               // in blocks with a window, without scaling; 0 is as in the others
	Scaling   hand.RotaryScaling    // of rotary positions
	Divisors  []float64             // of longrope for contexts beyond the training's
	RotaryDim int                   // features of a head that rotate; 0 is all
	NoRope    int                   // k for no rotation in every k-th block; 0 is none
	Cap       float64               // of the scores of attention by a softmax; 0 for none
	LogitCap  float64               // c of c·tanh(z/c), or 0
	LoRAScale float64               // α/r, or α
	Reduction hand.Reduction        // of the loss
	Smoothing float64               // of the labels
	ZLoss     float64               // λ of the loss
	Future    int                   // blocks beside the last one, for multi-token prediction

	// Factors on the embedded tokens, queries, branches, the head's input and the logits; 0 is none.
	Embeddings, Queries, Branch, HeadInput, Logits float64

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
func Model[T hand.Number](c Plan, p hand.Parameters[T]) (hand.Model[T], error) {
	build, err := Builder[T](c)
	if err != nil {
		return hand.Model[T]{}, err
	}
	return build(p)
}

// Builder returns a function that builds the model from parameters. It looks the names of the plan up once, for the
// complex step, which builds a model for every entry. Several threads may call it.
func Builder[T hand.Number](c Plan) (build func(hand.Parameters[T]) (hand.Model[T], error), err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	lists := map[string][]Variant[T]{}
	for _, kind := range kinds() {
		lists[kind] = of[T](kind)
	}
	return func(p hand.Parameters[T]) (hand.Model[T], error) { return model(c, p, lists) }, nil
}

func model[T hand.Number](c Plan, p hand.Parameters[T], lists map[string][]Variant[T]) (m hand.Model[T], err error) {
	if err := p.Check(); err != nil {
		return m, err
	}
	at := hand.Site[T]{Parameters: p, Eps: c.Eps, LoRAScale: c.LoRAScale, Queries: c.Queries, Dropout: c.Dropout}
	m.Loss = func(targets []int) hand.Layer[T] {
		first := hand.CrossEntropy[T]{
			Targets: targets, Reduction: c.Reduction, Smoothing: c.Smoothing, ZLoss: c.ZLoss,
		}
		if c.Future == 0 {
			return first
		}
		return hand.MultiToken[T]{CrossEntropy: first, Heads: 1 + c.Future, Length: c.Context}
	}
	if alpha := c.Experts.Balance; alpha > 0 {
		at.Balance = &hand.Balances[T]{Coefficient: alpha}
		m.Balance = at.Balance
	}
	decoder := Place[T]{Site: at, plan: c, lists: lists, side: c.decoderSide()}
	if c.Encoder != nil {
		decoder = decoder.At("decoder")
		s := stack(Place[T]{Site: at.At("encoder"), plan: c, lists: lists, side: c.encoderSide()})
		m.Encoder = &s
	}
	m.Decoder = func(z hand.Matrix[T]) hand.Stack[T] {
		p := decoder
		p.memory = z
		return stack(p)
	}
	m.Head = scaled(decoder.layer("head", c.Head), c.HeadInput, c.Logits)
	if c.LogitCap > 0 {
		m.Cap = hand.SoftCap[T]{Cap: c.LogitCap}
	}
	return m, nil
}

// check returns an error if a name has no formula.
func (c Plan) check() error {
	used := []struct{ kind, name string }{
		{"position", c.Position}, {"norm", c.Norm}, {"block", c.Block}, {"activation", c.Activation},
		{"mlp", cmp.Or(c.MLP, "mlp")}, {"head", c.Head},
	}
	for kind, name := range c.With {
		used = append(used, struct{ kind, name string }{kind, name})
	}
	for _, attention := range slices.Concat(spread(c.Attention), spread(c.encoderSide().attention)) {
		used = append(used, struct{ kind, name string }{"attention", attention})
	}
	for _, s := range used {
		if known := names(s.kind); !slices.Contains(known, s.name) {
			return fmt.Errorf("%w for %s %q, only for %s", ErrNoFormula, s.kind, s.name, strings.Join(known, ", "))
		}
	}
	return nil
}

// spread returns the attentions of a list such as gla*3,causal, one for each block until the list repeats.
func spread(list string) (blocks []string) {
	for _, item := range strings.Split(list, ",") {
		name, times, _ := strings.Cut(item, "*")
		n, err := strconv.Atoi(times)
		if err != nil {
			n = 1
		}
		for range n {
			blocks = append(blocks, name)
		}
	}
	return blocks
}

// names returns the sorted names of a kind.
func names(kind string) (list []string) {
	for _, v := range of[float64](kind) {
		list = append(list, v.Name)
	}
	slices.Sort(list)
	return list
}

// scaled returns l with factors on its input and output, where 0 is none.
func scaled[T hand.Number](l hand.Layer[T], in, out float64) hand.Layer[T] {
	if in, out = cmp.Or(in, 1), cmp.Or(out, 1); in == 1 && out == 1 {
		return l
	}
	return hand.Scaled[T]{Layer: l, In: in, Out: out}
}

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

func stack[T hand.Number](p Place[T]) hand.Stack[T] {
	p = p.shared()
	out := hand.Stack[T]{Embeddings: p.embeddings(), Stream: p.stream()}
	block, attentions := p.variant("block", p.plan.Block), spread(p.side.attention)
	for i := range p.plan.Layers + p.plan.Future {
		at := p.At(fmt.Sprintf("h.%d", i))
		at.block = min(i, p.plan.Layers-1)
		at.side.attention = attentions[at.block%len(attentions)]
		if i >= p.plan.Layers {
			out.Future = append(out.Future, block.Hand(at))
			continue
		}
		out.Blocks = append(out.Blocks, block.Hand(at))
	}
	if block.Final {
		out.Norm = p.At("ln_f").layer("norm", p.plan.Norm)
	}
	return out
}
