package published_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// The tokens that end a text are in generation_config.json, otherwise in config.json, as a number or a list. A run's
// own checkpoint has none.
func TestLoadEnds(t *testing.T) {
	_, _, all := publishedGPT2(t) // of 271 tokens, whose config.json says 50256
	for generation, want := range map[string][]int{
		"":                          {5},
		`{}`:                        {5},
		`{"eos_token_id": null}`:    {5},
		`{"eos_token_id": 7}`:       {7},
		`{"eos_token_id": [9, 0]}`:  {9, 0},
		`{"eos_token_id": [270]}`:   {270},
		`{"eos_token_id": [8,271]}`: {8},
		`{"eos_token_id": -1}`:      {},
	} {
		all["config.json"] = []byte(
			`{"n_positions": 8, "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 271, "eos_token_id": 5}`,
		)
		if all["generation_config.json"] = []byte(generation); generation == "" {
			delete(all, "generation_config.json")
		}
		if got, err := published.LoadEnds(opened(t, folder(t, all))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, error %v, want %v", generation, got, err, want)
		}
	}
	for generation, want := range map[string]string{
		`{"eos_token_id": "</s>"}`: `generation_config.json: eos_token_id: got "</s>", want a whole number, or a list of them`,
		`{"eos_token_id": [1.5]}`:  "eos_token_id: got [1.5], want a whole number, or a list",
		`[`:                        "generation_config.json: ",
	} {
		all["generation_config.json"] = []byte(generation)
		_, err := published.LoadEnds(opened(t, folder(t, all)))
		gpttest.MustContain(t, err, want)
	}
	if got, err := published.LoadEnds(gpttest.Saved(t, 0, runFiles(t))); err != nil || got != nil {
		t.Errorf("a run: got %v, error %v, want none", got, err)
	}
}

// The template of conversations is in tokenizer_config.json or in a file of its own, which counts. A run has none.
func TestLoadTemplate(t *testing.T) {
	_, _, all := publishedGPT2(t)
	for i, tc := range []struct {
		settings, chat string
		want           chat.Template
	}{
		{"", "", chat.Template{}},
		{`{"bos_token": "<s>", "eos_token": "</s>", "chat_template": "a"}`, "", chat.Template{End: "</s>", Chat: "a"}},
		{
			`{"bos_token": "<s>", "eos_token": "</s>", "chat_template": "a"}`, "{{ bos_token }}\n\"",
			chat.Template{Begin: "<s>", End: "</s>", Chat: "{{ bos_token }}\n\""},
		},
		{"", "b", chat.Template{Chat: "b"}},
	} {
		delete(all, "tokenizer_config.json")
		delete(all, "chat_template.jinja")
		if tc.settings != "" {
			all["tokenizer_config.json"] = []byte(tc.settings)
		}
		if tc.chat != "" {
			all["chat_template.jinja"] = []byte(tc.chat)
		}
		if got, err := published.LoadTemplate(opened(t, folder(t, all))); err != nil || got != tc.want {
			t.Errorf("%d: got %+v, error %v, want %+v", i, got, err, tc.want)
		}
	}
	plain := all["tokenizer.json"]
	for settings, want := range map[string]string{
		`{}`: "<b>", `{"add_bos_token": false}`: "", `{"bos_token": "<s>", "add_bos_token": true}`: "<s>",
	} {
		all["tokenizer_config.json"] = []byte(settings)
		all["tokenizer.json"] = []byte(
			`{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<b>"}}]}}`,
		)
		delete(all, "chat_template.jinja")
		if got, err := published.LoadTemplate(opened(t, folder(t, all))); err != nil || got.Begin != want {
			t.Errorf("%s: got %+v, error %v, want %q", settings, got, err, want)
		}
	}
	all["tokenizer_config.json"], all["tokenizer.json"] = []byte("{}"), []byte(`{"post_processor": {"type": "Other"}}`)
	_, err := published.LoadTemplate(opened(t, folder(t, all)))
	gpttest.MustContain(t, err, `tokenizer.json: post_processor: type: got "Other", want`)
	all["tokenizer.json"] = plain
	all["tokenizer_config.json"] = []byte(`{"eos_token": 3}`)
	_, err = published.LoadTemplate(opened(t, folder(t, all)))
	gpttest.MustContain(t, err, "tokenizer_config.json: eos_token: got a number, want a string")
	all["tokenizer_config.json"] = []byte(`[]`)
	_, err = published.LoadTemplate(opened(t, folder(t, all)))
	gpttest.MustContain(t, err, "tokenizer_config.json: ")
	_, err = published.LoadTemplate(nil)
	gpttest.MustContain(t, err, "checkpoint: got nil")
	if got, err := published.LoadTemplate(gpttest.Saved(t, 0, runFiles(t))); err != nil || got != (chat.Template{}) {
		t.Errorf("a run: got %+v, error %v, want none", got, err)
	}
}

// runFiles returns the files of a run that has done no step.
func runFiles(t *testing.T) []checkpoint.File {
	t.Helper()
	list, err := gpttest.Trainer(t, gpttest.Tiny()).Files()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func opened(t *testing.T, dir string) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := published.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

// A tied model's file may contain the head in addition to the embedding, with the same numbers to the bit.
func TestTiedHead(t *testing.T) {
	m, _, files := publishedGPT2(t)
	for name, test := range map[string]struct {
		change func(head safetensors.Tensor) safetensors.Tensor
		want   string
	}{
		"the same": {func(head safetensors.Tensor) safetensors.Tensor { return head }, ""},
		"another bit": {
			func(head safetensors.Tensor) safetensors.Tensor { head.F32[4001] += 1e-6; return head },
			"lm_head.weight: entry 4001 is",
		},
		"other rows": {func(head safetensors.Tensor) safetensors.Tensor {
			head.Shape, head.F32 = []int{270, 16}, head.F32[:270*16]
			return head
		}, "lm_head.weight has shape [270 16], the tokens of a tied model [271 16]"},
	} {
		list := decoded(t, m)
		i := slices.IndexFunc(list, func(x safetensors.Tensor) bool {
			return x.Name == "wte.weight" ||
				x.Name == "transformer.wte.weight"
		})
		head := test.change(
			safetensors.Tensor{
				Name: "lm_head.weight", Shape: slices.Clone(list[i].Shape), F32: slices.Clone(list[i].F32),
			},
		)
		files[train.WeightsFile] = encoded(t, append(list, head))
		_, _, err := published.Open(folder(t, files))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		gpttest.MustContain(t, err, test.want)
	}
}

// Each key of the published GPT-2s is accepted with its value, and an unknown one is refused unless its value is null.
func TestFromHuggingFaceKeys(t *testing.T) {
	const text = `{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
		"embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
		"n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6, "n_positions": 1024, "resid_pdrop": 0.1,
		"summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
		"summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
		"_num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "vocab_size": 50257, "new": null}`
	if _, err := published.ReadConfig([]byte(text)); err != nil {
		t.Error(err)
	}
	for value, refused := range map[string]bool{"null": false, "false": true, `""`: true, "[ ]": true, "{\n}": true,
		"0": true, "1": true, "true": true, `"x"`: true, `[1]`: true, `{"a": 1}`: true} {
		_, err := published.ReadConfig([]byte(strings.Replace(text, `"new": null`, `"new": `+value, 1)))
		if refused {
			gpttest.MustContain(t, err, "new: got ", ", want none: the key is not supported")
		} else if err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// A published GPT-2: irrelevant keys are ignored, and absent ones have defaults.
func TestFromHuggingFace(t *testing.T) {
	const text = `{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "bos_token_id": 50256,
		"initializer_range": 0.02, "model_type": "gpt2", "n_ctx": 1024, "n_inner": null, "n_layer": 24, "n_embd": 1024, "n_head": 16,
		"task_specific_params": {"text-generation": {"do_sample": true}}, "vocab_size": 50257}`
	got, err := published.ReadConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var want gpt.Config
	want.BlockSize, want.VocabSize, want.Head = 1024, 50257, "tied"
	want.Stack = parts.Stack{
		NLayer: 24, NHead: 16, NEmbd: 1024, Dropout: 0.1, Bias: true, Activation: "gelu_tanh", Eps: 1e-5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if total, _ := got.Count(); total != 354_823_168 { // GPT-2 medium
		t.Errorf("got %d parameters, want 354823168", total)
	}
}

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
	narrow := network(gpt.SmolLM2_135M())
	narrow["qk_size"], narrow["v_size"] = "64", "64"
	for text, want := range map[string]map[string]string{
		smolLM2: network(gpt.SmolLM2_135M()), newer: narrow, stories: network(gpt.Stories15M()),
	} {
		got, err := published.ReadConfig([]byte(text))
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
	c, err := published.ReadUnchecked([]byte(qwen)) // its masks alone are 4 GiB
	if err != nil {
		t.Fatal(err)
	}
	c.BlockSize = 1024
	if total, _ := c.Count(); total != 494_032_768 || c.Attention != "gqa_bias" || c.Rope.Theta != 1e6 {
		t.Errorf(
			"Qwen2-0.5B: got %d parameters, attention %s, rope_theta %v, want 494032768, gqa_bias, 1e6", total,
			c.Attention, c.Rope.Theta,
		)
	}
}

// Settings that a Config cannot express are refused with key and value.
func TestFromHuggingFaceLLaMARefuses(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"silu"`, `"gelu"`}: "hidden_act: got gelu, want silu",
		{`"attention_bias": false`, `"attention_bias": 1`}: "attention_bias: got 1, want true or false",
		{`"pretraining_tp": 1`, `"mlp_bias": "yes"`}:       "mlp_bias: got",
		{
			`"rope_scaling": null`, `"rope_scaling": {"type": "su", "factor": 2}`,
		}: "rope_scaling: rope_type: got su, want one of default, linear",
		{
			`"rope_scaling": null`, `"rope_scaling": {"rope_type": "llama3", "factor": 32}`,
		}: "rope_scaling: original_max_position_embeddings: got none",
		{
			`"rope_scaling": null`, `"rope_scaling": {"factor": 32}`,
		}: "rope_scaling: factor: got 32, want none without a rope_type",
		{
			`"rope_scaling": null`, `"rope_parameters": {"rope_type": "yarn"}`,
		}: "rope_parameters: factor: got 0 (given: false), want at least 1 with rope_type yarn",
		{
			`"rope_scaling": null`, `"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}`,
		}: "partial_rotary_factor: got 0.5, want 1",
		{
			`"rope_scaling": null`, `"rope_parameters": {"rope_type": "default", "rope_theta": -1}`,
		}: "rope_parameters: rope_theta: got -1, want",
		{`"rope_scaling": null`, `"rope_parameters": 7`}: "rope_parameters: ",
		{
			`"num_key_value_heads": 3`, `"num_key_value_heads": 4`,
		}: "num_key_value_heads: got 4, want a divisor of num_attention_heads 9",
		{`"num_key_value_heads": 3`, `"num_key_value_heads": 0`}: "num_key_value_heads: got 0, want",
		{`"hidden_size": 576`, `"hidden_size": null`}:            "hidden_size: got null, want",
		{`"hidden_size": 576`, `"hidden_size": 1e99`}:            "hidden_size: got 1e99, want",
		{
			`"hidden_size": 576, "initializer_range": 0.041666666666666664,`, `"hidden_size": 577,`,
		}: "num_attention_heads: got 9, want a divisor of hidden_size 577",
		{`"use_cache": true`, `"use_sliding_window": true`}: "use_sliding_window: got true, want false",
		{`"use_cache": true`, `"layer_types": ["sliding_attention"` + strings.Repeat(`,"full_attention"`, 29) +
			"]"}: "layer_types: got sliding_attention, want full_attention",
		{
			`"use_cache": true`, `"layer_types": ["full_attention"]`,
		}: "layer_types: got 1, want one for each of num_hidden_layers 30",
		{`"use_cache": true`, `"partial_rotary_factor": 0.5`}: "partial_rotary_factor: got 0.5, want 1",
		{`"use_cache": true`, `"sliding_window": 4096`}:       "sliding_window: got 4096, want none",
		{
			`"use_cache": true`, `"quantization_config": {"bits": 4}`,
		}: `quantization_config: got {"bits": 4}, want none: the key is not supported`,
		{`"use_cache": true`, `"logit_scale": 2`}: "logit_scale: got 2, want none",
		{
			`"rope_scaling": null`, `"rope_parameters": {"full_attention": {"rope_theta": 7}}`,
		}: `rope_parameters: full_attention: got {"rope_theta": 7}, want none: such a rotation is not supported`,
		{
			`"rope_scaling": null`, `"rope_parameters": {"rope_type": "default", "mrope_section": [1]}`,
		}: "rope_parameters: mrope_section: got [1], want none",
		{`"model_type": "llama"`, `"model_type": "bert"`}: "model_type: got bert, want one of gpt2, llama",
		{`"model_type": "llama"`, `"model_type": 7`}:      "model_type: got 7, want a string",
	} {
		text := strings.Replace(smolLM2, change[0], change[1], 1)
		if text == smolLM2 {
			t.Fatalf("no %s", change[0])
		}
		_, err := published.ReadConfig([]byte(text))
		gpttest.MustContain(t, err, want)
	}
}
