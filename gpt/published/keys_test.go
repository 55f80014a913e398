package published

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Object is a JSON object.
type Object = map[string]any

// with returns an object with the keys of others.
func with(o Object, others ...Object) Object {
	all := maps.Clone(o)
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

// llamaKind returns a config.json of a relative of LLaMA with small sizes.
func llamaKind(kind string, others ...Object) Object {
	return with(Object{
		"model_type": kind, "vocab_size": 41, "max_position_embeddings": 8, "hidden_size": 24, "intermediate_size": 20,
		"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "rope_theta": 50,
		"rope_scaling": Object{
			"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 5, "beta_fast": 3, "beta_slow": 0.5,
			"attention_factor": 1.1, "truncate": false,
		},
	}, others...)
}

// Bases returns a config.json of every family, in which most keys count.
func Bases() []Object {
	gpt2 := Object{
		"vocab_size": 41, "n_positions": 8, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 23,
		"layer_norm_epsilon": 0.01,
	}
	plain := Object{"rope_scaling": nil}
	linear := Object{"rope_scaling": Object{"type": "linear", "factor": 2.5}}
	llama3 := Object{"rope_scaling": Object{
		"rope_type": "llama3", "factor": 3, "low_freq_factor": 1, "high_freq_factor": 4,
		"original_max_position_embeddings": 30,
	}}
	window, eps := Object{"sliding_window": 3}, Object{"rms_norm_eps": 0.01}
	moe := Object{"num_experts": 5, "num_experts_per_tok": 2, "norm_topk_prob": false}
	clamped := Object{"num_local_experts": 5, "num_experts_per_tok": 2, "swiglu_limit": 0.4}
	gemma := Object{"query_pre_attn_scalar": 6, "head_dim": 6}
	return []Object{
		with(gpt2, Object{"model_type": "gpt2"}),
		llamaKind("llama", eps),
		llamaKind("llama", llama3, Object{"head_dim": nil, "num_key_value_heads": nil}),
		llamaKind("llama", plain, Object{"attention_bias": true, "mlp_bias": true}),
		llamaKind("qwen2", linear, Object{"tie_word_embeddings": true}),
		llamaKind("qwen3", plain, Object{"rope_parameters": Object{"rope_theta": 60, "rope_type": "yarn", "factor": 3,
			"mscale":         0.8,
			"mscale_all_dim": 0.5, "original_max_position_embeddings": 5}}),
		llamaKind("qwen3", plain, window, Object{"use_sliding_window": true, "max_window_layers": 0}),
		llamaKind("smollm3", plain, Object{"no_rope_layer_interval": 2}),
		llamaKind("olmo", linear), llamaKind("olmo2", plain, eps),
		llamaKind("mistral", plain, window),
		llamaKind("gemma", plain), llamaKind("gemma2", plain, window, Object{"query_pre_attn_scalar": 9}),
		llamaKind("gemma3_text", linear, window, gemma, Object{"sliding_window_pattern": 3}),
		llamaKind("gemma3_text", plain, window, gemma, Object{"rope_parameters": Object{
			"full_attention":    Object{"rope_theta": 70, "rope_type": "linear", "factor": 2},
			"sliding_attention": Object{"rope_theta": 30, "rope_type": "default"},
		}, "layer_types": []string{"sliding_attention", "full_attention", "sliding_attention", "full_attention"}}),
		{
			"model_type": "phi", "vocab_size": 41, "max_position_embeddings": 8, "hidden_size": 24,
			"intermediate_size": 20,
			"num_hidden_layers": 2, "num_attention_heads": 3, "rope_theta": 50, "layer_norm_eps": 0.01,
		},
		llamaKind("phi3", plain, window, Object{"head_dim": 8, "partial_rotary_factor": 0.75}),
		llamaKind("phi3", window, Object{"head_dim": 8, "partial_rotary_factor": 0.75,
			"original_max_position_embeddings": 5,
			"rope_scaling": Object{
				"type": "longrope", "short_factor": []float64{1, 1.5, 2}, "long_factor": []float64{1.25, 4, 9},
			}}),
		llamaKind("phi3", window, Object{"head_dim": 8, "original_max_position_embeddings": 30,
			"rope_scaling": Object{"rope_type": "longrope",
				"short_factor": []float64{1, 1.5, 2, 3}, "long_factor": []float64{1.25, 4, 9, 7},
				"attention_factor": 1.3}}),
		llamaKind("granite", plain, Object{"embedding_multiplier": 3, "attention_multiplier": 0.2,
			"residual_multiplier": 0.4,
			"logits_scaling":      2}),
		llamaKind("arcee"), llamaKind("glm", plain, Object{"head_dim": 8}),
		llamaKind("glm4", plain, Object{"head_dim": 8, "attention_bias": false}),
		llamaKind("cohere", plain, Object{"layer_norm_eps": 0.01}),
		llamaKind("starcoder2", plain, window, Object{"norm_epsilon": 0.01}),
		with(gpt2, Object{"model_type": "gpt_bigcode"}),
		{
			"model_type": "gpt_neox", "vocab_size": 41, "max_position_embeddings": 8, "hidden_size": 24,
			"intermediate_size": 20,
			"num_hidden_layers": 2, "num_attention_heads": 3, "rotary_emb_base": 50, "rotary_pct": 0.5,
			"layer_norm_eps": 0.01,
		},
		{
			"model_type": "gpt_neo", "vocab_size": 41, "max_position_embeddings": 8, "hidden_size": 24,
			"intermediate_size": 20,
			"num_layers":        2, "num_heads": 3, "window_size": 3,
			"attention_types":  []any{[]any{[]string{"global", "local"}, 1}},
			"attention_layers": []string{"global", "local"}, "layer_norm_epsilon": 0.01,
		},
		{
			"model_type": "opt", "vocab_size": 41, "max_position_embeddings": 8, "hidden_size": 24, "ffn_dim": 20,
			"num_hidden_layers": 2, "num_attention_heads": 3, "tie_word_embeddings": false,
		},
		llamaKind("mixtral", plain, window, Object{"num_local_experts": 5}),
		llamaKind("qwen3_moe", plain, moe, Object{"moe_intermediate_size": 12}), llamaKind("olmoe", plain, moe),
		llamaKind("gpt_oss", window, clamped),
		llamaKind("gpt_oss", plain, window, clamped, Object{"attention_bias": false}),
	}
}

// others returns further plausible values of keys.
func others() map[string][]any {
	turns := []any{"full_attention", "sliding_attention", "full_attention", "sliding_attention"}
	return map[string][]any{
		"hidden_act":          {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "tanh"},
		"hidden_activation":   {"gelu", "gelu_new", "silu"},
		"activation_function": {"gelu", "gelu_pytorch_tanh", "relu", "silu"},
		"tie_word_embeddings": {true}, "num_key_value_heads": {1, 4, 3}, "head_dim": {4, 7},
		"layer_types": {
			[]any{nil}, []any{nil, nil, nil, nil}, []string{"full_attention"}, turns,
			[]string{"sliding_attention", "full_attention", "sliding_attention", "full_attention"},
			[]string{"full_attention", "full_attention", "full_attention", "full_attention"},
			[]string{"sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention"},
		},
		"no_rope_layers": {[]any{1, nil, 1, 0}, []int{1, 1, 0, 1}, []int{1, 0, 1, 0}, []int{1, 1, 1, 1}},
		"sliding_window": {2, 99, -1}, "sliding_window_pattern": {2, 9}, "_sliding_window_pattern": {2, 3, 6},
		"partial_rotary_factor": {0.5, 0.4, 0.3, 1, 1.5}, "rotary_pct": {0.25, 0.4, 1},
		"rope_theta": {40, 0.5}, "mlp_only_layers": {[]int{1}, []any{nil}}, "max_window_layers": {2},
		"attention_types": {
			[]any{[]any{[]string{"global"}, 2}}, []any{[]any{[]string{"local", "global"}, 1}},
			[]any{[]any{[]string{"global", "local"}, 1.5}},
		},
		"attention_layers":                 {[]string{"local", "global"}, []string{"global"}, []any{nil, nil}},
		"original_max_position_embeddings": {4, 8}, "rms_norm_eps": {0.02}, "logit_scale": {0.5},
		"final_logit_softcapping": {2.5},
		"attn_logit_softcapping":  {1.5}, "window_size": {2, 99},
		"rope_scaling": {
			Object{"type": "dynamic", "factor": 2}, Object{"rope_type": "default"},
			Object{"rope_type": "longrope", "factor": 2},
			Object{"rope_type": nil}, Object{"type": "linear", "factor": 3},
			Object{"type": "linear", "rope_type": "yarn", "factor": 2},
		},
		"rope_parameters": {
			Object{"rope_theta": 30}, Object{"rope_theta": nil}, Object{"rope_type": "linear", "factor": 2},
		},
		"rope_type": {"default", "linear", "dynamic", "longrope"}, "finetuned": {true}, "truncate": {true},
		"beta_fast": {32, 4}, "beta_slow": {1, 9}, "mscale": {1, 0.7}, "mscale_all_dim": {1, 0.7},
		"low_freq_factor":     {2},
		"short_factor":        {[]int{1, 2, 3}, []int{1, 2}, []int{1, 0, 3}, []any{1, nil, 3}},
		"long_factor":         {[]float64{2.5, 3, 1}, []int{1}},
		"quantization_config": {Object{"quant_method": "fp8"}, Object{"quant_method": nil}, "mxfp4"},
		"factor":              {1.6}, "attention_factor": {1},
	}
}

// Attempt is a config.json in which one key has another value.
type Attempt struct {
	Name, Key string
	Config    Object
	Network   string // the fields that it sets
}

// attempts returns base with every key of its family changed or left out, and every key of its objects. The keys of all
// families are changed for LLaMA alone.
func (f family) attempts(base Object) (list []Attempt) {
	keys := harmlessOf(f.harmless)
	if f.modelType == "llama" {
		keys = append(append(keys, harmlessOf(harmlessKeys())...), harmlessOf(absentParts())...)
	}
	for _, r := range f.rows {
		keys = append(keys, r.key)
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if key == "model_type" {
			continue
		}
		for _, value := range tries(key, base[key]) {
			config := with(base, Object{key: value})
			list = append(list, Attempt{fmt.Sprintf("%s %s=%s", base["model_type"], key, Text(value)), key, config, ""})
		}
		if _, ok := base[key]; ok && key != "max_position_embeddings" { // whose default takes long
			config := with(base)
			delete(config, key)
			list = append(list, Attempt{fmt.Sprintf("%s without %s", base["model_type"], key), key, config, ""})
		}
		list = append(list, within(base, key)...)
	}
	return list
}

// harmlessOf returns the keys of all lists.
func harmlessOf(lists map[string][]string) []string {
	return slices.Concat(slices.Collect(maps.Values(lists))...)
}

// within returns base with every key of the object under a key, or of the objects in it, changed.
func within(base Object, key string) (list []Attempt) {
	inner, ok := base[key].(Object)
	if !ok {
		return nil
	}
	change := func(at string, changed Object) {
		config := with(base, Object{key: changed})
		list = append(list, Attempt{fmt.Sprintf("%s %s: %s", base["model_type"], key, Text(changed)), at, config, ""})
	}
	names := slices.Concat(slices.Collect(maps.Keys(inner)), strings.Fields("rope_theta partial_rotary_factor factor "+
		"original_max_position_embeddings low_freq_factor high_freq_factor beta_fast beta_slow attention_factor "+
		"mscale mscale_all_dim truncate finetuned short_factor long_factor rope_type type unknown"))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		for _, value := range tries(name, inner[name]) {
			change(name, with(inner, Object{name: value}))
		}
		if _, ok := inner[name]; ok {
			less := with(inner)
			delete(less, name)
			change(name, less)
		}
		for _, deeper := range within(inner, name) {
			change(deeper.Key, deeper.Config)
		}
	}
	return list
}

// tries returns the values that a key is tried with.
func tries(key string, now any) []any {
	list := append([]any{false, 0, "", []any{}, Object{}, nil}, others()[key]...)
	switch v := now.(type) {
	case int:
		list = append(list, v+1, 2*v)
	case float64:
		list = append(list, 2*v, v/2)
	case bool:
		list = append(list, !v)
	case nil:
		list = append(list, true, 3)
	}
	return list
}

// Text returns a value as JSON.
func Text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Accepted returns the configurations of attempts that a family reads. A refusal must name the key, and a harmless key
// must change nothing.
func Accepted(t *testing.T, base Object) (accepted []Attempt) {
	t.Helper()
	f, err := familyIn([]byte(Text(base)))
	if err != nil {
		t.Fatal(err)
	}
	_, want, err := readAs(f, Text(base))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range f.attempts(base) {
		switch _, got, err := readAs(f, Text(a.Config)); {
		case err != nil:
			if !f.blames(err, a.Key) {
				t.Errorf("%s: got the error %v, want one with the key", a.Name, err)
			}
		case f.index(a.Key) < 0 && (listed(f.harmless, a.Key) || listed(harmlessKeys(), a.Key)):
			if got != want {
				t.Errorf("%s: the network is another, although the key is harmless", a.Name)
			}
		default:
			a.Network = got
			accepted = append(accepted, a)
		}
	}
	return accepted
}

// blames reports whether an error names the key, or what it determines.
func (f family) blames(err error, key string) bool {
	names := []string{key}
	if i := f.index(key); i >= 0 {
		names = append(names, f.rows[i].fields...)
	}
	if key == "num_attention_heads" || key == "hidden_size" {
		names = append(names, "head_dim")
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(err.Error(), name) })
}

// Every key of every family, changed to another value or to an empty one, is refused by its name, is harmless for a
// reason, or is read. TestPyTorchReadsKeys compares what is read.
func TestKeys(t *testing.T) {
	for i, base := range Bases() {
		if testing.Short() && i%3 > 0 {
			continue
		}
		if len(Accepted(t, base)) == 0 {
			t.Errorf("%s: no value was accepted", base["model_type"])
		}
	}
	for _, f := range families() {
		if !slices.ContainsFunc(Bases(), func(base Object) bool { return base["model_type"] == f.modelType }) {
			t.Errorf("%s: its keys are not tried", f.modelType)
		}
	}
}
