package seq2seq

import (
	"cmp"
	"flag"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Config says which network to build and how to train it. Its JSON keys and its flags are the names of gpt.Config where
// they mean the same. A zero in the fields of the second group means the default, which Resolved fills in.
type Config struct {
	SourceSize  int // S, the longest source in tokens
	TargetSize  int // T, the longest target in tokens, its end included
	SourceVocab int // 0 is "from the pairs", to be set before a network is built
	TargetVocab int
	NLayer      int // blocks of the encoder, and as many of the decoder
	NHead       int
	NEmbd       int
	Dropout     float64
	Bias        bool

	QKSize     int     // dρ of one head; default d/H
	VSize      int     // dh of one head; default d/H
	NInner     int     // default 4d
	Activation string  // default gelu
	Eps        float64 // of the norm; default 1e-5
	Block      string  // pre (the default) or post
	Norm       string  // default layernorm
	Position   string  // default learned
	Attention  string  // of the encoder; default full
	Window     int     // w of attention window, in which tokens |i − j| < w see each other; else 0
	MixedKeys  int     // k' of attention linformer, default ⌈S/2⌉; else 0

	train.Training // whose LRDecayIters 0 is "at MaxIters"
	train.Run
}

// Resolved returns c with the default in every field where zero means it.
func (c Config) Resolved() Config {
	if c.NHead > 0 {
		c.QKSize, c.VSize = cmp.Or(c.QKSize, c.NEmbd/c.NHead), cmp.Or(c.VSize, c.NEmbd/c.NHead)
	}
	c.NInner = cmp.Or(c.NInner, 4*c.NEmbd)
	c.Activation, c.Eps = cmp.Or(c.Activation, "gelu"), cmp.Or(c.Eps, 1e-5)
	c.Block, c.Norm, c.Position = cmp.Or(c.Block, "pre"), cmp.Or(c.Norm, "layernorm"), cmp.Or(c.Position, "learned")
	c.Attention = cmp.Or(c.Attention, "full")
	if c.Attention != "window" {
		c.Window = 0
	}
	if c.MixedKeys = cmp.Or(c.MixedKeys, (c.SourceSize+1)/2); c.Attention != "linformer" {
		c.MixedKeys = 0
	}
	c.Training = c.Training.Resolved()
	return c
}

// scheduled is the Training whose cosine ends where c says: at max_iters, unless lr_decay_iters is given.
func (c Config) scheduled() train.Training {
	c.LRDecayIters = cmp.Or(c.LRDecayIters, max(c.MaxIters, c.WarmupIters+1))
	return c.Training
}

// fields is the table of c, in the order of the JSON.
func (c *Config) fields() field.List {
	return append(c.networkFields(), train.Fields(&c.Training, &c.Run, train.Optimizers())...)
}

func (c *Config) networkFields() field.List {
	variant := func(name string, value *string, names []string, what string) field.Field {
		return field.New(name, value, field.OneOf(names...), what+": "+strings.Join(names, ", "))
	}
	return field.List{
		field.New("source_size", &c.SourceSize, field.Size(1), "longest source in tokens; 0 takes it from the pairs"),
		field.New("target_size", &c.TargetSize, field.Size(1), "longest target in tokens with the one that ends it; 0 takes it from the pairs"),
		field.New("source_vocab", &c.SourceVocab, field.Size(1), "tokens of the source; 0 takes them from the pairs"),
		field.New("target_vocab", &c.TargetVocab, field.Size(1), "tokens of the target; 0 takes them from the pairs"),
		field.New("n_layer", &c.NLayer, field.Size(1), "blocks of the encoder, and as many of the decoder"),
		field.New("n_head", &c.NHead, field.Size(1), "attention heads of a block"),
		field.New("n_embd", &c.NEmbd, field.Size(1), "width of the embeddings"),
		field.New("dropout", &c.Dropout, field.Fraction(), "probability of dropping a value while training"),
		field.New("bias", &c.Bias, field.Any(), "biases in linear layers and norms"),
		field.New("qk_size", &c.QKSize, field.Size(0), "query and key size of a head; 0 is n_embd/n_head"),
		field.New("v_size", &c.VSize, field.Size(0), "value size of a head; 0 is n_embd/n_head"),
		field.New("n_inner", &c.NInner, field.Size(0), "hidden width of the MLP; 0 is 4·n_embd"),
		variant("activation", &c.Activation, names(activations()), "activation of the MLP"),
		field.New("eps", &c.Eps, field.Fraction(), "epsilon of the norm; 0 is 1e-5"),
		variant("block", &c.Block, names(blocks()), "place of the norm"),
		variant("norm", &c.Norm, names(norms()), "norm"),
		variant("position", &c.Position, names(positions()), "positions"),
		variant("attention", &c.Attention, names(attentions()), "attention of the encoder"),
		field.New("window", &c.Window, field.Size(0), "tokens of the source on either side, itself included, that a token sees in attention window"),
		field.New("mixed_keys", &c.MixedKeys, field.Size(0), "mixtures of keys in attention linformer; 0 is half of source_size"),
	}
}

// Flags registers every field with fs under its JSON name, with c's present value as the default.
func (c *Config) Flags(fs *flag.FlagSet) { c.fields().Flags(fs) }

// MarshalJSON returns every field, always in the same order.
func (c Config) MarshalJSON() ([]byte, error) { return c.fields().MarshalJSON() }

// UnmarshalJSON sets the fields that data names, as strictly as gpt.ReadConfig. After an error c is as it was.
func (c *Config) UnmarshalJSON(data []byte) error {
	next := *c
	if err := next.fields().Decode(data, nil); err != nil {
		return err
	}
	*c = next
	return nil
}

// ResumeDiff returns an error that names every field in which c differs from the saved configuration of the run to
// resume, other than those of its Run. A zero and the default it stands for are equal.
func (c Config) ResumeDiff(saved Config) error {
	c, saved = c.Resolved(), saved.Resolved()
	return c.fields().Fixed().Diff("resume", saved.fields())
}
