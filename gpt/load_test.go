package gpt

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A loaded model computes without dropout until training is switched on. Then every step of a loop that does not number
// its steps drops other entries.
func TestLoadedModelsEvaluate(t *testing.T) {
	c := eventful()
	c.Dropout = 0.5
	trainer := newTrainer(t, c)
	cp := saved(t, 0, files(t, trainer))
	var m *Model
	losses := func(kernels bool, training bool) (list []float64) {
		g := emptyGraph()
		g.Kernels = kernels
		var err error
		if m, err = LoadModel(g, cp); err != nil {
			t.Fatal(err)
		}
		if training {
			g.SetTraining(true)
		}
		for i := range m.Tokens.Ints() {
			m.Tokens.Ints()[i], m.Targets.Ints()[i] = i, i+1
		}
		p, err := graph.Compile(m.Loss, m.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			list = append(list, p.Loss())
		}
		return list
	}
	x, y := trainer.Model.Tokens.Ints(), trainer.Model.Targets.Ints()
	for i := range x {
		x[i], y[i] = i, text.Ignore
		if i < trainer.Config().BlockSize {
			y[i] = i + 1
		}
	}
	want, err := lossNow(t.Context(), trainer)
	if err != nil {
		t.Fatal(err)
	}
	for _, kernels := range []bool{true, false} {
		for i, got := range losses(kernels, false) {
			if d := relative([]float64{got}, []float64{want}, 0); !(d <= 1e-6) {
				t.Errorf("kernels %t, run %d: got loss %v, want that of an evaluation, %v", kernels, i, got, want)
			}
		}
		if l := losses(kernels, true); l[0] == l[1] || l[1] == l[2] || l[0] == l[2] {
			t.Errorf("kernels %t: three steps of training drop the same: losses %v", kernels, l)
		}
	}
}

func TestLoadRefusesNothing(t *testing.T) {
	cp := saved(t, 0, files(t, newTrainer(t, tiny())))
	_, err := LoadModel(nil, cp)
	mustContain(t, err, "graph: got nil")
	_, err = LoadModel(emptyGraph(), nil)
	mustContain(t, err, "checkpoint: got nil")
	_, err = LoadTokenizer(nil)
	mustContain(t, err, "checkpoint: got nil")
	_, err = New(nil, tiny(), 1)
	mustContain(t, err, "graph: got nil")
}

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
		all[configFile] = []byte(
			`{"n_positions": 8, "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 271, "eos_token_id": 5}`,
		)
		if all[generationFile] = []byte(generation); generation == "" {
			delete(all, generationFile)
		}
		if got, err := LoadEnds(opened(t, folder(t, all))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, error %v, want %v", generation, got, err, want)
		}
	}
	for generation, want := range map[string]string{
		`{"eos_token_id": "</s>"}`: `generation_config.json: eos_token_id: got "</s>", want a whole number, or a list of them`,
		`{"eos_token_id": [1.5]}`:  "eos_token_id: got [1.5], want a whole number, or a list",
		`[`:                        "generation_config.json: ",
	} {
		all[generationFile] = []byte(generation)
		_, err := LoadEnds(opened(t, folder(t, all)))
		mustContain(t, err, want)
	}
	if got, err := LoadEnds(saved(t, 0, files(t, newTrainer(t, tiny())))); err != nil || got != nil {
		t.Errorf("a run: got %v, error %v, want none", got, err)
	}
}

// The template of conversations is in tokenizer_config.json or in a file of its own, which counts. A run has none.
func TestLoadTemplate(t *testing.T) {
	_, _, all := publishedGPT2(t)
	for i, tc := range []struct {
		settings, chat string
		want           text.Template
	}{
		{"", "", text.Template{}},
		{`{"bos_token": "<s>", "eos_token": "</s>", "chat_template": "a"}`, "", text.Template{End: "</s>", Chat: "a"}},
		{
			`{"bos_token": "<s>", "eos_token": "</s>", "chat_template": "a"}`, "{{ bos_token }}\n\"",
			text.Template{Begin: "<s>", End: "</s>", Chat: "{{ bos_token }}\n\""},
		},
		{"", "b", text.Template{Chat: "b"}},
	} {
		delete(all, settingsFile)
		delete(all, chatFile)
		if tc.settings != "" {
			all[settingsFile] = []byte(tc.settings)
		}
		if tc.chat != "" {
			all[chatFile] = []byte(tc.chat)
		}
		if got, err := LoadTemplate(opened(t, folder(t, all))); err != nil || got != tc.want {
			t.Errorf("%d: got %+v, error %v, want %+v", i, got, err, tc.want)
		}
	}
	plain := all[tokenizerFile]
	for settings, want := range map[string]string{
		`{}`: "<b>", `{"add_bos_token": false}`: "", `{"bos_token": "<s>", "add_bos_token": true}`: "<s>",
	} {
		all[settingsFile] = []byte(settings)
		all[tokenizerFile] = []byte(
			`{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<b>"}}]}}`,
		)
		delete(all, chatFile)
		if got, err := LoadTemplate(opened(t, folder(t, all))); err != nil || got.Begin != want {
			t.Errorf("%s: got %+v, error %v, want %q", settings, got, err, want)
		}
	}
	all[settingsFile], all[tokenizerFile] = []byte("{}"), []byte(`{"post_processor": {"type": "Other"}}`)
	_, err := LoadTemplate(opened(t, folder(t, all)))
	mustContain(t, err, `tokenizer.json: post_processor: type: got "Other", want`)
	all[tokenizerFile] = plain
	all[settingsFile] = []byte(`{"eos_token": 3}`)
	_, err = LoadTemplate(opened(t, folder(t, all)))
	mustContain(t, err, "tokenizer_config.json: eos_token: got a number, want a string")
	all[settingsFile] = []byte(`[]`)
	_, err = LoadTemplate(opened(t, folder(t, all)))
	mustContain(t, err, "tokenizer_config.json: ")
	_, err = LoadTemplate(nil)
	mustContain(t, err, "checkpoint: got nil")
	if got, err := LoadTemplate(saved(t, 0, files(t, newTrainer(t, tiny())))); err != nil || got != (text.Template{}) {
		t.Errorf("a run: got %+v, error %v, want none", got, err)
	}
}

func opened(t *testing.T, dir string) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

// TestLoadingNeedsNoMemory: a resumed run and a loaded model allocate the same as new ones, and in addition less than a
// tenth of the numbers that they read.
func TestLoadingNeedsNoMemory(t *testing.T) {
	c := tiny()
	c.NEmbd, c.QKSize, c.VSize, c.Head = 192, 0, 0, "linear"
	trainer := newTrainer(t, c)
	steps(t, trainer, 1)
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(1, files(t, trainer)); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path, Fits())
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	// by do alone: the least of three, because a collection may empty pools meanwhile
	allocated := func(do func() error) float64 {
		least := math.Inf(1)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := do(); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.TotalAlloc-before.TotalAlloc))
		}
		return least
	}
	total, _ := trainer.Config().Count()
	weights := 4 * float64(total)
	fresh := allocated(func() error { _, err := NewTrainer(c, trainer.Corpus, trainer.Tokenizer); return err })
	resumed := allocated(func() error { _, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp); return err })
	built := allocated(func() error { _, err := New(graph.New(graph.Float32, 1), trainer.Config(), 1); return err })
	loaded := allocated(func() error { _, err := LoadModel(emptyGraph(), cp); return err })
	t.Logf("weights %.2g MB; a new run allocates %.3g, resumed %.3g; a new model %.4g, loaded %.4g", weights/1e6,
		fresh/1e6,
		resumed/1e6, built/1e6, loaded/1e6)
	if more := resumed - fresh; !(more < weights/10*3) { // weights and two moments
		t.Errorf("a resumed run allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
	if more := loaded - built; !(more < weights/5) { // reading the configuration takes a third of a megabyte
		t.Errorf("a loaded model allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
}

// A step between Files and Save would mix two steps in a checkpoint: it is not saved.
func TestFilesAreOfOneStep(t *testing.T) {
	trainer := newTrainer(t, tiny())
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	list := files(t, trainer)
	if err := dir.Save(0, list); err != nil {
		t.Fatal(err)
	}
	steps(t, trainer, 1)
	if err := dir.Save(1, list); err == nil || !strings.Contains(err.Error(), "files of step 0: got step 1 since") {
		t.Errorf("got %v", err)
	}
	if cp, err := checkpoint.Load(path); err != nil || cp.Step != 0 {
		t.Errorf("the checkpoint of step 0 is gone: %v", err)
	}
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
		_, _, err := Open(folder(t, files))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		mustContain(t, err, test.want)
	}
}

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

// Each key of the published GPT-2s is accepted with its value, and an unknown one is refused unless its value is null.
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
	for value, refused := range map[string]bool{"null": false, "false": true, `""`: true, "[ ]": true, "{\n}": true,
		"0": true, "1": true, "true": true, `"x"`: true, `[1]`: true, `{"a": 1}`: true} {
		_, err := FromHuggingFace([]byte(strings.Replace(published, `"new": null`, `"new": `+value, 1)))
		if refused {
			mustContain(t, err, "new: got ", ", want none: the key is not supported")
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
	narrow := network(SmolLM2_135M())
	narrow["qk_size"], narrow["v_size"] = "64", "64"
	for text, want := range map[string]map[string]string{
		smolLM2: network(SmolLM2_135M()), newer: narrow, stories: network(Stories15M()),
	} {
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
	if total, _ := s.Count(); total != 494_032_768 || s.Attention != "gqa_bias" || s.Rope.Theta != 1e6 {
		t.Errorf(
			"Qwen2-0.5B: got %d parameters, attention %s, rope_theta %v, want 494032768, gqa_bias, 1e6", total,
			s.Attention, s.Rope.Theta,
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
		_, err := FromHuggingFace([]byte(text))
		mustContain(t, err, want)
	}
}
