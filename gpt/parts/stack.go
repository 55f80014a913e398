package parts

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Stack describes the stack of blocks of a model: their sizes, settings for all of them, and their parts by name. A
// zero in the fields of the second and third group means the default, which Registry.Design fills in.
type Stack struct {
	NLayer  int     // number of blocks
	NHead   int     // H
	NEmbd   int     // d
	Dropout float64 // probability of dropping a value, in [0, 1)
	Bias    bool    // biases in every linear layer and layer normalisation
	// AttentionBias and MLPBias give biases to the linear layers of attention and of MLPs alone.
	AttentionBias, MLPBias bool

	QKSize int     // dρ of one head; by default d/H
	VSize  int     // dh of one head; by default d/H
	NInner int     // f; by default 4d
	Eps    float64 // ε of the norms; by default 1e-5
	// AttnLogitSoftcapping is c in c·tanh(s/c), which replaces the scores of attention by a softmax; 0 is none.
	AttnLogitSoftcapping float64
	RopeTheta            float64 // base of the rotary positions' frequencies; by default 10000
	// PartialRotaryFactor is the share of the features of a head that rotary positions rotate; 0 means all.
	PartialRotaryFactor float64
	// RopeLocalBaseFreq is the base in blocks of attention gqa_window with a window, without RopeScaling; 0 means that
	// these have the positions of the others.
	RopeLocalBaseFreq float64
	RopeScaling       string  // for contexts longer than those of the training
	RopeFactor        float64 // of RopeScaling; 0 without
	RopeOriginal      int     // number of tokens of the context in training, for some of them; otherwise 0
	// RopeBetaFast and RopeBetaSlow are the numbers of turns that are the borders of YaRN; by default 32 and 1.
	RopeBetaFast, RopeBetaSlow float64
	RopeUnrounded              bool // YaRN does not round the indices of its borders
	// RopeAttentionFactor is the factor of YaRN and LongRoPE on rotated features. By default it is 0.1·ln f + 1 for
	// YaRN, and √(1 + ln f/ln RopeOriginal), or 1 for f ≤ 1, for LongRoPE, with f = RopeFactor.
	RopeAttentionFactor float64
	// RopeShortFactor and RopeLongFactor are LongRoPE's divisors of the frequencies of all pairs, with commas between
	// them: for contexts up to RopeOriginal, and for longer ones.
	RopeShortFactor, RopeLongFactor string
	// NoRopeLayerInterval is k if blocks k, 2k, …, counted from 1, have no rotary positions; 0 means no such block.
	NoRopeLayerInterval int

	NumExperts       int  // E, of mlp moe and moe_clamped; by default 8
	NumExpertsPerTok int  // k, the number of experts that a token passes; by default 2
	NSharedExperts   int  // number of experts that every token passes, in addition
	NormTopKProb     bool // divide the gates of a token by their sum
	// RouterAuxLossCoef is α of the loss α·E·Σ f_e·P_e, which balances the experts of every block. 0 is none, except
	// in a new training: see Begun.
	RouterAuxLossCoef float64
	// RouterBiasUpdateRate is u of the bias that balances the experts of every block without a loss: nn.Load.Rebalance.
	RouterBiasUpdateRate float64
	SwigluLimit          float64 // L of mlp moe_clamped; by default 7

	// By name, by default the first of the library's list.
	Position   string // encoding of the tokens' positions
	Attention  string // or a list over the blocks, which repeats: gated_deltanet*3,causal
	Norm       string
	Block      string // the place of the normalisation
	Activation string // of the MLP
	MLP        string
	// ScoringFunc is how the logits of the experts become probabilities.
	ScoringFunc string
	QKNorm      string // of queries and keys
	AttnGate    string // of the results of the heads
	AttnSinks   string // of the heads
	ShortConv   string // in a block
	// ValueResidual is how the values of the first block reach the others.
	ValueResidual string
	Skips         string // from earlier places of the residual stream to the inputs of blocks
	// Initialization says how c_proj of attention and MLP start.
	Initialization string
	With           With    // further parts, by the keys of Kinds
	Options        Options // options of attentions
}

// withDefaults returns s with every default filled in where zero means the default, except in its options. It leaves
// the sizes of a head at 0 if Design.Validate would refuse n_head.
func (s Stack) withDefaults() Stack {
	if s.NHead > 0 {
		s.QKSize = cmp.Or(s.QKSize, s.NEmbd/s.NHead)
		s.VSize = cmp.Or(s.VSize, s.NEmbd/s.NHead)
	}
	if s.NEmbd > 0 && s.NEmbd <= field.MaxSize { // otherwise 4d may overflow
		s.NInner = cmp.Or(s.NInner, 4*s.NEmbd)
	}
	s.Eps = cmp.Or(s.Eps, 1e-5)
	s.RopeTheta = cmp.Or(s.RopeTheta, 10_000)
	s.RopeScaling = cmp.Or(s.RopeScaling, Names(ropeScalings())[0])
	s.Position = cmp.Or(s.Position, Names(Positions())[0])
	s.Attention = cmp.Or(s.Attention, Names(Attentions())[0])
	if names := s.Attentions(); len(names) == 1 {
		s.Attention = names[0] // a list of one, such as causal*2
	}
	s.Norm = cmp.Or(s.Norm, Names(Norms())[0])
	s.Block = cmp.Or(s.Block, Names(Blocks())[0])
	s.Activation = cmp.Or(s.Activation, Names(Activations())[0])
	s.MLP = cmp.Or(s.MLP, Names(MLPs())[0])
	if s.MLP == clamped {
		s.SwigluLimit = cmp.Or(s.SwigluLimit, 7)
	}
	if s.mixes() {
		s.NumExperts, s.NumExpertsPerTok = cmp.Or(s.NumExperts, 8), cmp.Or(s.NumExpertsPerTok, 2)
	}
	s.ScoringFunc = cmp.Or(s.ScoringFunc, Names(scores())[0])
	return s.withDefaultKinds()
}

// RotaryDim returns the number of features of a head that rotary positions rotate. s must be resolved.
func (s Stack) RotaryDim() int {
	if s.PartialRotaryFactor == 0 {
		return s.QKSize
	}
	return int(math.Round(s.PartialRotaryFactor * float64(s.QKSize)))
}

// Dims returns the sizes for a batch of sequences of context tokens. s must be resolved.
func (s Stack) Dims(batch, context int) nn.Dims {
	return nn.Dims{
		Batch: batch, Context: context,
		Embd: s.NEmbd, Heads: s.NHead, QK: s.QKSize, V: s.VSize, Inner: s.NInner, Blocks: s.NLayer,
	}
}

// TooWide reports whether s, which must be resolved, is wider than any network that is trained in practice: more than
// 2^20 features of a token or 2^12 heads. The layers of such a stack are not built to plan their memory.
func (s Stack) TooWide() bool {
	const most = 1 << 20
	wide := float64(s.NHead) * (2*float64(s.QKSize) + float64(s.VSize))
	return s.NHead > 1<<12 || max(s.NEmbd, s.NInner) > most || wide > most
}
