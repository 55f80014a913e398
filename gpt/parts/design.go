package parts

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Design is a Stack with every default filled in and with its names looked up. Models are built from it.
type Design struct {
	Stack     Stack // without the options that the attention does not read
	position  Position
	Attention Attention
	Block     Block
	Tokens    float64 // factor on the embedded tokens; 0 is 1
	Future    int     // number of blocks beside the last one, for multi-token prediction

	norm       Norm
	mlp        MLP
	activation Activation
	given      Stack       // with zeros for defaults, and with all options, to check
	attentions []Attention // all of the registry
	kinds      []Kind      // likewise
}

// Design looks up the parts of s in r. A part that r lacks is the zero part, which Validate refuses.
func (r Registry) Design(s Stack) Design {
	d := Design{given: s, attentions: r.Attentions, kinds: r.Kinds}
	s = s.withDefaults(r.Kinds)
	d.position, d.Attention = Find(r.Positions, s.Position), r.attention(s)
	d.Block, d.norm = Find(r.Blocks, s.Block), Find(r.Norms, s.Norm)
	d.mlp, d.activation = Find(r.MLPs, s.MLP), Find(r.Activations, s.Activation)
	s.Options = s.Options.resolved(d.Attention.Options, s)
	d.Stack = s
	return d
}

// Validate returns the first error in d for sequences of context tokens. It names the field, its value and the values
// that are allowed. Each field must be in its domain.
func (d Design) Validate(context int) error {
	if s := d.given; (s.QKSize == 0 || s.VSize == 0) && s.NEmbd%s.NHead != 0 { // heads cannot share the features
		return errors.Errorf("n_head: %d heads do not divide n_embd %d; set both qk_size and v_size to do without",
			s.NHead, s.NEmbd)
	}
	s := d.Stack
	if err := d.given.Options.check(d.attentions, s.Attentions()); err != nil {
		return err
	}
	if err := s.With.check(d.kinds); err != nil {
		return err
	}
	if err := s.checkStream(d.kinds); err != nil {
		return err
	}
	if n := s.Period(); n > s.NLayer {
		return errors.Errorf("attention: got %s, a list for %d blocks, want at most n_layer %d",
			s.Attention, n, s.NLayer)
	}
	for _, p := range []struct {
		kind, name string
		missing    bool
	}{
		{"position", s.Position, d.position.New == nil}, {"attention", s.Attention, d.Attention.New == nil},
		{"norm", s.Norm, d.norm.New == nil}, {"block", s.Block, d.Block.New == nil}, {"mlp", s.MLP, d.mlp.New == nil},
	} {
		if p.missing {
			return errors.Errorf("%s: got %s, a part without New: nothing builds it", p.kind, p.name)
		}
	}
	dims := s.Dims(1, context)
	if d.position.Check != nil {
		if err := d.position.Check(dims); err != nil {
			return err
		}
	}
	if err := d.checkPartial(); err != nil {
		return err
	}
	if err := d.checkScaling(); err != nil {
		return err
	}
	if s.Rope.LocalBaseFreq != 0 && (s.Position != "rope" || s.Attention != "gqa_window") {
		return errors.Errorf("rope_local_base_freq: got %v, want 0 with position %s and attention %s, not rope and "+
			"gqa_window", s.Rope.LocalBaseFreq, s.Position, s.Attention)
	}
	if k := s.Options.Get("full_attention_interval"); s.Rope.LocalBaseFreq != 0 && k < 2 {
		return errors.Errorf("rope_local_base_freq: got %v, want 0 with full_attention_interval %d: "+
			"all blocks are alike", s.Rope.LocalBaseFreq, k)
	}
	if k := s.Rope.NoRopeLayerInterval; k == 1 || k > s.NLayer {
		return errors.Errorf("no_rope_layer_interval: got %d, want 0 or 2 to n_layer %d", k, s.NLayer)
	}
	if name := s.optional("value_residual"); name != "" && s.NLayer == 1 {
		return errors.Errorf("value_residual: got %s, want %s with n_layer 1: the first block has values of its own",
			name, noPart)
	}
	if name := s.optional("skips"); name != "" && s.NLayer == 1 {
		return errors.Errorf("skips: got %s, want %s with n_layer 1: the first block has no earlier one", name, noPart)
	}
	if err := s.checkExperts(d.given); err != nil {
		return err
	}
	for _, a := range d.Attention.parts() {
		of := s
		of.Attention = a.String()
		if gate := s.optional("attn_gate"); a.ungated && gate != "" {
			return errors.Errorf("attn_gate: got %s, want %s with attention %s, which has no gate", gate, noPart, a)
		}
		if err := a.check(dims, of); err != nil {
			return err
		}
		if err := a.checkScores(s); err != nil {
			return err
		}
		if s.Sublayers.AttentionBias && !a.biased {
			return errors.Errorf("attention_bias: got true, want false with attention %s, whose biases it does not set",
				a)
		}
	}
	if err := d.checkBiases(); err != nil {
		return err
	}
	for _, check := range []func(Stack) error{d.Block.Check, d.mlp.Check} {
		if check == nil {
			continue
		}
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

// checkBiases returns an error if attention_bias or mlp_bias would change nothing.
func (d Design) checkBiases() error {
	s := d.Stack
	switch {
	case s.Sublayers.AttentionBias && s.Bias:
		return errors.New("attention_bias: got true, want false with bias true, which has them already")
	case s.Sublayers.MLPBias && s.Bias:
		return errors.New("mlp_bias: got true, want false with bias true, which has them already")
	case s.Sublayers.MLPBias && !d.mlp.biased:
		return errors.Errorf("mlp_bias: got true, want false with mlp %s, whose biases it does not set", s.MLP)
	}
	return nil
}

// checkPartial returns an error if the share of rotating features is not an even number of them, or if the positions
// are not rotary.
func (d Design) checkPartial() error {
	s := d.Stack
	n := s.Rope.PartialRotaryFactor * float64(s.QKSize)
	switch {
	case s.Rope.PartialRotaryFactor == 0:
		return nil
	case s.Position != "rope":
		return errors.Errorf("partial_rotary_factor: got %v, want 0 with position %s, which is not rope",
			s.Rope.PartialRotaryFactor, s.Position)
	case s.RotaryDim() < 2 || s.RotaryDim()%2 != 0 || !(math.Abs(n-float64(s.RotaryDim())) <= 1e-6):
		return errors.Errorf("partial_rotary_factor: got %v, which is %v of qk_size %d features, want an even number",
			s.Rope.PartialRotaryFactor, n, s.QKSize)
	}
	return nil
}

// checkScores refuses settings of the scores that the attention does not read.
func (a Attention) checkScores(s Stack) error {
	const least, most = 1. / (1 << 30), 1 << 30
	c, sinks := s.Sublayers.AttnLogitSoftcapping, s.optional("attn_sinks")
	switch {
	case sinks != "" && !a.Softmax:
		return errors.Errorf("attn_sinks: got %s, want %s with attention %s, whose weights are not softmaxes of "+
			"scores q·k, which a sink could join", sinks, noPart, a)
	case sinks != "" && a.ungated:
		return errors.Errorf("attn_sinks: got %s, want %s with attention %s, which has no sinks", sinks, noPart, a)
	case c == 0:
		return nil
	case !a.Softmax:
		return errors.Errorf("attn_logit_softcapping: got %v, want 0 with attention %s, whose weights are not "+
			"softmaxes of scores q·k", c, a)
	case c < least || c > most:
		return errors.Errorf("attn_logit_softcapping: got %v, want 0 or %.2g to %.2g", c, least, float64(most))
	}
	return nil
}

// Site returns the settings with which the layers of d are built, for a batch of sequences. The caller adds the scope,
// the positions, their rotation and biases, and the mask.
func (d Design) Site(batch, context int) nn.Site {
	s := d.Stack
	return nn.Site{
		Dims: s.Dims(batch, context),
		Style: nn.Style{
			Affine:   nn.NewLinear,
			Bias:     s.Bias,
			Eps:      s.Eps,
			Dropout:  s.Dropout,
			Residual: Find(Initializations(), s.With.Get("initialization")).residual,
		},
		Attending: nn.Attending{
			Cap:   s.Sublayers.AttnLogitSoftcapping,
			Links: s.Links(d.kinds),
			Sinks: Find(AttnSinks(), s.With.Get("attn_sinks")).New,
		},
		Sublayers: nn.Sublayers{
			Act:     d.activation.Layer,
			Norm:    d.norm.New,
			MLP:     d.mlp.make(s),
			Stream:  s.Stream(d.kinds),
			Conv:    Find(ShortConvs(), s.With.Get("short_conv")).Convs(),
			Experts: s.experts(),
		},
	}
}

// CheckCarry returns an error that names a part whose layers cannot hand what they know on to the next window of a
// text, or that counts the tokens of one.
func (d Design) CheckCarry() error {
	s := d.Stack
	for _, a := range d.Attention.parts() {
		if !a.carries {
			return errors.Errorf("carry: got true, want false with attention %s, which hands on no state: the next "+
				"window would need the keys and values of this one", a)
		}
	}
	switch {
	case s.Block == "elman":
		return errors.New("carry: got true, want false with block elman, which hands on no state")
	case s.Position != "none":
		return errors.Errorf("carry: got true, want false with position %s, which counts from the beginning of a "+
			"window, or position none", s.Position)
	}
	return nil
}

// Inside returns the approximate number of values per token that a block of d holds at once when it is fed several
// tokens of a context: 4d, and i + o − d for each matrix (i, o) that the MLP declares. These are 2f for an MLP, and 3f
// for one with a gate. The matrices of experts count by their Share.
func (d Design) Inside(context int) float64 {
	g := graph.Outline(graph.Float32)
	at := d.Site(1, context)
	at.Scope = g.Root().Sub("mlp")
	nn.Make(at, at.MLP)
	embd := float64(d.Stack.NEmbd)
	n := 4 * embd
	for _, p := range g.Params() {
		if shape := p.Tensor().Shape; len(shape) == 2 {
			n += d.Stack.Share(p.Name()) * max(0, float64(shape[0])+float64(shape[1])-embd)
		}
	}
	return n
}
