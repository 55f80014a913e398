package gpt

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Validate returns the first error in c, which names the field, its value and the values that are allowed. It allocates
// next to nothing regardless of the sizes, so call it before anything else reads c.
func (c Config) Validate() error {
	p, o, err := c.validated()
	if err != nil {
		return err
	}
	if err := c.trainingFields().Check(); err != nil {
		return err
	}
	if c.Hooks.Loss != nil && (c.LabelSmoothing != 0 || c.ZLoss != 0) {
		return errors.Errorf("label_smoothing and z_loss: got %v and %v, want 0 with a Loss of Hooks, which replaces "+
			"the cross entropy", c.LabelSmoothing, c.ZLoss)
	}
	if c.Carry {
		if err := p.checkCarry(); err != nil {
			return err
		}
	}
	if err := c.known().CheckOptimizer(p.Optimizer, c.trainingFields()); err != nil {
		return err
	}
	if want := p.factors.Optimizers; want != nil && !slices.Contains(want, p.Optimizer) {
		return errors.Errorf("optimizer: got %s, want %s with parametrization %s",
			p.Optimizer, strings.Join(want, " or "), p.Parametrization)
	}
	if err := c.Check(c.Parts.Schedules...); err != nil {
		return err
	}
	if c.NLayer <= mostDeclared { // otherwise not all names are known before the network is built
		if err := c.Frozen.Check(o.names); err != nil {
			return err
		}
	}
	return p.checkMemory(o)
}

// ValidateModel is [Config.Validate] without the training half: it checks what building a network requires, for example
// of one that [FromHuggingFace] has read.
func (c Config) ValidateModel() error {
	_, _, err := c.validated()
	return err
}

// validated returns the plan of the network and what it declares, or an error if it cannot be built.
func (c Config) validated() (p plan, o outline, err error) {
	if c.VocabSize == 0 {
		return p, o, errors.New(
			"vocab_size: got 0, which means from the text: set it to the tokenizer's vocabulary first")
	}
	if err := c.NetworkFields().Check(); err != nil {
		return p, o, err
	}
	if c.DrawnTokens < 0 {
		return p, o, errors.Errorf("DrawnTokens: got %d, want 0 for all, or more", c.DrawnTokens)
	}
	p = c.planned()
	if err := p.design.Validate(c.BlockSize); err != nil {
		return p, o, err
	}
	if p.unfit != nil {
		return p, o, p.unfit
	}
	if p.head.New == nil {
		return p, o, errors.Errorf("head: got %s, a part without New: nothing builds it", p.Head)
	}
	if err := p.checkFuture(); err != nil {
		return p, o, err
	}
	p = p.targeted()
	if o, err = p.outline(); err != nil {
		return p, o, err
	}
	if err := c.Adapters.check(o); err != nil {
		return p, o, err
	}
	return p, o, c.checkParameters(4 * (o.base + o.adapters + o.values))
}

// checkCarry returns an error if a window of the text cannot continue from the one before it.
func (p plan) checkCarry() error {
	switch {
	case p.Hooks.Fill != nil:
		return errors.New("carry: got true, want false with a Fill of Hooks, whose batches may continue no text")
	case p.design.Stack.HasOwn(p.Parts):
		return errors.New("carry: got true, want false with a user-defined part, whose layers may combine tokens " +
			"without handing on what they know of them")
	}
	return p.design.CheckCarry()
}

// checkFuture returns an error if the tokens after the next one cannot be predicted.
func (p plan) checkFuture() error {
	n := p.FutureTokens
	switch {
	case n == 1:
		return nil
	case n >= p.BlockSize:
		return errors.Errorf("n_future_tokens: got %d, want less than block_size %d: "+
			"a sequence has no target for the last of these tokens", n, p.BlockSize)
	case p.Hooks.Loss != nil:
		return errors.Errorf("n_future_tokens: got %d, want 1 with a Loss of Hooks, "+
			"which has no targets for the tokens after the next one", n)
	}
	return nil
}

// Resolved returns c with every default filled in where zero means the default; constructors should read the result. It
// does not change VocabSize, and leaves the sizes of a head at 0 if [Config.Validate] would refuse n_head.
func (c Config) Resolved() Config { return c.planned().targeted().Config }

// Count returns the number of parameters that the network's layers declare, and the number of those that are trained:
// all except biases that balance experts, or only the adapters if lora_r > 0, without those in Frozen. For the
// default attention, norm and MLP these are
//
//	V·d + positions + n_layer·block + norm + head     norm = d, or 2d with biases
//	block = 2·norm + d·H(2dρ+dh) + H·dh·d + 2·d·f     + H(2dρ+dh) + d + f + d with biases
//	positions = T·d learned, 0 otherwise
//	head  = 0 tied, d·V + V linear with biases, d·V without
//	adapter = r·(in + out), three on c_attn
//
// With n_future_tokens n there are n−1 blocks more. In a network deeper than 128 blocks the others count like these.
// Counts beyond int64, which [Config.Validate] refuses, are returned as math.MaxInt64.
func (c Config) Count() (total, trainable int64) {
	p, o := c.counted()
	return toInt64(o.base + o.adapters), toInt64(o.trained(p.Config))
}

// Trained lists the names of the parameters that may be trained: all, or with LoRA the adapters.
func (c Config) Trained() []string {
	_, o := c.counted()
	return o.names
}

// Matrices lists the names of the matrices within a block, or of the head, which LoraTargets may name.
func (c Config) Matrices() []string {
	_, o := c.counted()
	return o.linears
}

// counted returns the plan of c and what it declares. For an invalid Config it counts what it can.
func (c Config) counted() (plan, outline) {
	p := c.planned().targeted()
	o, _ := p.outline()
	return p, o
}

func (o outline) trained(c Config) float64 {
	if c.LoraR > 0 {
		return o.adapters - o.frozen
	}
	return o.base - o.frozen
}

func toInt64(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}

// Active returns the number of parameters that a token passes: of the experts' parameters, the share
// num_experts_per_tok of num_experts, and all others.
func (c Config) Active() int64 {
	_, o := c.counted()
	return toInt64(o.active)
}

// Work is the number of operations that training costs for a token, as far as matrix products do them.
type Work struct {
	// Weights are products with parameters, in the forward and the backward pass: 6 for each parameter, 4 for a frozen
	// one, and experts' in the share that a token passes. The last norm and the head count once for each of
	// n_future_tokens.
	Weights float64

	// Mixing are products in which the token meets other tokens: 6 for each pair of numbers, as many as are computed.
	// An attention returns their number as an nn.Mixing: for a softmax the keys that the mask leaves to the tiles of
	// the kernel. An attention that does not has T·H·(dρ+dh). For a block that does not build the given attention, it
	// is the number that the block returns as an nn.Mixing, or 0 if the block is not one; the layers inside such a
	// block are not counted. Scores that the backward pass computes again are not counted.
	Mixing float64

	// Optimizer are the products of the optimizer's rule, such as the iteration of Muon and the rotations of SOAP, as
	// the share of one of the tokens of a step.
	Optimizer float64
}

// Total returns the sum.
func (w Work) Total() float64 { return w.Weights + w.Mixing + w.Optimizer }

// WorkPerToken counts the matrix products of a training step. For an invalid Config it counts what it can.
func WorkPerToken(c Config) Work {
	p, o := c.counted()
	w := Work{Weights: o.weights, Mixing: 6 * o.mixing()}
	for _, x := range o.updated {
		w.Optimizer += x.times * p.rule.Products(p.Training, x.Name(), x.Tensor().Shape, x.PackedColumns())
	}
	tokens := float64(p.BatchSize) * float64(p.BlockSize) * float64(p.GradientAccumulationSteps)
	w.Optimizer /= max(1, tokens)
	return w
}

// FLOPsPerToken returns the Total of WorkPerToken.
func FLOPsPerToken(c Config) float64 { return WorkPerToken(c).Total() }

// Memory returns the number of bytes that training in float32 needs, on each machine if there are several: parameters,
// the optimizer's state, masks and ids, and activations and gradients, planned as a run plans them. It is exact for up
// to four blocks; in a deeper network every further block needs as much as one of these, with a list of attentions as
// the block that has its place in the list. For an invalid Config it counts what it can.
func (c Config) Memory() (bytes float64) {
	p, o := c.counted()
	bytes, err := p.need(o)
	if err != nil {
		return p.parameterBytes(o)
	}
	return bytes
}

// parameterBytes returns the memory that does not depend on the batch: parameters and masks, gradients, and the
// optimizer's state.
func (p plan) parameterBytes(o outline) float64 {
	kept := train.Kept(p.Training, p.Run, p.Hooks, p.rule, graph.Expr{})
	return 4 * (o.base + o.adapters + o.values + (1+kept)*o.trained(p.Config))
}

// need is Memory of p, which declares o. It does not plan very wide layers, since a layer may list its
// columns, nor a long recurrence, since its reference form lists its steps; for these it returns a lower bound.
func (p plan) need(o outline) (bytes float64, err error) {
	if p.TooWide() || p.Block == "elman" && !p.Kernels && p.BlockSize > 1<<10 {
		tokens, d := float64(p.BatchSize)*float64(p.BlockSize), float64(p.NEmbd)
		heads := float64(p.NHead) * (2*float64(p.QKSize) + float64(p.VSize))
		token := float64(p.NLayer)*(4*d+heads+float64(p.NInner)) + float64(p.VocabSize)
		return p.parameterBytes(o) + 4*tokens*token, nil
	}
	build := func(g *graph.Graph, blocks int) ([]string, graph.Expr, []graph.Expr) {
		short := p.deep(blocks)
		m := short.declare(g, p.BatchSize)
		return short.blocks(), m.Objective, m.candidates()
	}
	bytes, err = train.Need(p.Training, p.Run, p.Hooks, p.rule, p.NLayer, p.Period(), build)
	states := 1 + 2*float64(p.GradientAccumulationSteps) // the results, and those before and after a step
	return bytes + 4*states*float64(p.BatchSize)*o.carried, err
}

// optimizer returns the function that builds the optimizer's rule.
func (c Config) optimizer() train.Optimizer { return c.planned().rule }

// RateAt returns the learning rate of iteration it, counted from 0, by a schedule of c.Parts or the library's, or NaN
// if neither has that name.
func (c Config) RateAt(it int) float64 { return c.Training.RateAt(it, c.Parts.Schedules...) }

// blocks returns the paths of the blocks, including those for future tokens.
func (c Config) blocks() (places []string) {
	for i := range c.NLayer + max(1, min(c.FutureTokens, maxFuture)) - 1 {
		places = append(places, fmt.Sprintf("h.%d", i))
	}
	return places
}

// checkParameters returns an error if bytes, which parameters and masks need even without training, exceed the memory
// limit.
func (c Config) checkParameters(bytes float64) error {
	return c.CheckMemory(bytes, "parameters and masks", c.fields(),
		"n_layer", "n_head", "n_embd", "vocab_size", "block_size", "qk_size", "v_size", "n_inner", "lora_r")
}

// checkMemory returns an error if training would exceed the memory limit. It names the larger part of the memory.
func (p plan) checkMemory(o outline) error {
	parameters := p.parameterBytes(o)
	if err := p.checkParameters(parameters); err != nil {
		return err
	}
	bytes, err := p.need(o)
	switch {
	case err != nil:
		return err
	case parameters > bytes/2:
		return p.checkParameters(bytes)
	}
	return p.CheckMemory(bytes, "activations", p.fields(),
		"batch_size", "block_size", "n_layer", "n_head", "n_embd", "vocab_size")
}

func (a Adapters) check(o outline) error {
	if a.LoraR == 0 {
		switch {
		case a.LoraAlpha != 0:
			return errors.Errorf("lora_alpha: got %v, want 0 while lora_r is 0", a.LoraAlpha)
		case len(a.LoraTargets) > 0:
			return errors.Errorf("lora_targets: got %s, want none while lora_r is 0",
				field.Clip(strings.Join(a.LoraTargets, ",")))
		case a.LoraFused:
			return errors.New("lora_fused: got true, want false while lora_r is 0")
		}
		return nil
	}
	for i, target := range a.LoraTargets {
		one := Adapters{LoraR: 1, LoraTargets: []string{target}}
		switch {
		case slices.Contains(a.LoraTargets[:i], target):
			return errors.Errorf("lora_targets: got %s twice", field.Clip(target))
		case slices.ContainsFunc(o.linears, one.adapts):
		case one.adapts("lm_head"):
			return errors.New("lora_targets: got lm_head, which in a tied head has no weight of its own to adapt")
		default:
			return errors.Errorf("lora_targets: got %q, want endings of %s%s",
				field.Clip(target), strings.Join(o.adaptable(), ", "), spelling.Hint(target, endings(o.adaptable())))
		}
	}
	return nil
}

// endings returns all endings of names that begin after a dot, and the names.
func endings(names []string) (list []string) {
	for _, name := range names {
		for more := true; more; _, name, more = strings.Cut(name, ".") {
			list = append(list, name)
		}
	}
	return list
}

// adaptable returns the names that a target may end. It includes a tied head, which is refused with another reason.
func (o outline) adaptable() []string {
	if slices.Contains(o.linears, "lm_head") {
		return o.linears
	}
	return append(slices.Clone(o.linears), "lm_head")
}

// ResumeDiff returns an error that names every field in which c differs from the saved configuration of the run to
// resume. The fields of [train.Run] may differ, because they change no step. A field of 0 counts as its default.
func (c Config) ResumeDiff(saved Config) error {
	c, saved = c.Resolved(), saved.Resolved()
	return c.fields().Fixed().Diff("resume", saved.fields())
}
