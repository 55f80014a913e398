package verify

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Sizes of the generic fixture: no two alike, so that a transposed matrix or a
// wrong divisor cannot pass, with n < n_context.
const (
	fixtureBatch      = 2
	fixtureTokens     = 6
	fixturePositions  = 9
	fixtureFeatures   = 8
	fixtureHeads      = 2
	fixtureQK         = 3
	fixtureValues     = 5
	fixtureHidden     = 13
	fixtureVocabulary = 11
	fixtureBlocks     = 2
	fixtureRank       = 4
)

// Fixture is a model with parameters and text.
type Fixture struct {
	GPT
	Parameters      Parameters[float64]
	Tokens, Targets []int
}

// Variant turns a fixture into a related one.
type Variant func(*Fixture)

// Generic returns a small model in which every mistake we know of shows: two
// blocks, two sequences, all sizes different, words that repeat within and across
// sequences, words and positions that never occur, gains away from 1, biases away
// from 0, and weights large enough to leave the linear regime.
func Generic(variants ...Variant) Fixture {
	f := Fixture{
		GPT: GPT{
			Batch: fixtureBatch, Context: fixtureTokens,
			Layers: fixtureBlocks, Heads: fixtureHeads, QK: fixtureQK,
			Eps: 1e-5, LoRAScale: 1.5,
		},
		Parameters: Parameters[float64]{},
	}
	for _, text := range [][]int{{3, 1, 4, 1, 5, 9, 2}, {6, 5, 3, 5, 8, 9, 7}} {
		tokens, targets := Shift(text)
		f.Tokens = append(f.Tokens, tokens...)
		f.Targets = append(f.Targets, targets...)
	}
	f.weight("wte", fixtureVocabulary, fixtureFeatures)
	f.weight("wpe", fixturePositions, fixtureFeatures)
	for i := range f.Layers {
		h := fmt.Sprintf("h.%d.", i)
		f.gain(h + "ln_1")
		f.linear(h+"attn.c_attn", fixtureFeatures, fixtureHeads*(2*fixtureQK+fixtureValues))
		f.linear(h+"attn.c_proj", fixtureHeads*fixtureValues, fixtureFeatures)
		f.gain(h + "ln_2")
		f.linear(h+"mlp.c_fc", fixtureFeatures, fixtureHidden)
		f.linear(h+"mlp.c_proj", fixtureHidden, fixtureFeatures)
	}
	f.gain("ln_f")
	f.linear("lm_head", fixtureFeatures, fixtureVocabulary)
	for _, change := range variants {
		change(&f)
	}
	return f
}

// Shift splits a text into what the model reads and what it has to say next: the
// last token is nobody's input and the first nobody's target (erratum B10).
func Shift(text []int) (tokens, targets []int) {
	return text[:len(text)-1], text[1:]
}

// WithTying shares the embeddings with the head, which then has no bias.
func WithTying(f *Fixture) {
	f.Tied = true
	delete(f.Parameters, "lm_head.weight")
	delete(f.Parameters, "lm_head.bias")
}

// WithLoRA puts an adapter beside every linear layer but the keys of block 0.
func WithLoRA(f *Fixture) {
	d, rank := fixtureFeatures, fixtureRank
	for i := range f.Layers {
		h := fmt.Sprintf("h.%d.", i)
		f.adapter(h+"attn.c_attn.q", d, rank, fixtureHeads*fixtureQK)
		if i > 0 {
			f.adapter(h+"attn.c_attn.k", d, rank, fixtureHeads*fixtureQK)
		}
		f.adapter(h+"attn.c_attn.v", d, rank, fixtureHeads*fixtureValues)
		f.adapter(h+"attn.c_proj", fixtureHeads*fixtureValues, rank, d)
		f.adapter(h+"mlp.c_fc", d, rank, fixtureHidden)
		f.adapter(h+"mlp.c_proj", fixtureHidden, rank, d)
	}
	f.adapter("lm_head", d, rank, fixtureVocabulary)
}

// WithPostNorm normalises after the sums and not at the end.
func WithPostNorm(f *Fixture) {
	f.PostNorm = true
	delete(f.Parameters, "ln_f.weight")
	delete(f.Parameters, "ln_f.bias")
}

// WithIgnored leaves three targets out of the loss.
func WithIgnored(f *Fixture) {
	for _, i := range []int{0, 4, 11} {
		f.Targets[i] = Ignore
	}
}

// WithPadding makes two tokens of the second sequence padding, in its midst: at its
// end the causal mask would hide them already.
func WithPadding(f *Fixture) {
	padding := make([]bool, fixtureTokens)
	padding[1], padding[3] = true, true
	f.Targets[fixtureTokens+1], f.Targets[fixtureTokens+3] = Ignore, Ignore
	f.Mask = func(block, sequence, head int) Matrix[float64] {
		if sequence == 1 {
			return CausalMask(fixtureTokens).Add(PaddingMask(padding))
		}
		return CausalMask(fixtureTokens)
	}
}

// WithWindow gives every other block a window of three tokens.
func WithWindow(f *Fixture) {
	f.Mask = func(block, sequence, head int) Matrix[float64] {
		if block%2 == 1 {
			return WindowMask(fixtureTokens, 3)
		}
		return CausalMask(fixtureTokens)
	}
}

// WithDropout fixes a mask for every dropout of the model (p = 1/4).
func WithDropout(f *Fixture) {
	f.Dropout = func(site string) Matrix[float64] {
		rows, cols := fixtureBatch*fixtureTokens, fixtureFeatures
		if strings.HasSuffix(site, "attn_dropout") {
			rows, cols = fixtureBatch*fixtureHeads*fixtureTokens, fixtureTokens
		}
		return Random(site, rows, cols).Shift(0.25).Step().Scale(1 / 0.75)
	}
}

// WithSum adds the losses of the tokens up.
func WithSum(f *Fixture) { f.Reduction = Sum }

// WithReLU changes the activation of the MLPs.
func WithReLU(f *Fixture) { f.Activation = ReLU }

// WithGELUTanh changes the activation of the MLPs to GPT-2's.
func WithGELUTanh(f *Fixture) { f.Activation = GELUTanh }

// WithoutBiases drops the biases of all linear layers and LayerNorms.
func WithoutBiases(f *Fixture) {
	for name := range f.Parameters {
		if strings.HasSuffix(name, ".bias") {
			delete(f.Parameters, name)
		}
	}
}

// Random returns a matrix of numbers in ±½ that depend on the name and nothing else.
func Random(name string, rows, cols int) Matrix[float64] {
	h := fnv.New64a()
	h.Write([]byte(name)) // a hash never fails to write
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	out := Zeros[float64](rows, cols)
	for i := range out.Data {
		out.Data[i] = random.Float64() - 0.5
	}
	return out
}

func (f *Fixture) weight(name string, rows, cols int) {
	f.Parameters[name+".weight"] = Random(name+".weight", rows, cols)
}

func (f *Fixture) linear(name string, in, out int) {
	f.weight(name, in, out)
	f.Parameters[name+".bias"] = Random(name+".bias", 1, out)
}

func (f *Fixture) gain(name string) {
	f.linear(name, 1, fixtureFeatures)
	f.Parameters[name+".weight"] = f.Parameters[name+".weight"].Scale(0.5).Shift(1) // 1 ± ¼
}

func (f *Fixture) adapter(name string, in, rank, out int) {
	f.Parameters[name+".lora_d"] = Random(name+".lora_d", in, rank)
	f.Parameters[name+".lora_u"] = Random(name+".lora_u", rank, out)
}
