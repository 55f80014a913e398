package published

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// network has the fields of a network.
type network struct {
	parts.Stack
	parts.Scaling
	cap                 float64
	context, vocabulary int
	head                string
}

func (n *network) fields() field.List {
	known := parts.Library()
	list := field.List{
		field.New("block_size", &n.context, field.Size(1), ""),
		field.New("vocab_size", &n.vocabulary, field.Size(1), ""),
		parts.NameField("head", &n.head, parts.Names(known.Heads), ""),
	}
	list = append(list, n.SizeFields()...)
	list = append(list, n.PartFields(known)...)
	list = append(list, field.New("final_logit_softcapping", &n.cap, field.NonNegative(), ""))
	return append(append(list, n.OptionFields(known)...), n.ScalingFields()...)
}

// readNetwork returns the fields that a file of a family sets, separated by spaces, with their values.
func readNetwork(text string) (*network, string, error) {
	f, err := familyIn([]byte(text))
	if err != nil {
		return new(network), "", err
	}
	return readAs(f, text)
}

// readAs is readNetwork for a file of a known family.
func readAs(f family, text string) (*network, string, error) {
	n := new(network)
	if err := f.Read([]byte(text), n.fields(), parts.Activations()); err != nil {
		return n, "", err
	}
	var set []string
	for _, x := range n.fields() {
		if v := x.String(); v != "" && v != "0" && v != "false" {
			set = append(set, x.Name+"="+v)
		}
	}
	return n, strings.Join(set, " "), nil
}

const (
	gpt2Defaults = "block_size=1024 vocab_size=50257 head=tied n_layer=12 n_head=12 n_embd=768 dropout=0.1 " +
		"bias=true eps=1e-05 activation=gelu_tanh"
	llamaDefaults = "block_size=2048 vocab_size=32000 head=linear n_layer=32 n_head=32 n_embd=4096 n_inner=11008 " +
		"eps=1e-06 rope_theta=10000 position=rope attention=causal norm=rmsnorm mlp=swiglu"
	qwen3Defaults = "block_size=32768 vocab_size=151936 head=linear n_layer=32 n_head=32 n_embd=4096 qk_size=128 " +
		"v_size=128 n_inner=22016 eps=1e-06 rope_theta=10000 position=rope attention=gqa norm=rmsnorm mlp=swiglu " +
		"qk_norm=head n_kv_head=32"
	olmo2Defaults = "block_size=2048 vocab_size=50304 head=linear n_layer=32 n_head=32 n_embd=4096 n_inner=11008 " +
		"eps=1e-05 rope_theta=10000 position=rope attention=gqa norm=rmsnorm block=post_part mlp=swiglu " +
		"qk_norm=width n_kv_head=32"
	smolLM3Defaults = "block_size=32768 vocab_size=128256 head=tied n_layer=36 n_head=16 n_embd=2048 n_inner=11008 " +
		"eps=1e-06 rope_theta=2e+06 position=rope attention=gqa norm=rmsnorm mlp=swiglu n_kv_head=4 " +
		"no_rope_layer_interval=4"
	mixtralDefaults = "block_size=131072 vocab_size=32000 head=linear n_layer=32 n_head=32 n_embd=4096 " +
		"n_inner=14336 eps=1e-05 rope_theta=1e+06 position=rope attention=gqa norm=rmsnorm mlp=moe n_kv_head=8 " +
		"num_experts=8 num_experts_per_tok=2 norm_topk_prob=true"
	qwen3MoEDefaults = "block_size=32768 vocab_size=151936 head=linear n_layer=24 n_head=32 n_embd=2048 n_inner=768 " +
		"eps=1e-06 rope_theta=10000 position=rope attention=gqa norm=rmsnorm mlp=moe qk_norm=head n_kv_head=4 " +
		"num_experts=128 num_experts_per_tok=8"
	olmoeDefaults = "block_size=4096 vocab_size=50304 head=linear n_layer=16 n_head=16 n_embd=2048 n_inner=2048 " +
		"eps=1e-05 rope_theta=10000 position=rope attention=gqa norm=rmsnorm mlp=moe qk_norm=width n_kv_head=16 " +
		"num_experts=64 num_experts_per_tok=8"
	qwen2Defaults = "block_size=32768 vocab_size=151936 head=linear n_layer=32 n_head=32 n_embd=4096 n_inner=22016 " +
		"eps=1e-06 rope_theta=10000 position=rope attention=gqa_bias norm=rmsnorm mlp=swiglu n_kv_head=32"
)

// A file sets the fields of its keys and of the family's defaults, and those alone.
func TestRead(t *testing.T) {
	change := func(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }
	const l = `{"model_type": "llama", `
	for text, want := range map[string]string{
		`{}`: gpt2Defaults, `{"model_type": ""}`: gpt2Defaults, `{"n_inner": null}`: gpt2Defaults,
		`{"model_type": "llama"}`: llamaDefaults, `{"model_type": "qwen2"}`: qwen2Defaults,
		`{"n_inner": 7, "vocab_size": 9}`: change(
			gpt2Defaults, "50257", "9", "bias=true", "bias=true n_inner=7",
		),
		`{"n_ctx": 1024, "n_special": 3}`:                                                                    gpt2Defaults,
		`{"resid_pdrop": 0, "attn_pdrop": 0, "embd_pdrop": 0}`:                                               change(gpt2Defaults, "dropout=0.1 ", ""),
		l + `"num_key_value_heads": null, "head_dim": null, "attention_dropout": null, "layer_types": null}`: llamaDefaults,
		`{"new": null, "is_encoder_decoder": false, "pruned_heads": { }}`:                                    gpt2Defaults,
		l + `"num_key_value_heads": 32}`:                                                                     llamaDefaults,
		l + `"num_key_value_heads": 8}`:                                                                      change(llamaDefaults, "causal", "gqa") + " n_kv_head=8",
		l + `"head_dim": 6, "hidden_size": 77}`: change(
			llamaDefaults, "4096", "77", "n_inner", "qk_size=6 v_size=6 n_inner",
		),
		l + `"num_hidden_layers": 2, "layer_types": ["full_attention", "full_attention"]}`: change(
			llamaDefaults, "n_layer=32", "n_layer=2",
		),
		l + `"hidden_act": "swish", "max_sequence_length": 7, "partial_rotary_factor": 1}`: llamaDefaults,
		l + `"rope_scaling": {"rope_type": "default"}}`:                                    llamaDefaults,
		l + `"rope_scaling": null, "rope_theta": 5}`: change(
			llamaDefaults, "10000", "5",
		),
		l + `"rope_scaling": {"type": "default", "factor": 2, "x": null}}`:      llamaDefaults,
		l + `"rope_parameters": {"rope_theta": 5, "partial_rotary_factor": 1}}`: change(llamaDefaults, "10000", "5"),
		l + `"attention_dropout": 0.5, "full_attn_mod": 1.0}`:                   llamaDefaults,
		l + `"rope_scaling": {"type": "yarn", "factor": 4, "attention_factor": 1, "beta_fast": 16, "finetuned": true, "truncate": false}}`: llamaDefaults +
			" rope_scaling=yarn rope_factor=4 rope_original=2048 rope_beta_fast=16 rope_unrounded=true " +
			"rope_attention_factor=1",
		l + `"rope_scaling": {"type": "yarn", "factor": 4, "mscale": 0.5}}`: llamaDefaults +
			" rope_scaling=yarn rope_factor=4 rope_original=2048",
		l + `"rope_scaling": {"type": "yarn", "factor": 4, "mscale": 1, "mscale_all_dim": 1.0}}`: llamaDefaults +
			" rope_scaling=yarn rope_factor=4 rope_original=2048 rope_attention_factor=1",
		l + `"rope_scaling": {"rope_type": "dynamic", "factor": 2}}`: llamaDefaults,
		l + `"rope_scaling": {"rope_type": "linear", "factor": 1}}`:  llamaDefaults,
		l + `"rope_scaling": {"type": "linear", "factor": 2.5}}`: llamaDefaults +
			" rope_scaling=linear rope_factor=2.5",
		l + `"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512}}`: llamaDefaults +
			" rope_scaling=llama3 rope_factor=8 rope_original=512",
		l + `"rope_parameters": {"rope_type": "yarn", "rope_theta": 5, "factor": 4, "beta_fast": 32, "truncate": true, "attention_factor": null}}`: change(
			llamaDefaults, "10000", "5") + " rope_scaling=yarn rope_factor=4 rope_original=2048",
		`{"model_type": "qwen3"}`: qwen3Defaults, `{"model_type": "olmo2"}`: olmo2Defaults,
		`{"model_type": "smollm3"}`: smolLM3Defaults,
		`{"model_type": "mixtral"}`: mixtralDefaults, `{"model_type": "qwen3_moe", "mlp_only_layers": [ ]}`: qwen3MoEDefaults,
		`{"model_type": "olmoe", "router_aux_loss_coef": 0.5}`:  olmoeDefaults,
		`{"model_type": "olmoe", "output_router_logits": true}`: olmoeDefaults + " router_aux_loss_coef=0.01",
		`{"model_type": "smollm3", "num_hidden_layers": 3}`: change(
			smolLM3Defaults, "n_layer=36", "n_layer=3", " no_rope_layer_interval=4", "",
		),
		`{"model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [1, 0, 1]}`: change(smolLM3Defaults,
			"n_layer=36", "n_layer=3",
			"interval=4", "interval=2"),
		`{"model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [1, 1, 1]}`: change(smolLM3Defaults,
			"n_layer=36", "n_layer=3",
			" no_rope_layer_interval=4", ""),
		`{"model_type": "qwen2", "num_key_value_heads": 4, "attention_bias": true, "sliding_window": 7, "max_window_layers": 7}`: change(
			qwen2Defaults, "n_kv_head=32", "n_kv_head=4"),
		l + `"attention_bias": true, "mlp_bias": true}`:   llamaDefaults + " attention_bias=true mlp_bias=true",
		`{"model_type": "qwen3", "attention_bias": true}`: qwen3Defaults + " attention_bias=true",
	} {
		_, got, err := readNetwork(text)
		if err != nil || strings.Join(sorted(got), " ") != strings.Join(sorted(want), " ") {
			t.Errorf("%s: got %v,\n%s, want\n%s", text, err, got, want)
		}
	}
}

// Blocks that all attend to every token have no window, whatever sliding_window says.
func TestFullAttentionHasNoWindow(t *testing.T) {
	for _, text := range []string{
		`"layer_types": ["full_attention", "full_attention"]`, `"sliding_window_pattern": 1`,
	} {
		n, _, err := readNetwork(
			`{"model_type": "gemma3_text", "num_hidden_layers": 2, "sliding_window": 7, ` + text + `}`,
		)
		if err != nil || n.Attention != "gqa" || n.Options.Get("window") != 0 {
			t.Errorf(
				"%s: got attention %s and a window of %d, error %v, want gqa", text, n.Attention,
				n.Options.Get("window"), err,
			)
		}
	}
}

// A network without the share of features that rotate is one of which all do.
func TestWritesWithoutAShare(t *testing.T) {
	n, _, err := readNetwork(`{"model_type": "phi3"}`)
	if err != nil {
		t.Fatal(err)
	}
	file, err := phi3().Write(n.fields().Without("partial_rotary_factor"), parts.Activations())
	if got := shown(file, "partial_rotary_factor"); err != nil || got != "1" {
		t.Errorf("got %s and error %v, want 1", got, err)
	}
}

// A factor on rotated features that the network states is written, also for a shorter context.
func TestLongRoPEKeepsItsFactor(t *testing.T) {
	n, _, err := readNetwork(`{"model_type": "phi3", "original_max_position_embeddings": 1024, "rope_scaling": {"rope_type": "longrope",
		"short_factor": [1], "long_factor": [2], "attention_factor": 3}}`)
	if err != nil {
		t.Fatal(err)
	}
	n.context = 512
	file, err := phi3().Write(n.fields(), parts.Activations())
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(file, "rope_scaling"); !strings.Contains(got, `"attention_factor":3,`) {
		t.Errorf("got %s, want the attention_factor 3", got)
	}
}

func sorted(s string) []string { return slices.Sorted(slices.Values(strings.Fields(s))) }

// What no field can express is an error that names the key and its value.
func TestReadRefuses(t *testing.T) {
	const l, g = `{"model_type": "llama", `, `{"model_type": "gemma3_text", `
	const n = `{"model_type": "gpt_neo", "num_layers": 2, "attention_types": `
	for text, want := range map[string]string{
		`{`: "config", `{"model_type": 7}`: "model_type: got 7",
		`{"model_type": "bert"}`: "model_type: got bert, want one of gpt2, llama, " +
			"qwen2, qwen3",
		`{"model_type": "qwen3_moe", "decoder_sparse_step": 2}`: "decoder_sparse_step: got 2, want 1",
		`{"model_type": "qwen3_moe", "mlp_only_layers": [1]}`:   "mlp_only_layers: got ",
		`{"model_type": "mixtral", "router_jitter_noise": 0.1}`: "router_jitter_noise: got 0.1, want 0",
		`{"model_type": "olmoe", "clip_qkv": 8}`:                "clip_qkv: got 8, want none",
		`{"model_type": "mixtral", "hidden_act": "gelu"}`:       "hidden_act: got gelu, want silu",
		`{"n_layer": null}`: "n_layer: got null",
		`{"n_layer": 0}`:    "n_layer: got 0, want", `{"new": 1}`: "new: got 1, want none",
		`{"n_ctx": 9}`:                    "n_ctx: got 9, want n_positions 1024",
		`{"embd_pdrop": 0.2}`:             "embd_pdrop: got 0.2, want resid_pdrop 0.1",
		`{"activation_function": "tanh"}`: "activation_function: got tanh, want gelu, gelu_new, relu, relu2, silu, sigmoid",
		`{"scale_attn_weights": false}`:   "scale_attn_weights: got false, want true",
		`{"block_size": 7}`:               "block_size: got 7, want none",
		`{"resid_pdrop": 0, "embd_pdrop": 0.2, "attn_pdrop": 0.2}`: "embd_pdrop: got 0.2, want resid_pdrop 0",
		l + `"n_special": 3}`:             "n_special: got 3, want none",
		l + `"position": "none"}`:         "position: got \"none\", want none",
		l + `"use_sliding_window": true}`: "use_sliding_window: got true, want false", l +
			`"mlp_bias": null}`: "mlp_bias: got null, want true or false",
		l + `"rope_theta": null}`: "rope_theta: got null", l +
			`"layer_types": []}`: "layer_types: got 0, want one for each",
		l + `"num_hidden_layers": 1, "layer_types": [null]}`: "layer_types: got [null]: element 0: got null",
		l + `"rope_scaling": {}}`:                            "rope_scaling: got {}", l +
			`"rope_scaling": {"rope_type": null}}`: "rope_scaling: rope_type: got null, want one of",
		l + `"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2}}`: "rope_scaling: type: got yarn, want rope_type linear",
		l + `"rope_scaling": {"rope_type": "default"}, "rope_parameters": {}}`:      "rope_scaling: got {\"rope_type\": \"default\"} beside rope_parameters",
		l + `"rope_scaling": {"rope_type": "yarn", "factor": 4, "truncate": null}}`: "rope_scaling: truncate: got null, want true or false",
		l + `"new": false}`: "new: got false, want none", `{"newer": [ ]}`: "newer: got [ ], want none", l +
			`"rms_norm_eps": 0}`: "rms_norm_eps: got 0",
		`{"n_inner": 0}`: "n_inner: got 0", l + `"full_attn_mod": 2}`: "full_attn_mod: got 2, want none",
		`{"model_type": "gemma3_text", "_sliding_window_pattern": 3}`:                                                        "_sliding_window_pattern: got 3, want sliding_window_pattern 6",
		`{"model_type": "mistral", "sliding_window": 0}`:                                                                     "sliding_window: got 0, want null or a number",
		`{"model_type": "phi", "hidden_size": 60, "num_attention_heads": 6, "partial_rotary_factor": 0.75}`:                  "partial_rotary_factor: got 0.75, 7.5 features of head_dim 10",
		`{"model_type": "smollm3", "no_rope_layers": []}`:                                                                    "no_rope_layers: got 0, want one for each",
		`{"model_type": "smollm3", "num_hidden_layers": 2, "no_rope_layers": [1, null]}`:                                     "no_rope_layers: got [1, null]: element 1: got null",
		`{"model_type": "phi3", "original_max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 2}}`: "original_max_position_embeddings: got 64, want it in rope_scaling",
		l + `"num_key_value_heads": 5}`:                                                                                      "num_key_value_heads: got 5, want a divisor of num_attention_heads 32",
		l + `"hidden_size": 33}`:                                                                                             "num_attention_heads: got 32, want a divisor of hidden_size 33",
		l + `"layer_types": ["full_attention"]}`:                                                                             "layer_types: got 1, want one for each of num_hidden_layers 32",
		l + `"num_hidden_layers": 1, "layer_types": ["x"]}`:                                                                  "layer_types: got x, want full_attention",
		l + `"partial_rotary_factor": 0.5}`:                                                                                  "partial_rotary_factor: got 0.5, want 1",
		l + `"rope_scaling": {"factor": 2}}`:                                                                                 "rope_scaling: factor: got 2, want none without a rope_type",
		l + `"rope_scaling": {"type": "x"}}`:                                                                                 "rope_scaling: rope_type: got x, want one of default, linear",
		l + `"rope_parameters": {"rope_type":"x"}}`:                                                                          "rope_parameters: rope_type: got x, want one of default, linear",
		l + `"rope_parameters": {"a": 1}}`:                                                                                   "rope_parameters: a: got 1, want none: such a rotation is not supported",
		`{"model_type": "phi3", "original_max_position_embeddings": 1024, "rope_scaling": {"rope_type": "longrope", "short_factor": [1]}}`:                                     "long_factor: got none, want a number for each pair",
		`{"model_type": "phi3", "original_max_position_embeddings": 1024, "rope_scaling": {"rope_type": "longrope", "short_factor": [1], "long_factor": [-1]}}`:                "long_factor: got -1, want numbers above 0",
		`{"model_type": "phi3", "original_max_position_embeddings": 1024, "rope_scaling": {"rope_type": "longrope", "short_factor": [1], "long_factor": [1], "factor": 3}}`:    "factor: got 3, want 4, as max_position_embeddings 4096 and original_max_position_embeddings 1024 say",
		`{"model_type": "phi3", "original_max_position_embeddings": 1024, "rope_scaling": {"rope_type": "longrope", "short_factor": [1], "long_factor": [1], "beta_fast": 3}}`: "beta_fast: got 3, want none with rope_type longrope",
		l + `"rope_scaling": {"rope_type": "longrope", "short_factor": [1], "factor": 2}}`:                                                                                     "rope_scaling: rope_type: got longrope, want another: the family has no original_max_position_embeddings",
		l + `"rope_scaling": {"type": "linear"}}`:                                                                                "rope_scaling: factor: got 0 (given: false), want at least 1 with rope_type linear",
		l + `"rope_scaling": {"type": "linear", "factor": "x"}}`:                                                                 "rope_scaling: factor: ",
		l + `"rope_scaling": {"rope_type": "llama3", "factor": 8}}`:                                                              "rope_scaling: original_max_position_embeddings: got none",
		l + `"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 2, "original_max_position_embeddings": 9}}`: "rope_scaling: low_freq_factor: got 2 (given: true), want 1 with rope_type llama3",
		l + `"rope_parameters": {"rope_theta": "x"}}`:                                                                            "rope_parameters: rope_theta: ",
		l + `"rope_parameters": {"rope_theta": -1}}`:                                                                             "rope_parameters: rope_theta: got -1",
		l + `"rope_parameters": {"partial_rotary_factor": 2}}`:                                                                   "partial_rotary_factor: got 2, want 1",
		`{"model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [0, 1, 1]}`:                                         "no_rope_layers: got [0, 1, 1], want 0 for every k-th block alone",
		`{"model_type": "smollm3", "no_rope_layers": [0, 1, 1]}`:                                                                 "no_rope_layers: got 3, want one for each of num_hidden_layers 36",
		`{"model_type": "smollm3", "no_rope_layers": "x"}`:                                                                       "no_rope_layers: ",
		l + `"no_rope_layers": [1]}`:                                                                                             "no_rope_layers: got [1], want none", `{"rope_scaling": {"type": "linear"}}`: "rope_scaling: got {\"type",
		l + `"qk_norm": true}`: "qk_norm: got true, want none", l +
			`"quantization_config": {"bits": 4}}`: "quantization_config: got {",
		l + `"attn_logit_softcapping": 50}`: "attn_logit_softcapping: got 50", l +
			`"final_logit_softcapping": 30}`: "final_logit_softcapping: got 30",
		l + `"sliding_window": 4096}`: "sliding_window: got 4096, want none", l +
			`"attention_multiplier": 2}`: "attention_multiplier: got 2",
		`{"model_type": "olmo", "clip_qkv": 8}`:           "clip_qkv: got 8, want none",
		`{"model_type": "phi", "qk_layernorm": true}`:     "qk_layernorm: got true, want false",
		`{"model_type": "glm", "attention_bias": 1}`:      "attention_bias: got 1, want true or false",
		`{"model_type": "cohere", "logit_scale": 0}`:      "logit_scale: got 0",
		`{"model_type": "starcoder2", "use_bias": false}`: "use_bias: got false, want true",
		`{"model_type": "starcoder2", "use_bias": true, "norm_type": "layer_norm", "mlp_type": "default", "scale_attn_weights": true}`: "",
		`{"model_type": "starcoder2", "norm_type": "rms_norm"}`:                                                                        "norm_type: got rms_norm, want layer_norm",
		`{"model_type": "starcoder2", "mlp_type": "gated"}`:                                                                            "mlp_type: got gated, want default",
		`{"model_type": "starcoder2", "scale_attn_weights": false}`:                                                                    "scale_attn_weights: got false, want true",
		`{"model_type": "mixtral", "router_jitter_noise": 0}`:                                                                          "",
		`{"model_type": "mistral", "num_hidden_layers": 1, "sliding_window": null, "layer_types": ["full_attention"]}`:                 "",
		`{"model_type": "mistral", "num_hidden_layers": 1, "sliding_window": null, "layer_types": ["sliding_attention"]}`:              "sliding_window: got null, want a number of tokens",
		`{"model_type": "mistral", "num_hidden_layers": 1, "layer_types": [null]}`:                                                     "layer_types: got [null]: element 0: got null",
		`{"model_type": "mistral", "use_sliding_window": false}`:                                                                       "",
		`{"model_type": "qwen2", "mlp_bias": false}`:                                                                                   "",
		`{"model_type": "qwen3", "mlp_bias": false}`:                                                                                   "",
		`{"model_type": "qwen3", "mlp_bias": true}`:                                                                                    "mlp_bias: got true, want false",
		n + `[[["global","local"],1],["x",1]]}`:                                                                                        "attention_types: got [[",
		n + `[[["global","local"],1],[[],1]]}`:                                                                                         "attention_types: got [[",
		n + `[[["global","local"],1],[["x"],"x"]]}`:                                                                                    "attention_types: got [[",
		n + `[[["global","local"],1],[["x"]]]}`:                                                                                        "attention_types: got [[",
		n + `[[["global","local"],1.5]]}`:                                                                                              "attention_types: got [[",
		n + `[[["global","local"],1e15]]}`:                                                                                             "attention_types: got [[",
		n + `[[["global","local"],1],[["global"],1]]}`:                                                                                 "attention_types: got [[",
		n + `[[["local","global"],1]]}`:                                                                                                "attention_types: got [[",
		n + `[["global"]]}`:                                                                                                            "attention_types: got [[",
		n + `[[["global"],1],[["local"],1]]}`:                                                                                          "",
		n + `7}`:                                                                                                                       "attention_types: ",
		g + `"use_bidirectional_attention": false}`:                                                                                    "",
		g + `"use_bidirectional_attention": true}`:                                                                                     "use_bidirectional_attention: got true, want false",
		g + `"rope_parameters": {"full_attention": {"rope_theta": 7}, "sliding_attention": {"partial_rotary_factor": 1}}}`: "",
		`{"model_type": "phi3", "original_max_position_embeddings": 64}`:                                                   "",
		l + `"rope_scaling": {"rope_type": "linear", "factor": 2, "short_factor": null, "beta_fast": null}}`:               "",
		g + `"rope_parameters": {}}`: "rope_parameters: ",
		g + `"rope_parameters": "x"}`: "rope_parameters: line 1, column 3: got a " +
			"string, want an object",
		g + `"rope_parameters": {"other_attention": {}}}`:                                                                          `rope_parameters: unknown field "other_attention"`,
		g + `"rope_parameters": {"full_attention": 3}}`:                                                                            "rope_parameters: full_attention: ",
		g + `"rope_parameters": {"full_attention": {"rope_theta": 7}}}`:                                                            "rope_parameters: sliding_attention: got , want a rotation of type default",
		g + `"rope_parameters": {"full_attention": {"rope_theta": 7}, "sliding_attention": {"rope_type": "linear", "factor": 2}}}`: "rope_parameters: sliding_attention: got {",
		g + `"rope_parameters": {"full_attention": {"rope_theta": 7}, "sliding_attention": {"partial_rotary_factor": 0.5}}}`:       "rope_parameters: sliding_attention: got {",
		`{"model_type": "gpt_bigcode", "multi_query": false}`:                                                                      "multi_query: got false, want true",
		`{"model_type": "qwen2", "num_key_value_heads": 5}`:                                                                        "num_key_value_heads: got 5",
		`{"model_type": "qwen2", "use_sliding_window": true}`:                                                                      "use_sliding_window: got true, want false",
		`{"model_type": "qwen2", "mlp_bias": true}`:                                                                                "mlp_bias: got true, want false",
	} {
		_, _, err := readNetwork(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want it to say %q", text, err, want)
		}
	}
	for field, want := range map[string]string{
		"n_embd": "n_embd: got 768: the network has no field n_embd", "bias": "bias: the network has no",
	} {
		if err := gpt2().Read([]byte(`{}`), new(network).fields().Without(field), parts.Activations()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("without %s: got the error %v, want %q", field, err, want)
		}
	}
}

// Write is the inverse of Read, with the constants of the family.
func TestWrite(t *testing.T) {
	for text, want := range map[string]string{
		`{"n_inner": 5, "activation_function": "relu"}`: `{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"vocab_size":50257,"n_positions":1024,"n_ctx":1024,` +
			`"n_embd":768,"n_layer":12,"n_head":12,"n_inner":5,"activation_function":"relu","resid_pdrop":0.1,"embd_pdrop":0.1,` +
			`"attn_pdrop":0.1,"layer_norm_epsilon":0.00001,"tie_word_embeddings":true,"scale_attn_weights":true,` +
			`"scale_attn_by_inverse_layer_idx":false,"add_cross_attention":false} {"initializer_range":0.02}`,
		`{"model_type":"llama","num_key_value_heads":8}`: `{"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":32000,` +
			`"max_position_embeddings":2048,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32,` +
			`"num_key_value_heads":8,"head_dim":0,"hidden_act":"silu","rms_norm_eps":0.000001,"rope_theta":10000,` +
			`"rope_scaling":null,"tie_word_embeddings":false,"attention_bias":false,"mlp_bias":false} ` +
			`{"initializer_range":0.02,"pretraining_tp":1,"use_cache":true}`,
		`{"model_type":"smollm3","num_hidden_layers":2,"no_rope_layers":[1,0],"rope_scaling":{"type":"yarn","factor":2}}`: `{"model_type":"smollm3",` +
			`"architectures":["SmolLM3ForCausalLM"],"vocab_size":128256,` +
			`"max_position_embeddings":32768,"hidden_size":2048,"intermediate_size":11008,"num_hidden_layers":2,"num_attention_heads":16,` +
			`"num_key_value_heads":4,"head_dim":0,"hidden_act":"silu","rms_norm_eps":0.000001,"rope_theta":2000000,` +
			`"rope_scaling":{"factor":2,"original_max_position_embeddings":32768,"rope_type":"yarn"},` +
			`"tie_word_embeddings":true,"attention_bias":false,"mlp_bias":false,"use_sliding_window":false,` +
			`"no_rope_layers":[1,0],"no_rope_layer_interval":2} {"initializer_range":0.02,"use_cache":true}`,
		`{"model_type":"qwen2"}`: `{"model_type":"qwen2","architectures":["Qwen2ForCausalLM"],"vocab_size":151936,` +
			`"max_position_embeddings":32768,"hidden_size":4096,"intermediate_size":22016,"num_hidden_layers":32,"num_attention_heads":32,` +
			`"num_key_value_heads":32,"head_dim":0,"hidden_act":"silu","rms_norm_eps":0.000001,"rope_theta":10000,` +
			`"rope_scaling":null,"tie_word_embeddings":false,"use_sliding_window":false} ` +
			`{"initializer_range":0.02,"use_cache":true}`,
	} {
		n, _, err := readNetwork(text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := familyIn([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		file, err := f.Write(n.fields(), parts.Activations())
		if err != nil {
			t.Fatal(err)
		}
		data, err := file.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		keys, err := f.export(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range file {
			if value, ok := keys[x.Name].(json.RawMessage); !ok || !strings.Contains(want, string(value)) {
				t.Errorf("exported %s: got %s", x.Name, value)
			}
			delete(keys, x.Name)
		}
		constants, err := json.Marshal(keys)
		if got := string(data) + " " + string(constants); err != nil || got != want {
			t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
		}
	}
	n, _, err := readNetwork(`{"model_type": "llama"}`)
	if err != nil {
		t.Fatal(err)
	}
	file, err := llama().Write(n.fields(), parts.Activations())
	if groups := count(file, "num_key_value_heads"); err != nil || groups != 32 {
		t.Errorf("without fewer heads of keys: got %d, %v, want 32", groups, err)
	}
	for name, want := range map[string]string{"32": "causal", "8": "gqa"} { // heads of keys and values
		n.Attention = "gqa"
		if err := parse(n.fields(), "n_kv_head", name); err != nil {
			t.Fatal(err)
		}
		if _, err := llama().Write(n.fields(), parts.Activations()); err != nil || n.Attention != want {
			t.Errorf("%s heads of keys: got attention %s, %v, want %s", name, n.Attention, err, want)
		}
	}
	n.Attention = "gqa_bias" // which is no attention of LLaMA, with any number of heads
	if err := parse(n.fields(), "n_kv_head", "32"); err != nil {
		t.Fatal(err)
	}
	if _, err := llama().Write(n.fields(), parts.Activations()); err != nil || n.Attention != "gqa_bias" {
		t.Errorf("got attention %s, %v, want gqa_bias", n.Attention, err)
	}
	if _, err := gpt2().Write(n.fields().Without("n_layer"), parts.Activations()); err == nil ||
		!strings.Contains(err.Error(), "no field n_layer") {
		t.Errorf("without n_layer: got the error %v", err)
	}
}

type specials map[string]int

func (s specials) Special(name string) (int, bool) { id, ok := s[name]; return id, ok }
func (specials) Encode(string) ([]int, error)      { return nil, nil }
func (specials) Decode([]int) (string, error)      { return "", nil }
func (specials) Size() int                         { return 9 }
func (specials) MarshalJSON() ([]byte, error)      { return nil, nil }

// A file names the tokens at a text's ends, or else they are the first usual ones of a tokenizer.
func TestEnds(t *testing.T) {
	for text, want := range map[string][]int{
		`{}`: nil, `{"eos_token_id": null}`: nil, `{"eos_token_id": 7}`: {7}, `{"eos_token_id": [3, 5]}`: {3, 5},
		`{"bos_token_id": 1}`: nil,
	} {
		if got, err := readEnds([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := readEnds([]byte(`{"eos_token_id": "x"}`)); err == nil ||
		!strings.Contains(err.Error(), `eos_token_id: got "x", want a whole number`) {
		t.Errorf("got the error %v", err)
	}
	for _, c := range []struct {
		tok      text.Tokenizer
		bos, eos any
	}{
		{nil, nil, nil}, {text.Bytes{}, nil, nil}, {specials{}, nil, nil}, {specials{"<s>": 1, "</s>": 2}, 1, 2},
		{specials{"<|endoftext|>": 5, "<s>": 1, "</s>": 2}, 5, 5},
		{specials{"<|begin_of_text|>": 3, "<|end_of_text|>": 0}, 3, 0},
	} {
		want := map[string]any{"bos_token_id": c.bos, "eos_token_id": c.eos}
		if diff := cmp.Diff(want, tokenEnds(c.tok)); diff != "" {
			t.Errorf("%v: -want +got:\n%s", c.tok, diff)
		}
	}
}

// A layout names the tensors of a file, adds absent biases, and skips what is no parameter.
func TestLayout(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	var params []graph.Expr
	for _, p := range []struct {
		name  string
		shape []int
	}{
		{"wte.weight", []int{5, 4}}, {"wpe.weight", []int{3, 4}}, {"h.0.ln_1.weight", []int{4}},
		{"h.0.ln_1.bias", []int{4}},
		{"h.0.mlp.c_fc.weight", []int{4, 7}}, {"ln_f.weight", []int{4}}, {"lm_head.weight", []int{4, 5}},
		{"lm_head.bias", []int{5}},
	} {
		params = append(params, g.Root().Param(p.name, graph.Const(1), p.shape...))
	}
	var got []string
	for _, x := range (Layout{family: gpt2()}).export(params) {
		got = append(got, x.Name)
		if x.Name == HeadWeight != cmp.Equal(x.View, train.View{Shape: []int{5, 4}, Row: 1, Column: 4}) {
			t.Errorf("%s: got %+v", x.Name, x.View)
		}
		if width := map[string]int{"h.0.mlp.c_fc.bias": 7, "ln_f.bias": 4}[x.Name]; width > 0 &&
			!slices.Equal(x.F32, make([]float32, width)) {
			t.Errorf("%s: got %v, want %d zeros", x.Name, x.F32, width)
		}
	}
	want := []string{
		"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias", "h.0.mlp.c_fc.weight", "ln_f.weight",
		HeadWeight,
	}
	if diff := cmp.Diff(append(want, "h.0.mlp.c_fc.bias", "ln_f.bias"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	l := Layout{family: llama(), heads: heads{2, 1, 2, 3, 2}}
	if list := l.export(params); len(list) != 7 || list[0].Name != "model.embed_tokens.weight" {
		t.Errorf("LLaMA: got %d tensors, the first being %s", len(list), list[0].Name)
	}
	if got, want := l.Modules("h.3.attn.c_attn")[2], (Module{
		Name: "model.layers.3.self_attn.v_proj", Turned: true, Columns: []int{6, 7, 8},
	}); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := l.Modules("lm_head"); !cmp.Equal(got, []Module{{Name: "lm_head", Turned: true}}) {
		t.Errorf("got %+v", got)
	}
	for name, want := range map[string]struct {
		plain        string
		buffer, head bool
	}{
		"transformer.h.0.attn.bias": {"h.0.attn.bias", true, false},
		"transformer.ln_f.bias":     {"ln_f.bias", false, false},
		HeadWeight:                  {HeadWeight, false, true}, "transformer." + HeadWeight: {HeadWeight, false, true},
	} {
		l := Layout{family: gpt2()}
		plain := l.Plain(name)
		if plain != want.plain || l.Buffer(plain) != want.buffer || (plain == l.Head()) != want.head {
			t.Errorf("%s: got %s, a buffer %t, the head %t, want %+v",
				name, plain, l.Buffer(plain), plain == l.Head(), want)
		}
	}
	for name, buffer := range map[string]bool{
		"model.norm.weight": false, "model.layers.0.self_attn.rotary_emb.inv_freq": true, HeadWeight: false,
	} {
		if got := l.Buffer(l.Plain(name)); got != buffer {
			t.Errorf("LLaMA, %s: got a buffer %t, want %t", name, got, buffer)
		}
	}
}

// Blocks without a window are written as such.
func TestWriteLayerTypes(t *testing.T) {
	n, _, err := readNetwork(`{"model_type": "gemma2", "num_hidden_layers": 3}`)
	if err != nil {
		t.Fatal(err)
	}
	for attention, want := range map[string]string{
		"gqa":        `["full_attention","full_attention","full_attention"]`,
		"gqa_window": `["sliding_attention","full_attention","sliding_attention"]`,
	} {
		n.Attention = attention
		file, err := gemma2().Write(n.fields(), parts.Activations())
		if err != nil {
			t.Fatal(err)
		}
		if key, _ := file.Find("layer_types"); key.String() != want {
			t.Errorf("%s: got %s, want %s", attention, key, want)
		}
	}
}

// Where all blocks of Gemma 3 have a window, the base of windows is the only one, and nothing is scaled. The scalar of
// its scores is written as a whole number only if it is one.
func TestGemma(t *testing.T) {
	n, got, err := readNetwork(`{"model_type": "gemma3_text", "num_hidden_layers": 2, "layer_types": ["sliding_attention", "sliding_attention"], ` +
		`"rope_local_base_freq": 30, "rope_scaling": {"rope_type": "linear", "factor": 2}}`)
	if err != nil || !strings.Contains(got, "rope_theta=30 ") || strings.Contains(got, "rope_scaling=linear") ||
		strings.Contains(got, "rope_factor") {
		t.Errorf("got %s (%v), want rope_theta=30 without a factor", got, err)
	}
	for _, scalar := range []float64{6, 49, 6.25, 6.75} {
		if err := parse(n.fields(), "attention_multiplier", plain(1/math.Sqrt(scalar))); err != nil {
			t.Fatal(err)
		}
		file, err := gemma2().Write(n.fields(), parts.Activations())
		if err != nil {
			t.Fatal(err)
		}
		key, _ := file.Find("query_pre_attn_scalar")
		written, err := strconv.ParseFloat(key.String(), 64)
		if whole := scalar == math.Trunc(scalar); err != nil || math.Abs(written-scalar) > 1e-9 || whole &&
			written != scalar {
			t.Errorf("got %s (%v), want %v", key, err, scalar)
		}
	}
}

// A network without a field that a file sets is an error with the name of the field. So is writing it without one that
// has no default.
func TestMissingFields(t *testing.T) {
	needed := strings.Fields(
		"block_size vocab_size n_layer n_head n_embd n_inner eps rope_factor rope_attention_factor rope_beta_fast " +
			"rope_beta_slow",
	)
	for _, base := range Bases() {
		n, got, err := readNetwork(Text(base))
		if err != nil {
			t.Fatal(err)
		}
		f, err := familyIn([]byte(Text(base)))
		if err != nil {
			t.Fatal(err)
		}
		for _, setting := range strings.Fields(got) {
			name, _, _ := strings.Cut(setting, "=")
			err := f.Read([]byte(Text(base)), new(network).fields().Without(name), parts.Activations())
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is read without %s: got error %v", base["model_type"], setting, err)
			}
			_, err = f.Write(n.fields().Without(name), parts.Activations())
			if slices.Contains(needed, name) && (err == nil || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s is written without %s: got error %v", base["model_type"], setting, err)
			}
		}
	}
}
