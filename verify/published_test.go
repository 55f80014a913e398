package verify

import (
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/published"
)

// publishedConfigs returns a small config.json of every family whose equations differ from TestCheck's.
func publishedConfigs() map[string]string {
	const sizes = `"vocab_size": 7, "max_position_embeddings": 5, "hidden_size": 12, "intermediate_size": 7, ` +
		`"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "rope_theta": 50, `
	return map[string]string{
		"llama":   `{"model_type": "llama", ` + sizes + `"attention_bias": true, "mlp_bias": true}`,
		"qwen3":   `{"model_type": "qwen3", ` + sizes + `"tie_word_embeddings": true}`,
		"smollm3": `{"model_type": "smollm3", ` + sizes + `"no_rope_layers": [1, 0, 1]}`,
		"mistral": `{"model_type": "mistral", ` + sizes + `"sliding_window": 2}`,
		"gemma2":  `{"model_type": "gemma2", ` + sizes + `"sliding_window": 2, "query_pre_attn_scalar": 9}`,
		"gemma3": `{"model_type": "gemma3_text", ` + sizes + `"sliding_window": 2, "query_pre_attn_scalar": 6,
			"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}`,
		"phi3": `{"model_type": "phi3", ` + sizes + `"partial_rotary_factor": 0.6666666666666666}`,
		"granite": `{"model_type": "granite", ` + sizes + `"embedding_multiplier": 3, "attention_multiplier": 0.1,
			"residual_multiplier": 0.3, "logits_scaling": 2}`,
		"gpt_neox": `{"model_type": "gpt_neox", "vocab_size": 7, "max_position_embeddings": 5, "hidden_size": 12, "intermediate_size": 7,
			"num_hidden_layers": 2, "num_attention_heads": 3, "rotary_pct": 0.5}`,
		"gpt_neo": `{"model_type": "gpt_neo", "vocab_size": 7, "max_position_embeddings": 5, "hidden_size": 12, "window_size": 2,
			"num_layers": 3, "num_heads": 3, "attention_types": [[["global", "local"], 1], [["global"], 1]]}`,
		"opt": `{"model_type": "opt", "vocab_size": 7, "max_position_embeddings": 5, "hidden_size": 12, "ffn_dim": 7,
			"num_hidden_layers": 2, "num_attention_heads": 3}`,
		"gemma": `{"model_type": "gemma", ` + sizes + `"hidden_act": "gelu"}`,
		"olmo":  `{"model_type": "olmo", ` + sizes + `"clip_qkv": null}`,
		"phi": `{"model_type": "phi", "vocab_size": 7, "max_position_embeddings": 5, "hidden_size": 12, "intermediate_size": 7,
			"num_hidden_layers": 2, "num_attention_heads": 3}`,
		"arcee":       `{"model_type": "arcee", ` + sizes + `"hidden_act": "relu2"}`,
		"glm":         `{"model_type": "glm", ` + sizes + `"partial_rotary_factor": 0.6666666666666666}`,
		"glm4":        `{"model_type": "glm4", ` + sizes + `"partial_rotary_factor": 0.6666666666666666}`,
		"cohere":      `{"model_type": "cohere", ` + sizes + `"logit_scale": 0.25}`,
		"starcoder2":  `{"model_type": "starcoder2", ` + sizes + `"sliding_window": 2}`,
		"gpt_bigcode": `{"model_type": "gpt_bigcode", "vocab_size": 7, "n_positions": 5, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 7}`,
		"mixtral":     `{"model_type": "mixtral", ` + sizes + `"num_local_experts": 3, "output_router_logits": true}`,
		"qwen3_moe": `{"model_type": "qwen3_moe", ` + sizes +
			`"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 5,
			"norm_topk_prob": true, "mlp_only_layers": []}`,
		"gpt_oss": `{"model_type": "gpt_oss", ` + sizes +
			`"num_local_experts": 3, "num_experts_per_tok": 2, "swiglu_limit": 0.3,
			"sliding_window": 2, "rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 3, "truncate": false}}`,
		"olmoe": `{"model_type": "olmoe", ` + sizes + `"num_experts": 4, "num_experts_per_tok": 3}`,
		"olmo2": `{"model_type": "olmo2", ` + sizes +
			`"rope_scaling": {"rope_type": "llama3", "factor": 3, "low_freq_factor": 1,
			"high_freq_factor": 4, "original_max_position_embeddings": 30}}`,
	}
}

// Every gradient of a published network agrees with the other roads' gradients.
func TestPublishedFamilies(t *testing.T) {
	for name, config := range publishedConfigs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := published.ReadConfig([]byte(config))
			if err != nil {
				t.Fatal(err)
			}
			c.Kernels = true
			m := newModel(t, c)
			s, err := m.subject()
			if err != nil {
				t.Fatal(err)
			}
			look := sampling{} // the random direction contains every entry
			if os.Getenv("NIGHTLY") != "" {
				look.few = 3
			}
			r, err := check(unwatched(), s, look)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range append(r.Failures, r.First) {
				if f != "" {
					t.Error(f)
				}
			}
			if !r.OK() || !(r.Worst <= Suspicion) || !(r.Direction <= Suspicion) || !(r.Worst > 0) ||
				r.Parameters != m.Count() {
				t.Errorf(
					"got %.1e, float32 %.1e, %d of %d parameters", r.Worst, r.WorstFloat32, r.Parameters, m.Count(),
				)
			}
			t.Logf("%d parameters: %.1e; float32 %.1e", r.Parameters, r.Worst, r.WorstFloat32)
		})
	}
}
