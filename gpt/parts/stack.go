package parts

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Stack describes the stack of blocks of a model: their sizes, settings for all of them, and their parts by name. A
// zero in the fields of the second and third group means the default, which Resolved fills in.
type Stack struct {
	NLayer  int     // number of blocks
	NHead   int     // H
	NEmbd   int     // d
	Dropout float64 // probability of dropping a value, in [0, 1)
	Bias    bool    // biases in every linear layer and layer normalisation

	QKSize    int     // dρ of one head; by default d/H
	VSize     int     // dh of one head; by default d/H
	NInner    int     // f; by default 4d
	Eps       float64 // ε of the norms; by default 1e-5
	RopeTheta float64 // base of the rotary positions' frequencies; by default 10000

	// By name, by default the first of the library's list.
	Position   string // encoding of the tokens' positions
	Attention  string
	Norm       string
	Block      string // the place of the normalisation
	Activation string // of the MLP
	MLP        string
	Options    Options // options of attentions
}

// Resolved returns s with every default filled in where zero means the default, and without the options that the
// attention does not read. It leaves the sizes of a head at 0 if Check would refuse n_head.
func (s Stack) Resolved(known Registry) Stack {
	if s.NHead > 0 {
		s.QKSize = cmp.Or(s.QKSize, s.NEmbd/s.NHead)
		s.VSize = cmp.Or(s.VSize, s.NEmbd/s.NHead)
	}
	if s.NEmbd > 0 && s.NEmbd <= field.MaxSize { // otherwise 4d may overflow
		s.NInner = cmp.Or(s.NInner, 4*s.NEmbd)
	}
	s.Eps = cmp.Or(s.Eps, 1e-5)
	s.RopeTheta = cmp.Or(s.RopeTheta, 10_000)
	s.Position = cmp.Or(s.Position, Names(Positions())[0])
	s.Attention = cmp.Or(s.Attention, Names(Attentions())[0])
	s.Norm = cmp.Or(s.Norm, Names(Norms())[0])
	s.Block = cmp.Or(s.Block, Names(Blocks())[0])
	s.Activation = cmp.Or(s.Activation, Names(Activations())[0])
	s.MLP = cmp.Or(s.MLP, Names(MLPs())[0])
	s.Options = s.Options.resolved(Find(known.Attentions, s.Attention).Options, s)
	return s
}

// Check returns the first error in s for sequences of context tokens, which names the field, its value and the values
// that are allowed. Each field must be in its domain.
func (s Stack) Check(known Registry, context int) error {
	if (s.QKSize == 0 || s.VSize == 0) && s.NEmbd%s.NHead != 0 { // the features cannot be divided among the heads
		return errors.Errorf("n_head: %d heads do not divide n_embd %d; set both qk_size and v_size to do without",
			s.NHead, s.NEmbd)
	}
	options := s.Options
	s = s.Resolved(known)
	if err := options.check(known.Attentions, s.Attention); err != nil {
		return err
	}
	d := s.Dims(1, context)
	position, attention := Find(known.Positions, s.Position), Find(known.Attentions, s.Attention)
	norm, block, mlp := Find(known.Norms, s.Norm), Find(known.Blocks, s.Block), Find(known.MLPs, s.MLP)
	for _, p := range []struct {
		kind, name string
		missing    bool
	}{
		{"position", s.Position, position.New == nil}, {"attention", s.Attention, attention.New == nil},
		{"norm", s.Norm, norm.New == nil}, {"block", s.Block, block.New == nil}, {"mlp", s.MLP, mlp.New == nil},
	} {
		if p.missing {
			return errors.Errorf("%s: got %s, a part without New: nothing builds it", p.kind, p.name)
		}
	}
	if position.Check != nil {
		if err := position.Check(d); err != nil {
			return err
		}
	}
	if err := attention.check(d, s); err != nil {
		return err
	}
	for _, check := range []func(Stack) error{block.Check, mlp.Check} {
		if check == nil {
			continue
		}
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

// Dims returns the sizes for a batch of sequences of context tokens. s must be resolved.
func (s Stack) Dims(batch, context int) nn.Dims {
	return nn.Dims{
		Batch: batch, Context: context,
		Embd: s.NEmbd, Heads: s.NHead, QK: s.QKSize, V: s.VSize, Inner: s.NInner, Blocks: s.NLayer,
	}
}

// Site returns the settings with which the layers of s are built, for a batch of sequences. s must be resolved. The
// caller adds the scope, the positions, their rotation and biases, and the mask.
func (s Stack) Site(known Registry, batch, context int) nn.Site {
	return nn.Site{
		Dims: s.Dims(batch, context), Affine: nn.NewLinear, Bias: s.Bias, Eps: s.Eps, Dropout: s.Dropout,
		Act:  Find(known.Activations, s.Activation).Layer,
		Norm: Find(known.Norms, s.Norm).New,
		MLP:  Find(known.MLPs, s.MLP).New,
	}
}

// Inside returns the approximate number of values per token that a block of s holds at once when it is fed several
// tokens of a context: 4d, and i + o − d for each matrix (i, o) that the MLP declares. These are 2f for an MLP, and 3f
// for one with a gate. s must be resolved.
func (s Stack) Inside(known Registry, context int) float64 {
	g := graph.Outline(graph.Float32)
	at := s.Site(known, 1, context)
	at.Scope = g.Root().Sub("mlp")
	nn.Make(at, at.MLP)
	n := 4 * float64(s.NEmbd)
	for _, p := range g.Params() {
		if shape := p.Tensor().Shape; len(shape) == 2 {
			n += max(0, float64(shape[0])+float64(shape[1])-float64(s.NEmbd))
		}
	}
	return n
}

// TooWide reports whether s, which must be resolved, is wider than any network that is trained in practice: more than
// 2^20 features of a token or 2^12 heads. The layers of such a stack are not built to plan their memory.
func (s Stack) TooWide() bool {
	const most = 1 << 20
	wide := float64(s.NHead) * (2*float64(s.QKSize) + float64(s.VSize))
	return s.NHead > 1<<12 || max(s.NEmbd, s.NInner) > most || wide > most
}
