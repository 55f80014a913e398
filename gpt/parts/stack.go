package parts

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Stack says what blocks a model is a stack of: their sizes, what applies to all of them, and their parts by name. A
// zero in the fields of the second and third group means the default, which Resolved fills in.
type Stack struct {
	NLayer  int     // blocks
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
	Position   string // how tokens know where they stand
	Attention  string
	Norm       string
	Block      string // the place of the normalisation
	Activation string // of the MLP
	MLP        string
	Options    Options // what some attentions read beside
}

// Resolved returns s with the default in every field where zero means it, and without the options that the attention
// does not read. It leaves the sizes of a head at 0 where Check would refuse n_head.
func (s Stack) Resolved(known Registry) Stack {
	if s.NHead > 0 {
		s.QKSize = cmp.Or(s.QKSize, s.NEmbd/s.NHead)
		s.VSize = cmp.Or(s.VSize, s.NEmbd/s.NHead)
	}
	if s.NEmbd > 0 && s.NEmbd <= field.MaxSize { // else 4d may overflow
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

// Check returns the first thing that is impossible in s for sequences of that many tokens, naming the field, what it is
// and what it may be. The fields by themselves are in their domains.
func (s Stack) Check(known Registry, context int) error {
	if (s.QKSize == 0 || s.VSize == 0) && s.NEmbd%s.NHead != 0 { // the features cannot be dealt to the heads
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

// Dims returns the sizes for that many sequences of context tokens; s is resolved.
func (s Stack) Dims(batch, context int) nn.Dims {
	return nn.Dims{
		Batch: batch, Context: context,
		Embd: s.NEmbd, Heads: s.NHead, QK: s.QKSize, V: s.VSize, Inner: s.NInner, Blocks: s.NLayer,
	}
}

// Site returns the style in which the layers of s are built, for that many sequences; s is resolved. Whoever builds
// adds the scope, where tokens stand, what the positions give, and the mask.
func (s Stack) Site(known Registry, batch, context int) nn.Site {
	return nn.Site{
		Dims: s.Dims(batch, context), Affine: nn.NewLinear, Bias: s.Bias, Eps: s.Eps, Dropout: s.Dropout,
		Act:  Find(known.Activations, s.Activation).Layer,
		Norm: Find(known.Norms, s.Norm).New,
		MLP:  Find(known.MLPs, s.MLP).New,
	}
}

// Inside is about how many numbers of a token are held at once in a block of s, resolved, that is fed several tokens of
// a context: 4d, and i + o − d for each matrix (i, o) that the MLP declares. These are 2f for an MLP, and 3f for one
// with a gate.
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

// TooWide reports whether s, resolved, is wider than anything that is trained: more than 2^20 features of a token or
// 2^12 heads. Its layers are not built only to see what they would need.
func (s Stack) TooWide() bool {
	const most = 1 << 20
	wide := float64(s.NHead) * (2*float64(s.QKSize) + float64(s.VSize))
	return s.NHead > 1<<12 || max(s.NEmbd, s.NInner) > most || wide > most
}
