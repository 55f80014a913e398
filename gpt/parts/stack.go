package parts

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Stack describes the stack of blocks of a model: their sizes, their parts by name, and the settings of these parts. A
// zero means the default where a field says so, and everywhere below the sizes; Registry.Design fills it in.
type Stack struct {
	NLayer  int     // number of blocks
	NHead   int     // H
	NEmbd   int     // d
	QKSize  int     // dρ of one head; by default d/H
	VSize   int     // dh of one head; by default d/H
	NInner  int     // f; by default 4d
	Dropout float64 // probability of dropping a value, in [0, 1)
	Bias    bool    // biases in every linear layer and layer normalisation
	Eps     float64 // ε of the norms; by default 1e-5

	// The parts that every model has, by name; by default the first of the library's list.
	Position   string // encoding of the tokens' positions
	Attention  string // or a list over the blocks, which repeats: gated_deltanet*3,causal
	Norm       string
	Block      string // the place of the normalisation
	Activation string // of the MLP
	MLP        string
	With       With // optional parts, by the keys of Kinds

	Rope      Rope
	Experts   Experts
	Sublayers Sublayers
	Options   Options // options of attentions
}

// Sublayers holds settings of attention or of MLPs alone.
type Sublayers struct {
	// AttentionBias and MLPBias give biases to the linear layers of attention and of MLPs, without Bias of the Stack.
	AttentionBias, MLPBias bool
	// AttnLogitSoftcapping is c in c·tanh(s/c), which replaces the scores of attention by a softmax; 0 is none.
	AttnLogitSoftcapping float64
}

// withDefaults returns s with every default filled in where zero means the default, except in its options. It leaves
// the sizes of a head at 0 if Design.Validate would refuse n_head.
func (s Stack) withDefaults(kinds []Kind) Stack {
	if s.NHead > 0 {
		s.QKSize = cmp.Or(s.QKSize, s.NEmbd/s.NHead)
		s.VSize = cmp.Or(s.VSize, s.NEmbd/s.NHead)
	}
	if s.NEmbd > 0 && s.NEmbd <= field.MaxSize { // otherwise 4d may overflow
		s.NInner = cmp.Or(s.NInner, 4*s.NEmbd)
	}
	s.Eps = cmp.Or(s.Eps, 1e-5)
	s.Rope.Theta = cmp.Or(s.Rope.Theta, 10_000)
	s.Rope.Scaling = cmp.Or(s.Rope.Scaling, Names(ropeScalings())[0])
	s.Position = cmp.Or(s.Position, Names(Positions())[0])
	s.Attention = cmp.Or(s.Attention, Names(Attentions())[0])
	if names := s.Attentions(); len(names) == 1 {
		s.Attention = names[0] // a list of one, such as causal*2
	}
	s.Norm = cmp.Or(s.Norm, Names(Norms())[0])
	s.Block = cmp.Or(s.Block, Names(Blocks())[0])
	s.Activation = cmp.Or(s.Activation, Names(Activations())[0])
	s.MLP = cmp.Or(s.MLP, Names(MLPs())[0])
	s.Experts, s.With = s.Experts.withDefaults(s), s.With.withDefaults(kinds)
	return s
}

// RotaryDim returns the number of features of a head that rotary positions rotate. s must be resolved.
func (s Stack) RotaryDim() int {
	if s.Rope.PartialRotaryFactor == 0 {
		return s.QKSize
	}
	return int(math.Round(s.Rope.PartialRotaryFactor * float64(s.QKSize)))
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
