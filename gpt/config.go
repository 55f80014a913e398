package gpt

import (
	"encoding/json"
	"flag"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Config describes a network and its training. Its JSON keys and its flags are nanoGPT's names; [Config.Flags]
// registers them with their meanings.
type Config struct {
	Network
	train.Training
	train.Run
	// Carry trains by truncated backpropagation through time: each row of a batch walks through the text, and the
	// states of its recurrences at the end of a step are those at the beginning of the next.
	Carry bool
	// DrawnTokens is the number of tokens that the model may write; 0 means all V. It is the size of the tokenizer,
	// which is below V if vocab_size is padded, as in some published models. NewTrainer sets it, and so does everything
	// that opens a model with its tokenizer. It is in no file.
	DrawnTokens int
	Parts       parts.Registry // user-defined variants beside the library's; not in files
	Hooks       train.Hooks    // code that a run calls; not in files, so Resume needs it again
}

// Network describes what a model computes. Zero means the default where a field says so; [Config.Resolved] fills it in.
//
// The sizes are written below as T = block_size, V = vocab_size, d = n_embd, H = n_head, dρ = qk_size, dh = v_size and
// f = n_inner, so that a block's weights are c_attn (d, H·(2dρ+dh)), attn.c_proj (H·dh, d), c_fc (d, f) and mlp.c_proj
// (f, d).
type Network struct {
	parts.Stack
	parts.Scaling
	BlockSize int     // T, the number of tokens in a sequence
	VocabSize int     // V; 0 means "from the text" and must be replaced before a network is built
	Head      string  // "linear", the default, or "tied", which uses the token embedding again
	LogitCap  float64 // c of the logits c·tanh(z/c), which lie between −c and c; 0 means no cap
	// FutureTokens is n, the number of tokens that every position predicts: the next one, and n−1 after it for the
	// loss alone (Gloeckle et al. 2024). Each of these has a block of its own beside the last one, h.L, h.L+1, …, for
	// L = n_layer, with the same input; they share the last norm and the head. By default 1.
	FutureTokens int
	Adapters
}

// Adapters describes the adapters of low rank (LoRA). If LoraR > 0, only they are trained.
type Adapters struct {
	LoraR       int      // rank r; 0 means no adapters
	LoraAlpha   float64  // α; by default r
	LoraTargets []string // endings of the adapted layers' names; by default all layers that have a weight
	LoraScale   string   // "alpha/r", default (Hu et al. 2021), "alpha" (paper, equation 43), "alpha/sqrt(r)" (rsLoRA)
	// LoraFused gives queries, keys and values one adapter together, like GPT-2's c_attn, unless fine-tuning begins
	// with a Source whose files have a matrix for each. Otherwise each of them has an adapter.
	LoraFused bool
}

// Configure sets the switches of a graph before a network is built on it, as [train.Configure] does: kernels, their
// threads and precision, and the graph's memory limit.
func (c Config) Configure(g *graph.Graph) { train.Configure(g, c.Training, c.Run) }

// known returns the variants that c may name.
func (c Config) known() parts.Registry { return c.Parts.WithLibrary() }

// ReadConfig reads one JSON object from r and returns base with the object's keys in place of base's values. It is
// stricter than encoding/json: a key in another case, an unknown or repeated key, null, a number that does not fit,
// invalid UTF-8, and anything after the object are errors that name the key. ReadConfig does not validate the result.
func ReadConfig(r io.Reader, base Config) (Config, error) {
	data, err := field.Read(r)
	if err != nil {
		return Config{}, err
	}
	if err := base.UnmarshalJSON(data); err != nil {
		return Config{}, err
	}
	return base, nil
}

// WriteConfig writes c to w as indented JSON that [ReadConfig] reads back.
func WriteConfig(w io.Writer, c Config) error { return field.Write(w, c) }

// MarshalJSON returns every field, always in the same order. The only error is a NaN or an infinity, which JSON cannot
// represent.
func (c Config) MarshalJSON() ([]byte, error) { return c.fields().MarshalJSON() }

// UnmarshalJSON sets the fields that data names, by the rules of [ReadConfig]. After an error c is unchanged.
func (c *Config) UnmarshalJSON(data []byte) error {
	if c == nil {
		return errors.New("config: got nil, want a Config to read into")
	}
	next := *c
	if err := next.fields().Decode(data, next.decodeTie); err != nil {
		return err
	}
	*c = next
	return nil
}

// decodeTie reads "tie", the earlier key for the head.
func (c *Config) decodeTie(key string, value json.RawMessage) (known bool, err error) {
	if key != "tie" {
		return false, nil
	}
	var tie bool
	if err := field.New(key, &tie, field.Any(), "").Decode(value); err != nil {
		return true, err
	}
	if c.Head = "linear"; tie {
		c.Head = "tied"
	}
	return true, nil
}

// Flags registers every field of c with fs under its JSON name, with c's present value as the default. To let flags
// override a file regardless of their order, parse the arguments, read the file into c, and parse the same arguments
// again.
func (c *Config) Flags(fs *flag.FlagSet) {
	if c == nil || fs == nil {
		return
	}
	c.fields().Flags(fs)
}

// fields binds all fields to c, in the order of the JSON.
func (c *Config) fields() field.List { return append(c.NetworkFields(), c.trainingFields()...) }

func (c *Config) trainingFields() field.List {
	known := c.known()
	return append(train.Fields(&c.Training, &c.Run, parts.Names(known.Optimizers), parts.Names(known.Schedules)),
		field.New("carry", &c.Carry, field.Any(),
			"hand the states of recurrences on from step to step: each row of a batch continues where it ended").
			Optional("false"))
}

// NetworkFields binds the fields that describe the network. Without a Config, which is nil, there are none.
func (c *Config) NetworkFields() field.List {
	if c == nil {
		return nil
	}
	known := c.known()
	sizes := field.List{
		field.New("block_size", &c.BlockSize, field.Size(1), "context length in tokens"),
		field.New("vocab_size", &c.VocabSize, field.Size(1), "vocabulary; 0 takes it from the text"),
	}
	head := field.List{
		parts.NameField("head", &c.Head, parts.Names(known.Heads),
			"how logits are computed: by a separate matrix, or by the token embedding again"),
		field.New("final_logit_softcapping", &c.LogitCap, field.NonNegative(),
			"c of the logits c·tanh(z/c), which keeps them between -c and c, such as 30; 0 is none").Optional(),
		field.New("n_future_tokens", &c.FutureTokens, field.UpTo(maxFuture),
			"tokens that every position predicts in training, each with a last block of its own; 0 is 1").Optional("1"),
	}
	return slices.Concat(sizes, c.SizeFields(), c.Adapters.fields(), c.PartFields(known), head, c.OptionFields(known),
		c.ScalingFields())
}

// maxFuture is the largest number of tokens that a network predicts.
const maxFuture = 128

func (a *Adapters) fields() field.List {
	return field.List{
		field.New("lora_r", &a.LoraR, field.Size(0), "rank of the LoRA adapters; 0 is none"),
		field.New("lora_alpha", &a.LoraAlpha, field.NonNegative(), "alpha of the LoRA adapters; 0 is lora_r"),
		field.New("lora_targets", &a.LoraTargets, field.Any(),
			"comma-separated endings of the adapted layers' names, such as c_attn,lm_head; empty is all"),
		field.New("lora_scale", &a.LoraScale, field.OneOf("alpha/r", "alpha", "alpha/sqrt(r)"),
			"factor on a LoRA adapter: alpha/r, alpha, alpha/sqrt(r)"),
		field.New("lora_fused", &a.LoraFused, field.Any(),
			"one LoRA adapter for queries, keys and values if the model's files have one matrix for them").
			Optional("false"),
	}
}
