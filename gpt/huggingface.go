package gpt

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// gpt2File is the config.json of Hugging Face's GPT-2, which is ours. A network that computes something else than
// GPT-2 has the fields in which it differs under their own names.
type gpt2File struct {
	Config            // the sizes
	modelType         string
	architectures     []string
	context           int // n_ctx, which is n_positions
	activation        string
	embdDrop, attDrop float64 // which are resid_pdrop
	tied              bool
	scaled            bool // scores / √dρ
	scaledByLayer     bool // scores / (layer + 1)
	crossAttention    bool
}

// newGPT2File returns the file of Hugging Face's defaults.
func newGPT2File(own parts.Registry) (f gpt2File) {
	f.Parts, f.Bias, f.Eps = own, true, 1e-5
	f.VocabSize, f.BlockSize, f.NEmbd, f.NLayer, f.NHead = 50257, 1024, 768, 12, 12
	f.modelType, f.activation, f.tied, f.scaled = "gpt2", "gelu_new", true, true
	f.Dropout, f.embdDrop, f.attDrop = 0.1, 0.1, 0.1
	return f
}

// keys binds the keys of the file.
func (f *gpt2File) keys() field.List {
	return field.List{
		field.New("model_type", &f.modelType, field.Any(), ""),
		field.New("architectures", &f.architectures, field.Any(), ""),
		field.New("vocab_size", &f.VocabSize, field.Size(1), ""),
		field.New("n_positions", &f.BlockSize, field.Size(1), ""),
		field.New("n_ctx", &f.context, field.Size(1), ""),
		field.New("n_embd", &f.NEmbd, field.Size(1), ""),
		field.New("n_layer", &f.NLayer, field.Size(1), ""),
		field.New("n_head", &f.NHead, field.Size(1), ""),
		field.New("n_inner", &f.NInner, field.Size(1), ""),
		field.New("activation_function", &f.activation, field.Any(), ""),
		field.New("resid_pdrop", &f.Dropout, field.Fraction(), ""),
		field.New("embd_pdrop", &f.embdDrop, field.Fraction(), ""),
		field.New("attn_pdrop", &f.attDrop, field.Fraction(), ""),
		field.New("layer_norm_epsilon", &f.Eps, field.ProperFraction(), ""),
		field.New("tie_word_embeddings", &f.tied, field.Any(), ""),
		field.New("scale_attn_weights", &f.scaled, field.Any(), ""),
		field.New("scale_attn_by_inverse_layer_idx", &f.scaledByLayer, field.Any(), ""),
		field.New("add_cross_attention", &f.crossAttention, field.Any(), ""),
	}
}

// more returns the fields of the network that the file may have under their own names.
func (f *gpt2File) more() field.List {
	return f.NetworkFields().Without(
		"block_size", "vocab_size", "n_embd", "n_layer", "n_head", "n_inner", "dropout", "eps")
}

// write sets the keys from c, which must be resolved.
func (f *gpt2File) write(c Config) {
	f.VocabSize, f.BlockSize, f.context = c.VocabSize, c.BlockSize, c.BlockSize
	f.NEmbd, f.NLayer, f.NHead, f.NInner, f.Eps = c.NEmbd, c.NLayer, c.NHead, c.NInner, c.Eps
	f.Dropout, f.embdDrop, f.attDrop = c.Dropout, c.Dropout, c.Dropout
	f.tied = c.Head == "tied"
	if a := parts.Find(c.known().Activations, c.Activation); len(a.HF) > 0 {
		f.activation = a.HF[0]
	}
}

// read sets the network from a file. It returns an error that names the first unknown key.
func (f *gpt2File) read(data []byte) error {
	keys, more, given := f.keys(), f.more(), map[string]bool{}
	err := field.EachKey(data, func(key string, value json.RawMessage) error {
		to, ok := keys.Find(key)
		if !ok {
			if to, ok = more.Find(key); !ok {
				return errors.Errorf("%s: got %s, which is no key of a checkpoint of this library: package "+
					"gpt/published opens models of other programs", field.Clip(key), field.Clip(string(value)))
			}
			given[key] = true
		}
		if err := to.Decode(value); err != nil {
			return err
		}
		return to.Check()
	})
	if err != nil {
		return err
	}
	switch {
	case f.modelType != "gpt2" && f.modelType != ownType:
		return errors.Errorf("model_type: got %s, want gpt2 or %s: "+
			"package gpt/published opens models of other programs", field.Clip(f.modelType), ownType)
	case f.context != 0 && f.context != f.BlockSize:
		return errors.Errorf("n_ctx: got %d, want n_positions %d", f.context, f.BlockSize)
	case f.embdDrop != f.Dropout:
		return errors.Errorf("embd_pdrop: got %v, want resid_pdrop %v", f.embdDrop, f.Dropout)
	case f.attDrop != f.Dropout:
		return errors.Errorf("attn_pdrop: got %v, want resid_pdrop %v", f.attDrop, f.Dropout)
	case !f.scaled:
		return errors.New("scale_attn_weights: got false, want true")
	case f.scaledByLayer:
		return errors.New("scale_attn_by_inverse_layer_idx: got true, want false")
	case f.crossAttention:
		return errors.New("add_cross_attention: got true, want false")
	}
	if !given["activation"] {
		all := f.known().Activations
		i := slices.IndexFunc(all, func(a parts.Activation) bool { return slices.Contains(a.HF, f.activation) })
		if i < 0 {
			return errors.Errorf("activation_function: got %s, want the name of an activation",
				field.Clip(f.activation))
		}
		f.Activation = all[i].String()
	}
	if !given["head"] {
		if f.Head = "linear"; f.tied {
			f.Head = "tied"
		}
	}
	return nil
}

// ownType is the model_type of a network that is no GPT-2, so that no other program takes its weights for a GPT-2's.
const ownType = "pedestrian"

// unbiasedHead is a head without a bias in a network with biases.
const unbiasedHead = "linear_no_bias"

// HuggingFace returns the network's part of c as the config.json of Hugging Face's GPT-2, indented. If the network
// computes something else than GPT-2 (a post-norm block, heads of another size, adapters, a bias in the head),
// model_type is "pedestrian", so that no other program takes the weights for a GPT-2's, and the differing fields are
// written under their names in Config.
func (c Config) HuggingFace() ([]byte, error) {
	p, o, err := c.validated()
	if err != nil {
		return nil, err
	}
	c = p.Config
	file, differ, err := c.asGPT2("gpt2", "GPT2LMHeadModel")
	if err == nil && (len(differ.Without("bias")) > 0 || c.Bias && o.ownHead) {
		file, differ, err = c.asGPT2(ownType)
	}
	if err != nil {
		return nil, err
	}
	data, err := append(file, differ...).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, errors.Wrap(err, "config")
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// asGPT2 returns c, which must be resolved, as a file of the model type, and the fields in which the network of that
// file differs from c's.
func (c Config) asGPT2(modelType string, architectures ...string) (file, differ field.List, err error) {
	c.With.Set("initialization", parts.Names(parts.Initializations())[0]) // of no effect on weights that are there
	f := newGPT2File(c.Parts)
	f.modelType, f.architectures = modelType, architectures
	f.write(c)
	file = f.keys()
	data, err := file.MarshalJSON()
	if err != nil {
		return nil, nil, err
	}
	read := newGPT2File(c.Parts)
	if err := read.read(data); err != nil {
		return nil, nil, err
	}
	network := read.Resolved()
	want := network.NetworkFields()
	for _, got := range c.NetworkFields().Without("dropout") {
		if w, _ := want.Find(got.Name); got.String() != w.String() {
			differ = append(differ, got)
		}
	}
	return file, differ, nil
}

// FromHuggingFace reads a config.json as HuggingFace writes it, without validating the network. The training half stays
// zero. own holds the user-defined variants of the program that wrote it, if any.
func FromHuggingFace(data []byte, own ...parts.Registry) (Config, error) {
	f := newGPT2File(parts.Join(own...))
	if err := f.read(data); err != nil {
		return Config{}, err
	}
	if f.Head == "linear" && f.Bias && f.modelType != ownType { // a GPT-2's head has no bias
		f.Head = unbiasedHead
	}
	return f.Config, nil
}
