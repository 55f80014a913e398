package peft

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// example is an adapter_config.json as written by PEFT 0.13.
const example = `{
  "alpha_pattern": {}, "auto_mapping": null, "base_model_name_or_path": "gpt2", "bias": "none", "fan_in_fan_out": true,
  "inference_mode": true, "init_lora_weights": true, "layer_replication": null, "layers_pattern": null, "layers_to_transform": null,
  "loftq_config": {}, "lora_alpha": 32, "lora_dropout": 0.1, "megatron_config": null, "megatron_core": "megatron.core",
  "modules_to_save": null, "peft_type": "LORA", "r": 8, "rank_pattern": {}, "revision": null, "target_modules": ["c_attn"],
  "task_type": "CAUSAL_LM", "use_dora": false, "use_rslora": false}`

func TestParse(t *testing.T) {
	c, err := Parse([]byte(example))
	want := Config{Base: "gpt2", Rank: 8, Alpha: 32, Targets: []string{"c_attn"}, FanIn: true, Listed: true}
	if diff := cmp.Diff(want, c); err != nil || diff != "" {
		t.Fatalf("%v, -want +got:\n%s", err, diff)
	}
	if got := c.Scale(); got != 4 {
		t.Errorf("got a scale of %v, want 4", got)
	}
	c.RootScale = true
	if got := c.Scale(); !(math.Abs(got-32/math.Sqrt(8)) < 1e-12) {
		t.Errorf("rsLoRA: got a scale of %v, want 32/√8", got)
	}
	data, err := c.encode()
	if diff := cmp.Diff(`{
  "auto_mapping": null,
  "base_model_name_or_path": "gpt2",
  "bias": "none",
  "fan_in_fan_out": true,
  "inference_mode": true,
  "init_lora_weights": true,
  "lora_alpha": 32,
  "lora_dropout": 0,
  "modules_to_save": null,
  "peft_type": "LORA",
  "r": 8,
  "target_modules": [
    "c_attn"
  ],
  "task_type": "CAUSAL_LM",
  "use_rslora": true
}
`, string(data)); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	again, err := Parse(data)
	if diff := cmp.Diff(c, again); err != nil || diff != "" {
		t.Errorf("written and read: %v, -want +got:\n%s", err, diff)
	}
}

// The smallest valid file.
func TestParseLeast(t *testing.T) {
	c, err := Parse(
		[]byte(`{"peft_type": "LORA", "r": 1, "lora_alpha": 0.5, "target_modules": ["lm_head"], "task_type": null}`),
	)
	if diff := cmp.Diff(Config{Rank: 1, Alpha: 0.5, Targets: []string{"lm_head"}, Listed: true}, c); err != nil ||
		diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for name, want := range map[string]bool{
		"lm_head": true, "x.lm_head": true, "x_lm_head": false, "lm_head.x": false,
	} {
		if got := c.Adapts(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

// Settings that are not supported are refused with key and value.
func TestParseRefuses(t *testing.T) {
	for change, words := range map[[2]string]string{
		{`"use_dora": false`, `"use_dora": true`}:              "",
		{`"rank_pattern": {}`, `"rank_pattern": {"h.0": 0}`}:   "rank_pattern: h.0: got 0, want 1 or more",
		{`"rank_pattern": {}`, `"rank_pattern": {"h.0": 1.5}`}: "rank_pattern: h.0: got 1.5, want 1 or more",
		{
			`"rank_pattern": {}`, `"rank_pattern": []`,
		}: "rank_pattern: config: got [], want a JSON object",
		{
			`"rank_pattern": {}`, `"rank_pattern": {"(": 2}`,
		}: "rank_pattern: (: got an expression that cannot be read",
		{`"alpha_pattern": {}`, `"alpha_pattern": {"h.0": null}`}: "alpha_pattern: h.0: got null, want a number",
		{
			`"alpha_pattern": {}`, `"alpha_pattern": {"h.0": 0}`,
		}: "alpha_pattern: h.0: got 0, want a number above 0",
		{`"bias": "none"`, `"bias": null`}:                   "bias: got null",
		{`"use_dora": false`, `"use_dora": 0`}:               "use_dora: got 0, want true or false",
		{`"use_dora": false`, `"use_dora": []`}:              "use_dora: got [], want true or false",
		{`"modules_to_save": null`, `"modules_to_save": ""`}: `modules_to_save: got "", want a list of names`,
		{
			`"modules_to_save": null`, `"modules_to_save": [""]`,
		}: `modules_to_save: got [""], want names of modules`,
		{`"layer_replication": null`, `"layer_replication": false`}:    "layer_replication: got false, want none",
		{`"use_dora": false`, `"another": false`}:                      "another: got false, want none",
		{`"modules_to_save": null`, `"modules_to_save": ["wte"]`}:      "",
		{`"layers_to_transform": null`, `"layers_to_transform": [1]`}:  "",
		{`"use_dora": false`, `"exclude_modules": ["c_fc"]`}:           "",
		{`"layer_replication": null`, `"layer_replication": [[0, 2]]`}: "layer_replication: got [[0, 2]]",
		{`"bias": "none"`, `"bias": "lora_only"`}:                      "bias: got lora_only, want none",
		{`"LORA"`, `"IA3"`}:                                           "peft_type: got IA3, want LORA",
		{`"peft_type": "LORA", `, ``}:                                 "peft_type: got , want LORA",
		{`"CAUSAL_LM"`, `"SEQ_CLS"`}:                                  "task_type: got SEQ_CLS, want CAUSAL_LM",
		{`"init_lora_weights": true`, `"init_lora_weights": "pissa"`}: `init_lora_weights: got "pissa"`,
		{`"r": 8`, `"r": 0`}:                                          "r: got 0, want 1 or more",
		{`"r": 8`, `"r": "8"`}:                                        `r: got "8", want a whole number`,
		{`"r": 8`, `"r": 8, "r": 9`}:                                  "r: given twice",
		{`"r": 8`, `"r": 1e99`}:                                       "r: got 1e99",
		{`"lora_alpha": 32`, `"lora_alpha": 0`}:                       "lora_alpha: got 0, want a number above 0",
		{`"lora_alpha": 32`, `"lora_alpha": []`}:                      "lora_alpha: got [], want a number",
		{`["c_attn"]`, `"all-linear"`}:                                "",
		{`["c_attn"]`, `".*h\\.\\d+\\.attn\\.c_attn$"`}:               "",
		{`["c_attn"]`, `null`}:                                        "",
		{`["c_attn"]`, `7`}:                                           "target_modules: got 7, want a list of names",
		{`["c_attn"]`, `""`}:                                          `target_modules: got ""`,
		{`["c_attn"]`, `{}`}:                                          "target_modules: got {}",
		{`["c_attn"]`, `[]`}:                                          "target_modules: got []",
		{`["c_attn"]`, `[""]`}:                                        "target_modules: got",
		{`"use_rslora": false`, `"use_rslora": 1`}:                    "use_rslora: got 1, want true or false",
		{`"gpt2"`, `7`}: "base_model_name_or_path: got 7, want " +
			"a string",
		{`"use_dora"`, `"a\u001b[31m` + strings.Repeat("x", 500) + `"`}: "got false, want none",
		{`"use_rslora": false}`, `"new_kind": {"of": 1}}`}:              `new_kind: got {"of": 1}, want none`,
		{`"use_rslora": false}`, `"use_rslora": false} {`}:              "something follows",
		{example, `[]`}: "want a JSON object",
	} {
		changed := strings.Replace(example, change[0], change[1], 1)
		if changed == example {
			t.Fatalf("%s is not there", change[0])
		}
		_, err := Parse([]byte(changed))
		if words == "" {
			if err != nil {
				t.Errorf("%s: %v", change[1], err)
			}
			continue
		}
		wantError(t, err, words)
	}
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("got no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) || len(err.Error()) > 1000 {
			t.Errorf("got error %q, want %q in it", err, w)
		}
	}
}

// numbers returns n distinct numbers.
func numbers(n int, from float32) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = from + float32(i)
	}
	return list
}

// A written folder can be read, and is not overwritten.
func TestWriteRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := Config{Base: "x", Rank: 2, Alpha: 3, Targets: []string{"c_fc", "attn.c_attn"}, FanIn: true}
	list := []Matrix{
		{"transformer.h.0.attn.c_attn", numbers(2*3, 1), numbers(7*2, 9), nil},
		{"transformer.h.0.mlp.c_fc", numbers(2*3, 30), numbers(5*2, 40), nil},
	}
	if err := Write(dir, c, list); err != nil {
		t.Fatal(err)
	}
	gotConfig, got, err := readAll(dir)
	if diff := cmp.Diff(list, got); err != nil || diff != "" || gotConfig.Base != "x" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 2 {
		t.Errorf("got %v, want two files", names)
	}
	wantError(t, Write(dir, c, list), dir, "there is something already")
}

// An invalid file gives an error of one sentence with the file's name.
func TestReadRefuses(t *testing.T) {
	const of = "base_model.model.transformer.h.0.attn.c_attn.lora_"
	a := safetensors.Tensor{Name: of + "A.weight", Shape: []int{8, 3}, F32: numbers(24, 1)}
	b := safetensors.Tensor{Name: of + "B.weight", Shape: []int{6, 8}, F32: numbers(48, 1)}
	named := func(x safetensors.Tensor, name string) safetensors.Tensor { x.Name = name; return x }
	for words, tensors := range map[string][]safetensors.Tensor{
		"there are no tensors":                          {},
		of + "A.weight is missing":                      {b},
		of + "B.weight is missing":                      {a},
		"wte.lora_embedding_A: want names such as base": {a, b, named(a, "base_model.model.wte.lora_embedding_A")},
		"not in target_modules c_attn": {
			a, b, named(a, "base_model.model.transformer.h.0.mlp.c_fc.lora_A.weight"),
		},
		"got shape [4 6], want a matrix of floating-point numbers with r 8 of rows": {
			named(safetensors.Tensor{Shape: []int{4, 6}, F32: numbers(24, 1)}, a.Name), b,
		},
		"got shape [8 6], want a matrix of floating-point numbers with r 8 of columns": {
			a, named(safetensors.Tensor{Shape: []int{8, 6}, F32: numbers(48, 1)}, b.Name),
		},
		"got shape [8 0], want": {named(safetensors.Tensor{Shape: []int{8, 0}, F32: []float32{}}, a.Name), b},
		"got shape [24], want":  {named(safetensors.Tensor{Shape: []int{24}, F32: numbers(24, 1)}, a.Name), b},
		"entry 2 is NaN": {
			a,
			named(
				safetensors.Tensor{
					Shape: []int{6, 8}, F32: append([]float32{1, 2, float32(math.NaN())}, numbers(45, 1)...),
				},
				b.Name,
			),
		},
		"got shape [8 3 1], want": {named(safetensors.Tensor{Shape: []int{8, 3, 1}, F32: numbers(24, 1)}, a.Name), b},
		"entry 23 is +Inf": {
			named(safetensors.Tensor{Shape: []int{8, 3}, F64: append(make([]float64, 23), 1e300)}, a.Name), b,
		},
		"h.0.attn.c_attn.lora_A.wei": {named(a, "h.0.attn.c_attn.lora_A.weight"), b},
	} {
		dir := t.TempDir()
		var file bytes.Buffer
		if err := safetensors.Write(&file, tensors, nil); err != nil {
			t.Fatal(err)
		}
		put(t, dir, configFile, []byte(example))
		put(t, dir, weightsFile, file.Bytes())
		_, _, err := readAll(dir)
		wantError(t, err, weightsFile, words)
	}
	dir := t.TempDir()
	_, _, err := readAll(dir)
	wantError(t, err, configFile, "no such file")
	put(t, dir, configFile, []byte(example))
	_, _, err = readAll(dir)
	wantError(t, err, weightsFile, "no such file")
	// the longest
	put(t, dir, configFile, append([]byte(example), bytes.Repeat([]byte(" "), maxConfig-len(example))...))
	put(t, dir, weightsFile, []byte("x"))
	_, _, err = readAll(dir)
	wantError(t, err, weightsFile, "got 1 bytes")
	put(t, dir, configFile, bytes.Repeat([]byte(" "), maxConfig+1))
	_, _, err = readAll(dir)
	wantError(t, err, configFile, "want at most 1048576")
}

// readAll returns an opened folder and its numbers.
func readAll(dir string) (Config, []Matrix, error) {
	f, err := Open(dir)
	if err != nil {
		return Config{}, nil, err
	}
	list, err := f.Matrices()
	return f.Config, list, err
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzParse: accepted settings are within bounds, and are the same after writing and reading.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add(
		[]byte(
			`{"peft_type":"LORA","r":3,"lora_alpha":0.5,"target_modules":["q_proj"],"use_rslora":true,"bias":"none"}`,
		),
	)
	f.Add([]byte(`{"peft_type":"LORA","r":1,"lora_alpha":1e308,"target_modules":["a"],"use_dora":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Config
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { c, err = Parse(data) })
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if s := c.Scale(); !(s > 0) || c.Rank < 1 || c.Listed && len(c.Targets) == 0 {
			t.Fatalf("got %+v with a scale of %v", c, s)
		}
		written, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if c.Ranks, c.Alphas, c.DoRA, c.Saved = nil, nil, false, nil; !c.Listed { // which are not written
			c, again = Config{}, Config{}
		}
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
}

// A truncated file is an error, wherever it is cut.
func TestReadCut(t *testing.T) {
	complete := filepath.Join(t.TempDir(), "whole")
	c := Config{Rank: 1, Alpha: 3, Targets: []string{"c_fc"}}
	if err := Write(complete, c, []Matrix{{"c_fc", numbers(3, 1), numbers(2, 9), nil}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAll(complete); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{configFile, weightsFile} {
		data, err := os.ReadFile(filepath.Join(complete, name))
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(bytes.TrimSpace(data)) {
			put(t, complete, name, data[:n])
			if _, _, err := readAll(complete); err == nil {
				t.Errorf("%s: %d of %d bytes: got no error", name, n, len(data))
			}
		}
		put(t, complete, name, data)
	}
}

// Other ranks and α count for matrices whose name or ending a pattern matches, the first of several, and the file says
// what is adapted if target_modules does not.
func TestPatterns(t *testing.T) {
	const at = "base_model.model.transformer.h.1."
	changed := strings.NewReplacer(`["c_attn"]`, `"all-linear"`, `"rank_pattern": {}`,
		`"rank_pattern": {"h.1.mlp.c_fc": 2, "c_fc": 5}`,
		`"alpha_pattern": {}`, `"alpha_pattern": {"attn\\..*": 4, "c_attn": 9}`).Replace(example)
	var file bytes.Buffer
	if err := safetensors.Write(&file, []safetensors.Tensor{
		{Name: at + "attn.c_attn.lora_A.weight", Shape: []int{8, 3}, F32: numbers(24, 1)},
		{Name: at + "attn.c_attn.lora_B.weight", Shape: []int{9, 8}, F32: numbers(72, 1)},
		{Name: at + "mlp.c_fc.lora_A.weight", Shape: []int{2, 3}, F32: numbers(6, 1)},
		{Name: at + "mlp.c_fc.lora_B.weight", Shape: []int{5, 2}, F32: numbers(10, 1)},
	}, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, configFile, []byte(changed))
	put(t, dir, weightsFile, file.Bytes())
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"attn.c_attn", "mlp.c_fc"}, f.Targets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, want := range map[string][2]float64{
		"transformer.h.1.attn.c_attn": {8, 0.5}, "transformer.h.1.mlp.c_fc": {2, 16},
		"transformer.h.0.mlp.c_fc": {5, 6.4}, "xc_fc": {8, 4},
	} {
		if got := [2]float64{float64(f.RankOf(name)), f.ScaleOf(name)}; got != want {
			t.Errorf("%s: got rank and scale %v, want %v", name, got, want)
		}
	}
	put(t, dir, configFile, []byte(strings.Replace(changed, `"h.1.mlp.c_fc": 2`, `"h.1.mlp.c_fc": 3`, 1)))
	_, err = Open(dir)
	wantError(t, err, "got shape [2 3], want a matrix of floating-point numbers with r 3 of rows")
}

// Every key with an empty value is refused by its name, or leaves the adapter as it is, except the keys of this list.
func TestEmptyValues(t *testing.T) {
	want, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want.RootScale = true
	changes := map[string]string{
		"base_model_name_or_path": "a name", "fan_in_fan_out": "how programs store the base",
		"target_modules":      "null: the file says it",
		"layers_to_transform": "the file says it", "layers_pattern": "the file says it",
		"exclude_modules": "the file says it",
		"use_rslora":      "read as false",
	}
	keys := strings.Fields("peft_type r lora_alpha target_modules exclude_modules fan_in_fan_out task_type bias " +
		"base_model_name_or_path use_rslora use_dora use_qalora rank_pattern alpha_pattern modules_to_save " +
		"layers_to_transform layers_pattern layer_replication target_parameters trainable_token_indices " +
		"megatron_config lora_bias init_lora_weights arrow_config runtime_config unknown")
	for _, key := range append(keys, harmless...) {
		for _, value := range []string{"false", "0", `""`, "[]", "{}", "null"} {
			var all map[string]json.RawMessage
			if err := json.Unmarshal([]byte(example), &all); err != nil {
				t.Fatal(err)
			}
			all["use_rslora"], all[key] = json.RawMessage("true"), json.RawMessage(value)
			data, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse(data)
			switch {
			case err != nil:
				if !strings.Contains(err.Error(), key+": ") {
					t.Errorf("%s %s: got the error %v, want one with the key", key, value, err)
				}
			case changes[key] == "" && !cmp.Equal(got, want):
				t.Errorf("%s %s: got %+v, want a refusal, or %+v", key, value, got, want)
			}
		}
	}
}
