package gpt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// The config.json of published models, as written by older and newer programs.
const (
	smolLM2 = `{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0,
		"eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
		"intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "model_type": "llama",
		"num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
		"rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000, "tie_word_embeddings": true,
		"torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": true, "vocab_size": 49152}`
	newer = `{"attention_bias": false, "attention_dropout": 0.0, "dtype": "bfloat16", "eos_token_id": [0, 2], "head_dim": 64,
		"hidden_act": "silu", "hidden_size": 576, "intermediate_size": 1536, "layer_types": null, "max_position_embeddings": 8192,
		"model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "rms_norm_eps": 1e-05,
		"rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"}, "tie_word_embeddings": true, "vocab_size": 49152}`
	stories = `{"hidden_size": 288, "intermediate_size": 768, "max_position_embeddings": 256, "model_type": "llama",
		"num_attention_heads": 6, "num_hidden_layers": 6, "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "vocab_size": 32000}`
	qwen = `{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643,
		"hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864, "max_position_embeddings": 32768,
		"max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24,
		"num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
		"tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936}`
)

// Published configurations are the presets of their names.
func TestFromHuggingFaceLLaMA(t *testing.T) {
	narrow := network(SmolLM2_135M())
	narrow["qk_size"], narrow["v_size"] = "64", "64"
	for text, want := range map[string]map[string]string{smolLM2: network(SmolLM2_135M()), newer: narrow, stories: network(Stories15M())} {
		got, err := FromHuggingFace([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		delete(want, "window") // of other attentions
		had := network(got)
		delete(had, "window")
		if diff := cmp.Diff(want, had); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	s, err := readSource([]byte(qwen), parts.Registry{}) // its masks alone are 4 GiB
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.cropped(1024); err != nil {
		t.Fatal(err)
	}
	if total, _ := s.Count(); total != 494_032_768 || s.Attention != "gqa_bias" || s.RopeTheta != 1e6 {
		t.Errorf("Qwen2-0.5B: got %d parameters, attention %s, rope_theta %v, want 494032768, gqa_bias, 1e6", total, s.Attention, s.RopeTheta)
	}
}

// Settings that a Config cannot express are refused with key and value.
func TestFromHuggingFaceLLaMARefuses(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"silu"`, `"gelu"`}: "hidden_act: got gelu, want silu",
		{`"attention_bias": false`, `"attention_bias": true`}:                                                 "attention_bias: got true, want false",
		{`"pretraining_tp": 1`, `"mlp_bias": true`}:                                                           "mlp_bias: got true, want false",
		{`"attention_dropout": 0.0`, `"attention_dropout": 0.1`}:                                              "attention_dropout: got 0.1, want 0",
		{`"rope_scaling": null`, `"rope_scaling": {"type": "linear", "factor": 2}`}:                           "rope_scaling: type: got linear, want default",
		{`"rope_scaling": null`, `"rope_scaling": {"rope_type": "llama3", "factor": 32}`}:                     "rope_scaling: rope_type: got llama3, want default",
		{`"rope_scaling": null`, `"rope_scaling": {"factor": 32}`}:                                            `rope_scaling: got {"factor": 32}, want null`,
		{`"rope_scaling": null`, `"rope_parameters": {"rope_type": "yarn"}`}:                                  "rope_parameters: rope_type: got yarn, want default",
		{`"rope_scaling": null`, `"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}`}: "rope_parameters: partial_rotary_factor: got 0.5, want 1",
		{`"rope_scaling": null`, `"rope_parameters": {"rope_type": "default", "rope_theta": -1}`}:             "rope_parameters: rope_theta: got -1, want",
		{`"rope_scaling": null`, `"rope_parameters": 7`}:                                                      "rope_parameters: ",
		{`"num_key_value_heads": 3`, `"num_key_value_heads": 4`}:                                              "num_key_value_heads: got 4, want a divisor of num_attention_heads 9",
		{`"num_key_value_heads": 3`, `"num_key_value_heads": 0`}:                                              "num_key_value_heads: got 0, want",
		{`"hidden_size": 576`, `"hidden_size": null`}:                                                         "hidden_size: got null, want",
		{`"hidden_size": 576`, `"hidden_size": 1e99`}:                                                         "hidden_size: got 1e99, want",
		{`"hidden_size": 576, "initializer_range": 0.041666666666666664,`, `"hidden_size": 577,`}:             "num_attention_heads: got 9, want a divisor of hidden_size 577",
		{`"use_cache": true`, `"use_sliding_window": true`}:                                                   "use_sliding_window: got true, want false",
		{`"use_cache": true`, `"layer_types": ["full_attention", "sliding_attention"]`}:                       "layer_types: got sliding_attention, want full_attention",
		{`"use_cache": true`, `"layer_types": ["full_attention"]`}:                                            "layer_types: got 1, want one for each of num_hidden_layers 30",
		{`"use_cache": true`, `"partial_rotary_factor": 0.5`}:                                                 "partial_rotary_factor: got 0.5, want 1",
		{`"use_cache": true`, `"sliding_window": 4096`}:                                                       "sliding_window: got 4096, want none",
		{`"use_cache": true`, `"quantization_config": {"bits": 4}`}:                                           `quantization_config: got {"bits": 4}, want none: the key is not supported`,
		{`"use_cache": true`, `"logit_scale": 2`}:                                                             "logit_scale: got 2, want none",
		{`"rope_scaling": null`, `"rope_parameters": {"full_attention": {"rope_theta": 7}}`}:                  `rope_parameters: full_attention: got {"rope_theta": 7}, want none: only one rotation`,
		{`"rope_scaling": null`, `"rope_parameters": {"rope_type": "default", "mrope_section": [1]}`}:         "rope_parameters: mrope_section: got [1], want none",
		{`"model_type": "llama"`, `"model_type": "mistral"`}:                                                  "model_type: got mistral, want gpt2, llama or qwen2",
		{`"model_type": "llama"`, `"model_type": 7`}:                                                          "model_type: got 7, want a string",
		{`"max_position_embeddings": 8192`, `"max_position_embeddings": 200000000`}:                           "memory: got about",
	} {
		text := strings.Replace(smolLM2, change[0], change[1], 1)
		if text == smolLM2 {
			t.Fatalf("no %s", change[0])
		}
		_, err := FromHuggingFace([]byte(text))
		mustContain(t, err, want)
	}
}
