package gpt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// network returns the fields in which two configurations of one network agree.
func network(c Config) map[string]string {
	c = c.Resolved()
	values := map[string]string{}
	for _, f := range c.networkFields() {
		values[f.Name] = f.String()
	}
	return values
}

func huggingFaceRoundTrip(t *testing.T, c Config) {
	t.Helper()
	data, err := c.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromHuggingFace(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if diff := cmp.Diff(network(c), network(got)); diff != "" {
		t.Fatalf("config.json: -want +got:\n%s", diff)
	}
}

func TestConfigHuggingFaceRoundTrip(t *testing.T) {
	relu := shakespeare65()
	relu.Activation, relu.Dropout = "relu", 0.25
	for _, c := range []Config{shakespeare65(), GPT2(), untiedGPT2(), Paper(), unusual(), relu} {
		huggingFaceRoundTrip(t, c)
	}
	if _, err := Shakespeare().HuggingFace(); err == nil {
		t.Error("vocab_size 0: got no error")
	}
}

func TestConfigHuggingFace(t *testing.T) {
	c := GPT2()
	c.Dropout = 0.1
	data, err := c.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "model_type": "gpt2",
  "architectures": [
    "GPT2LMHeadModel"
  ],
  "vocab_size": 50257,
  "n_positions": 1024,
  "n_ctx": 1024,
  "n_embd": 768,
  "n_layer": 12,
  "n_head": 12,
  "n_inner": 3072,
  "activation_function": "gelu_new",
  "resid_pdrop": 0.1,
  "embd_pdrop": 0.1,
  "attn_pdrop": 0.1,
  "layer_norm_epsilon": 0.00001,
  "tie_word_embeddings": true,
  "scale_attn_weights": true,
  "scale_attn_by_inverse_layer_idx": false,
  "add_cross_attention": false
}
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Only a network that computes the same as a GPT-2 has its model_type.
func TestConfigHuggingFaceModelType(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) {}, "gpt2"},
		{func(c *Config) { c.Bias = true }, "gpt2"},
		{func(c *Config) { c.Head = "linear" }, "gpt2"},
		{func(c *Config) { c.QKSize, c.VSize, c.NInner = 32, 32, 100 }, "gpt2"},
		{func(c *Config) { c.Bias, c.Head = true, "linear" }, "pedestrian"}, // the head's bias
		{func(c *Config) { c.Block = "post" }, "pedestrian"},
		{func(c *Config) { c.QKSize = 31 }, "pedestrian"},
		{func(c *Config) { c.LoraR = 2 }, "pedestrian"},
	} {
		c := shakespeare65()
		test.change(&c)
		data, err := c.HuggingFace()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			ModelType string `json:"model_type"`
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got.ModelType != test.want {
			t.Errorf("got %s, want %s: %s", got.ModelType, test.want, data)
		}
	}
}

// Each key of the published GPT-2s is accepted with its value, and an unknown one is refused unless its value is empty.
func TestFromHuggingFaceKeys(t *testing.T) {
	const published = `{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
		"embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
		"n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6, "n_positions": 1024, "resid_pdrop": 0.1,
		"summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
		"summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
		"_num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "vocab_size": 50257, "new": null}`
	if _, err := FromHuggingFace([]byte(published)); err != nil {
		t.Error(err)
	}
	for value, refused := range map[string]bool{"null": false, "false": false, `""`: false, "[ ]": false, "{\n}": false,
		"0": true, "1": true, "true": true, `"x"`: true, `[1]`: true, `{"a": 1}`: true} {
		_, err := FromHuggingFace([]byte(strings.Replace(published, `"new": null`, `"new": `+value, 1)))
		if refused {
			mustContain(t, err, "new: got "+value+", want none")
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
	got, err := FromHuggingFace([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var want Config
	want.BlockSize, want.VocabSize, want.Head = 1024, 50257, "tied"
	want.Stack = parts.Stack{NLayer: 24, NHead: 16, NEmbd: 1024, Dropout: 0.1, Bias: true, Activation: "gelu_tanh", Eps: 1e-5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if total, _ := got.Count(); total != 354_823_168 { // GPT-2 medium
		t.Errorf("got %d parameters, want 354823168", total)
	}
}
