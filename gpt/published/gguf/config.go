package gguf

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// architecture describes how a family is stored in GGUF files, and under which names in Hugging Face's folders.
type architecture struct {
	name    string // of general.architecture
	kind    string // model_type; the name if empty
	keys    []pair // keys after the name and a dot, and those of config.json
	tensors []pair // names of tensors, # standing for the number of a block
	pairs   bool   // rows of queries and keys are in adjacent pairs of a rotation, not in halves of a head
	columns bool   // matrices of the folder are (in, out)
	gains   bool   // the folder's gains of norms are those of the file minus 1
}

// modelType returns the model_type of the folder.
func (a architecture) modelType() string { return cmp.Or(a.kind, a.name) }

// pair is a name in a GGUF file and in a folder.
type pair struct{ ours, theirs string }

const (
	architectureKey = "general.architecture"
	tokensName      = "token_embd.weight"
	headName        = "output.weight"
	factorsName     = "rope_freqs.weight"
)

var llamaKeys = []pair{
	{"vocab_size", "vocab_size"}, {"context_length", "max_position_embeddings"}, {"embedding_length", "hidden_size"},
	{"block_count", "num_hidden_layers"}, {"feed_forward_length", "intermediate_size"},
	{"attention.head_count", "num_attention_heads"}, {"attention.head_count_kv", "num_key_value_heads"},
	{"attention.key_length", "head_dim"}, {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
	{"rope.freq_base", "rope_theta"},
}

var llamaTensors = []pair{
	{tokensName, "model.embed_tokens.weight"}, {"output_norm.weight", "model.norm.weight"},
	{headName, "lm_head.weight"},
	{"blk.#.attn_norm.weight", "model.layers.#.input_layernorm.weight"},
	{"blk.#.attn_q.weight", "model.layers.#.self_attn.q_proj.weight"},
	{"blk.#.attn_k.weight", "model.layers.#.self_attn.k_proj.weight"},
	{"blk.#.attn_v.weight", "model.layers.#.self_attn.v_proj.weight"},
	{"blk.#.attn_q.bias", "model.layers.#.self_attn.q_proj.bias"},
	{"blk.#.attn_k.bias", "model.layers.#.self_attn.k_proj.bias"},
	{"blk.#.attn_v.bias", "model.layers.#.self_attn.v_proj.bias"},
	{"blk.#.attn_q_norm.weight", "model.layers.#.self_attn.q_norm.weight"},
	{"blk.#.attn_k_norm.weight", "model.layers.#.self_attn.k_norm.weight"},
	{"blk.#.attn_output.weight", "model.layers.#.self_attn.o_proj.weight"},
	{"blk.#.ffn_norm.weight", "model.layers.#.post_attention_layernorm.weight"},
	{"blk.#.ffn_gate.weight", "model.layers.#.mlp.gate_proj.weight"},
	{"blk.#.ffn_up.weight", "model.layers.#.mlp.up_proj.weight"},
	{"blk.#.ffn_down.weight", "model.layers.#.mlp.down_proj.weight"},
}

// gemmaKeys and gemmaTensors are those of LLaMA with windows, and with norms before and after attention and MLP.
var gemmaKeys = append(slices.Clone(llamaKeys),
	pair{"attention.sliding_window", "sliding_window"}, pair{"rope.freq_base_swa", "rope_local_base_freq"})

var gemmaTensors = append(
	slices.DeleteFunc(slices.Clone(llamaTensors), func(p pair) bool { return p.ours == "blk.#.ffn_norm.weight" }),
	pair{"blk.#.post_attention_norm.weight", "model.layers.#.post_attention_layernorm.weight"},
	pair{"blk.#.ffn_norm.weight", "model.layers.#.pre_feedforward_layernorm.weight"},
	pair{"blk.#.post_ffw_norm.weight", "model.layers.#.post_feedforward_layernorm.weight"})

func architectures() []architecture {
	return []architecture{
		{name: "llama", keys: llamaKeys, tensors: llamaTensors, pairs: true},
		{name: "qwen2", keys: llamaKeys, tensors: llamaTensors},
		{name: "qwen3", keys: llamaKeys, tensors: llamaTensors},
		{name: "gemma3", kind: "gemma3_text", keys: gemmaKeys, tensors: gemmaTensors, gains: true},
		{
			name: "gpt2", columns: true,
			keys: []pair{
				{"vocab_size", "vocab_size"}, {"context_length", "n_positions"}, {"embedding_length", "n_embd"},
				{"block_count", "n_layer"}, {"feed_forward_length", "n_inner"}, {"attention.head_count", "n_head"},
				{"attention.layer_norm_epsilon", "layer_norm_epsilon"},
			},
			tensors: []pair{
				{tokensName, "wte.weight"}, {"position_embd.weight", "wpe.weight"},
				{"output_norm.weight", "ln_f.weight"}, {"output_norm.bias", "ln_f.bias"},
				{headName, "lm_head.weight"},
				{"blk.#.attn_norm.weight", "h.#.ln_1.weight"},
				{"blk.#.attn_norm.bias", "h.#.ln_1.bias"},
				{"blk.#.attn_qkv.weight", "h.#.attn.c_attn.weight"},
				{"blk.#.attn_qkv.bias", "h.#.attn.c_attn.bias"},
				{"blk.#.attn_output.weight", "h.#.attn.c_proj.weight"},
				{"blk.#.attn_output.bias", "h.#.attn.c_proj.bias"},
				{"blk.#.ffn_norm.weight", "h.#.ln_2.weight"},
				{"blk.#.ffn_norm.bias", "h.#.ln_2.bias"},
				{"blk.#.ffn_up.weight", "h.#.mlp.c_fc.weight"},
				{"blk.#.ffn_up.bias", "h.#.mlp.c_fc.bias"},
				{"blk.#.ffn_down.weight", "h.#.mlp.c_proj.weight"},
				{"blk.#.ffn_down.bias", "h.#.mlp.c_proj.bias"},
			},
		},
	}
}

// architectureOf returns the architecture whose name, in a file or as a model_type, is given.
func architectureOf(given string, name func(architecture) string) (architecture, error) {
	var names []string
	for _, a := range architectures() {
		if name(a) == given {
			return a, nil
		}
		names = append(names, name(a))
	}
	return architecture{}, errors.Errorf("got %.80q, want one of %s", given, strings.Join(names, ", "))
}

// architecture returns the architecture of a file.
func (f *File) architecture() (architecture, error) {
	v, ok := f.Find(architectureKey)
	if !ok {
		return architecture{}, errors.Errorf("%s is missing", architectureKey)
	}
	name, err := v.Text()
	if err != nil {
		return architecture{}, errors.WithMessage(err, architectureKey)
	}
	a, err := architectureOf(name, func(a architecture) string { return a.name })
	return a, errors.WithMessage(err, architectureKey)
}

// config returns the keys of config.json. A key that may change what the network computes, and has no counterpart
// there, is an error.
func (f *File) config(a architecture) (map[string]any, error) {
	config := map[string]any{"model_type": a.modelType(), "tie_word_embeddings": true}
	var rest []Key
	for _, k := range f.Keys {
		name, own := strings.CutPrefix(k.Name, a.name+".")
		top, _, _ := strings.Cut(k.Name, ".")
		switch {
		case own:
			if theirs, ok := find(a.keys, name); ok {
				number, err := k.json()
				if err != nil {
					return nil, errors.WithMessagef(err, "key %.80q", k.Name)
				}
				config[theirs] = number
				continue
			}
			rest = append(rest, Key{name, k.Value})
		case k.Name == "general.type" && k.String() != `"model"`,
			k.Name == "split.count" && k.String() != "1" && k.String() != "0":
			return nil, errors.Errorf("key %.80q: got %s, want the file of a complete model", k.Name, k)
		case top != "general" && top != "tokenizer" && top != "quantize" && top != "split":
			return nil, errors.Errorf("key %.80q: got %s, want none: the key is not supported, "+
				"and may change what the network computes", k.Name, k)
		}
	}
	for _, t := range f.Tensors {
		switch {
		case t.Name == headName:
			config["tie_word_embeddings"] = false
		case t.Name == tokensName && config["vocab_size"] == nil && len(t.Shape) == 2:
			config["vocab_size"] = t.Shape[0]
		}
	}
	if err := f.checkRest(a, config, rest); err != nil {
		return nil, err
	}
	if a.kind == "gemma3_text" { // its scores are divided by the root of head_dim
		config["query_pre_attn_scalar"] = config["head_dim"]
	}
	return config, f.rope(config, rest)
}

// json returns a number as JSON represents it: a float32 in its shortest form.
func (v Value) json() (any, error) {
	if v.list || !v.numeric() {
		return nil, errors.Errorf("got %s, want a number", v)
	}
	return json.Number(v.String()), nil
}

// checkRest checks the keys that config.json expresses by others.
func (f *File) checkRest(a architecture, config map[string]any, rest []Key) error {
	width, heads := f.size(a, "embedding_length"), f.size(a, "attention.head_count")
	head := f.size(a, "attention.key_length")
	if head == 0 && heads > 0 {
		head = width / heads
	}
	for _, k := range rest {
		var want float64
		switch k.Name {
		case "rope.dimension_count", "attention.value_length":
			want = float64(head)
		case "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length":
			continue
		case "rope.scaling.attn_factor":
			want = 1
		case "attention.sliding_window_pattern": // a window in all but every sixth block
			want = 6
		case "rope.scaling.finetuned", "attention.causal": // of the training; all networks here are causal
			if k.Name != "attention.causal" || k.String() == "true" {
				continue
			}
			fallthrough
		default:
			return errors.Errorf("key %.80q: got %s, want none: the key is not supported, "+
				"and may change what the network computes", a.name+"."+k.Name, k)
		}
		if got, err := k.Float(); err != nil || got != want {
			return errors.Errorf("key %.80q: got %s, want %v", a.name+"."+k.Name, k, want)
		}
	}
	return nil
}

// size returns a whole number of the architecture, or 0.
func (f *File) size(a architecture, name string) int {
	v, _ := f.Find(a.name + "." + name)
	n, err := v.Int()
	if err != nil {
		return 0
	}
	return n
}

// rope sets rope_scaling to the scaling of rotary positions: linear by a key, or that of Llama 3 by its factors.
func (f *File) rope(config map[string]any, rest []Key) error {
	kind, factor := "none", 1.0
	for _, k := range rest {
		switch k.Name {
		case "rope.scaling.type":
			text, err := k.Text()
			if err != nil {
				return errors.WithMessagef(err, "key %q", k.Name)
			}
			kind = text
		case "rope.scaling.factor":
			x, err := k.Float()
			if err != nil {
				return errors.WithMessagef(err, "key %q", k.Name)
			}
			factor = x
		}
	}
	switch {
	case kind == "linear":
		config["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": factor}
	case kind != "none":
		return errors.Errorf("rope.scaling.type: got %.80q, want none or linear", kind)
	}
	for _, t := range f.Tensors {
		if t.Name == factorsName {
			if kind != "none" {
				return errors.Errorf("rope.scaling.type: got %s beside the tensor %s, want none", kind, factorsName)
			}
			return t.llama3(config)
		}
	}
	return nil
}

// llama3 sets rope_scaling to that of Llama 3 (Llama Team 2024) with the published borders, 1 and 4 turns in 8192
// tokens, if it has the tensor's factors: 1 for more than 4 turns, factor for less than 1, and between them
// 1/((1 − s)/factor + s), where s grows from 0 to 1 with the number of turns.
func (t Tensor) llama3(config map[string]any) error {
	const low, high, original = 1, 4, 8192
	if t.Len() > 1<<16 {
		return errors.Errorf("tensor %s: got %d numbers, want half the features of a head", factorsName, t.Len())
	}
	got := make([]float32, t.Len())
	if err := t.Values(got, 0); err != nil {
		return err
	}
	factor, theta := 0.0, 10_000.0
	for _, x := range got {
		factor = max(factor, float64(x))
	}
	if n, ok := config["rope_theta"].(json.Number); ok {
		theta, _ = n.Float64()
	}
	for i, x := range got {
		turns := original * math.Pow(theta, -float64(i)/float64(len(got))) / (2 * math.Pi)
		s := max(0, min(1, (turns-low)/(high-low)))
		if want := 1 / ((1-s)/factor + s); !(math.Abs(float64(x)-want) <= 1e-3*want) {
			return errors.Errorf("tensor %s: number %d: got %v, want %v: only the scaling of Llama 3 is supported",
				factorsName, i, x, want)
		}
	}
	config["rope_scaling"] = map[string]any{
		"rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high,
		"original_max_position_embeddings": original,
	}
	return nil
}

// find returns the name in a folder of a name in a GGUF file.
func find(list []pair, ours string) (theirs string, ok bool) {
	for _, p := range list {
		if p.ours == ours {
			return p.theirs, true
		}
	}
	return "", false
}
