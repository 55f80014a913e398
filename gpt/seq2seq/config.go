package seq2seq

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Config describes a network and its training. Its JSON keys and flags have the names of gpt.Config where they have
// the same meaning. Where a field's comment gives a default, zero means that default, which Resolved fills in.
type Config struct {
	parts.Stack        // n_layer blocks in the encoder and in the decoder; Attention, by default full, is the encoder's
	SourceSize     int // S, the longest source in tokens
	TargetSize     int // T, the longest target in tokens, including its end
	SourceVocab    int // 0 means "from the pairs", to be set before a network is built
	TargetVocab    int
	train.Training // LRDecayIters 0 means "at MaxIters"
	train.Run
	// DrawnTokens is the number of tokens that the model may write, the size of the target's vocabulary; 0 means all.
	// It is in no file: LoadModel and Resume set it from the vocabulary.
	DrawnTokens int
	Parts       parts.Registry // your own variants, except blocks and heads; not in files
}

// Resolved returns c with zeros replaced by the defaults that they stand for.
func (c Config) Resolved() Config {
	c.Stack = c.design().Stack
	c.Optimizer = cmp.Or(c.Optimizer, parts.Names(parts.Optimizers())[0])
	c.Training = c.Training.Resolved()
	return c
}

// scheduled returns the Training whose schedule ends at lr_decay_iters, by default at max_iters.
func (c Config) scheduled() train.Training {
	c.LRDecayIters = cmp.Or(c.LRDecayIters, max(c.MaxIters, c.WarmupIters+1))
	return c.Training
}

// fields returns the fields of c, in the order of the JSON.
func (c *Config) fields() field.List {
	known := c.known()
	return append(c.networkFields(),
		train.Fields(&c.Training, &c.Run, parts.Names(known.Optimizers), parts.Names(known.Schedules))...)
}

func (c *Config) networkFields() field.List {
	return slices.Concat(field.List{
		field.New("source_size", &c.SourceSize, field.Size(1), "longest source in tokens; 0 takes it from the pairs"),
		field.New("target_size", &c.TargetSize, field.Size(1),
			"longest target in tokens including its end; 0 takes it from the pairs"),
		field.New("source_vocab", &c.SourceVocab, field.Size(1), "tokens of the source; 0 takes them from the pairs"),
		field.New("target_vocab", &c.TargetVocab, field.Size(1), "tokens of the target; 0 takes them from the pairs"),
	}, c.SizeFields(), c.PartFields(c.known()), c.OptionFields(c.known())).Topic("network")
}

// network returns the fields that change what a graph computes when it does not train, with their values.
func (c Config) network() []string {
	return append(c.networkFields().Without("dropout").Lines(), fmt.Sprintf("DrawnTokens %d", c.DrawnTokens))
}

// Flags registers every field with fs under its JSON name, with the current value in c as the default.
func (c *Config) Flags(fs *flag.FlagSet) {
	if c == nil || fs == nil {
		return
	}
	c.fields().Flags(fs)
}

// MarshalJSON returns every field, always in the same order.
func (c Config) MarshalJSON() ([]byte, error) { return c.fields().MarshalJSON() }

// UnmarshalJSON sets the fields that data names, as strictly as gpt.ReadConfig. After an error c is unchanged.
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
// resume. The fields of its Run may differ. A field of 0 counts as its default.
func (c Config) ResumeDiff(saved Config) error {
	c, saved = c.Resolved(), saved.Resolved()
	return c.fields().Fixed().Diff("resume", saved.fields())
}

// Validate returns the first error in c: the field, its value and what it must be.
func (c Config) Validate() error {
	if err := c.fields().Check(); err != nil {
		return err
	}
	if err := c.ValidateModel(); err != nil {
		return err
	}
	if err := c.known().CheckOptimizer(c.Resolved().Optimizer, c.fields()); err != nil {
		return err
	}
	if err := c.scheduled().Check(c.Parts.Schedules...); err != nil {
		return err
	}
	if err := c.checkParameters(4); err != nil {
		return err
	}
	bytes, err := c.Memory()
	if err != nil {
		return err
	}
	return c.CheckMemory(bytes, "activations", c.fields(),
		"batch_size", "source_size", "target_size", "n_layer", "n_head", "n_embd", "target_vocab")
}

// ValidateModel checks c like Validate, but without the training.
func (c Config) ValidateModel() error {
	if err := c.networkFields().Check(); err != nil {
		return err
	}
	if c.DrawnTokens < 0 {
		return errors.Errorf("DrawnTokens: got %d, want 0 for all, or more", c.DrawnTokens)
	}
	names, design := parts.Names(c.known().Attentions), c.design()
	if got := design.Stack.Attention; !slices.Contains(names, got) { // a list
		return errors.Errorf("attention: got %s, want one of %s for all blocks of the encoder%s",
			field.Clip(got), strings.Join(names, ", "), spelling.Hint(got, names))
	}
	if err := design.Validate(c.SourceSize); err != nil {
		return err
	}
	return c.checkParameters(1)
}
