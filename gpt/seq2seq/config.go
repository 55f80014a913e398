package seq2seq

import (
	"cmp"
	"flag"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Config says which network to build and how to train it. Its JSON keys and its flags are the names of gpt.Config where
// they mean the same. A zero means the default where a field says so, which Resolved fills in.
type Config struct {
	parts.Stack        // blocks of the encoder, and as many of the decoder; Attention, by default full, is the encoder's
	SourceSize     int // S, the longest source in tokens
	TargetSize     int // T, the longest target in tokens, its end included
	SourceVocab    int // 0 is "from the pairs", to be set before a network is built
	TargetVocab    int
	train.Training // whose LRDecayIters 0 is "at MaxIters"
	train.Run
	Parts parts.Registry // variants of your own, blocks and heads apart; not in files
}

// Resolved returns c with the default in every field where zero means it.
func (c Config) Resolved() Config {
	c = c.withAttention()
	c.Stack = c.Stack.Resolved(c.known())
	c.Optimizer = cmp.Or(c.Optimizer, parts.Names(parts.Optimizers())[0])
	c.Precision = cmp.Or(c.Precision, graph.Precisions()[0])
	return c
}

// withAttention is c with the defaults of the attention, which are not those of a Stack.
func (c Config) withAttention() Config {
	c.Attention = cmp.Or(c.Attention, "full")
	if c.attention().whole && c.Options.Get("mixed_keys") == 0 {
		c.Options.Offer("mixed_keys", (c.SourceSize+1)/2)
	}
	return c
}

// scheduled returns the Training whose cosine ends where c says: at max_iters, unless lr_decay_iters is given.
func (c Config) scheduled() train.Training {
	c.LRDecayIters = cmp.Or(c.LRDecayIters, max(c.MaxIters, c.WarmupIters+1))
	return c.Training
}

// fields returns the table of c, in the order of the JSON.
func (c *Config) fields() field.List {
	return append(c.networkFields(), train.Fields(&c.Training, &c.Run, parts.Names(c.known().Optimizers))...)
}

func (c *Config) networkFields() field.List {
	return slices.Concat(field.List{
		field.New("source_size", &c.SourceSize, field.Size(1), "longest source in tokens; 0 takes it from the pairs"),
		field.New("target_size", &c.TargetSize, field.Size(1),
			"longest target in tokens with the one that ends it; 0 takes it from the pairs"),
		field.New("source_vocab", &c.SourceVocab, field.Size(1), "tokens of the source; 0 takes them from the pairs"),
		field.New("target_vocab", &c.TargetVocab, field.Size(1), "tokens of the target; 0 takes them from the pairs"),
	}, c.SizeFields(), c.PartFields(c.known()), c.OptionFields(c.known()))
}

// Flags registers every field with fs under its JSON name, with c's present value as the default.
func (c *Config) Flags(fs *flag.FlagSet) {
	if c == nil || fs == nil {
		return
	}
	c.fields().Flags(fs)
}

// MarshalJSON returns every field, always in the same order.
func (c Config) MarshalJSON() ([]byte, error) { return c.fields().MarshalJSON() }

// UnmarshalJSON sets the fields that data names, as strictly as gpt.ReadConfig. After an error c is as it was.
func (c *Config) UnmarshalJSON(data []byte) error {
	if c == nil {
		return errors.New("config: nowhere to read it into (nil)")
	}
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

// Validate returns the first thing wrong with c, naming the field, what it got and what it wants.
func (c Config) Validate() error {
	if err := c.ValidateModel(); err != nil {
		return err
	}
	if err := c.fields().Check(); err != nil {
		return err
	}
	if err := c.scheduled().Check(); err != nil {
		return err
	}
	return c.checkTraining()
}

// ValidateModel is Validate without the training.
func (c Config) ValidateModel() error {
	if err := c.networkFields().Check(); err != nil {
		return err
	}
	if err := c.withAttention().Stack.Check(c.known(), c.SourceSize); err != nil {
		return err
	}
	return c.Resolved().checkParameters(1)
}
