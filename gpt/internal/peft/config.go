// Package peft reads and writes adapters of low rank in the form of Hugging Face's PEFT: a folder with
// adapter_config.json and adapter_model.safetensors. Start with Open and Write. It is independent of models: matrices
// have the names in the file.
package peft

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Config holds the settings of an adapter_config.json that determine what the adapter computes.
type Config struct {
	Base      string    // base_model_name_or_path: the model on which the adapter was trained
	Rank      int       // r
	Alpha     float64   // lora_alpha
	RootScale bool      // use_rslora: the factor is α/√r
	Targets   []string  // target_modules: endings of the adapted matrices' names
	FanIn     bool      // fan_in_fan_out: the base stores its matrices as (in, out)
	Ranks     []Pattern // rank_pattern: other ranks, by the names of matrices
	Alphas    []Pattern // alpha_pattern: other α, by the names of matrices
	DoRA      bool      // use_dora: every adapted matrix has the lengths of its rows
	Saved     []string  // modules_to_save: endings of the names of modules whose tensors replace the base's
	Listed    bool      // target_modules lists all adapted matrices; otherwise the file's tensors say which they are
}

// Pattern is a setting of the matrices whose names, or their endings after a dot, match a regular expression.
type Pattern struct {
	Name  string
	Value float64
	match *regexp.Regexp
}

// matching returns the value of the first pattern that matches a name, otherwise the usual value.
func matching(list []Pattern, name string, usual float64) float64 {
	for _, p := range list {
		if p.match.MatchString(name) {
			return p.Value
		}
	}
	return usual
}

// RankOf returns the rank of the adapter of a matrix.
func (c Config) RankOf(matrix string) int { return int(matching(c.Ranks, matrix, float64(c.Rank))) }

// ScaleOf returns the factor on the product of the matrices of an adapter: α/r, or α/√r (rsLoRA, Kalajdzievski 2023).
func (c Config) ScaleOf(matrix string) float64 {
	c.Rank, c.Alpha = c.RankOf(matrix), matching(c.Alphas, matrix, c.Alpha)
	return c.Scale()
}

// Scale returns the factor without other ranks and α.
func (c Config) Scale() float64 {
	if c.RootScale {
		return c.Alpha / math.Sqrt(float64(c.Rank))
	}
	return c.Alpha / float64(c.Rank)
}

// harmless lists keys that do not change what an adapter computes from the file's tensors.
var harmless = []string{
	"auto_mapping", "corda_config", "ensure_weight_tying", "eva_config", "inference_mode", "loftq_config",
	"lora_dropout", "megatron_core", "peft_version", "qalora_group_size", "revision",
}

// absent lists keys by the value, as compact JSON, with which an adapter has no such part. Any key may be null.
var absent = map[string][]string{
	"false": {"use_qalora", "lora_bias", "init_lora_weights", "runtime_config"},
	"true":  {"init_lora_weights"},
	"[]":    {"target_parameters", "trainable_token_indices", "exclude_modules"},
	"{}":    {"megatron_config", "arrow_config", "runtime_config"},

	`"gaussian"`: {"init_lora_weights"}, `"eva"`: {"init_lora_weights"}, `"orthogonal"`: {"init_lora_weights"},
}

// Parse reads an adapter_config.json. A setting with which an adapter computes something else than base + s·x·Aᵀ·Bᵀ is
// an error that names the key and its value, except use_dora and modules_to_save. If target_modules is not a list but a
// regular expression or all-linear, or if other keys leave matrices out, the file's tensors say what is adapted.
func Parse(data []byte) (c Config, err error) {
	var kind, task string
	bias := "none"
	known := map[string]any{
		"base_model_name_or_path": &c.Base, "r": &c.Rank, "lora_alpha": &c.Alpha, "use_rslora": &c.RootScale,
		"use_dora": &c.DoRA, "modules_to_save": &c.Saved,
		"fan_in_fan_out": &c.FanIn, "peft_type": &kind, "task_type": &task, "bias": &bias,
	}
	c.Listed = true
	err = field.EachKey(data, func(key string, value json.RawMessage) (err error) {
		if into, ok := known[key]; ok {
			if field.UnmarshalPart(value, into) != nil || key == "bias" && string(value) == "null" {
				return errors.Errorf("%s: got %s, want %s", key, field.Clip(string(value)), wanted(into))
			}
			return nil
		}
		switch key {
		case "target_modules":
			return c.targets(value)
		case "rank_pattern":
			c.Ranks, err = patterns(key, value)
			return err
		case "alpha_pattern":
			c.Alphas, err = patterns(key, value)
			return err
		case "exclude_modules", "layers_to_transform", "layers_pattern":
			c.Listed = c.Listed && string(value) == "null"
			return nil
		}
		if slices.Contains(harmless, key) || string(value) == "null" || slices.Contains(absent[compact(value)], key) {
			return nil
		}
		return errors.Errorf("%s: got %s, want none: adapters of this kind are not supported",
			field.Clip(key), field.Clip(string(value)))
	})
	if err != nil {
		return Config{}, err
	}
	switch {
	case kind != "LORA":
		return Config{}, errors.Errorf("peft_type: got %s, want LORA", field.Clip(kind))
	case task != "" && task != "CAUSAL_LM":
		return Config{}, errors.Errorf("task_type: got %s, want CAUSAL_LM", field.Clip(task))
	case bias != "none":
		return Config{}, errors.Errorf("bias: got %s, want none", field.Clip(bias))
	case c.Rank < 1:
		return Config{}, errors.Errorf("r: got %d, want 1 or more", c.Rank)
	case !(c.Scale() > 0):
		return Config{}, errors.Errorf("lora_alpha: got %v, want a number above 0", c.Alpha)
	case c.Listed && len(c.Targets) == 0 || slices.Contains(c.Targets, ""):
		return Config{}, errors.Errorf("target_modules: got %q, want names of matrices", c.Targets)
	case slices.Contains(c.Saved, ""):
		return Config{}, errors.Errorf("modules_to_save: got %q, want names of modules", c.Saved)
	}
	if len(c.Saved) == 0 {
		c.Saved = nil
	}
	for _, p := range c.Ranks {
		if p.Value < 1 || p.Value != math.Trunc(p.Value) || p.Value > math.MaxInt32 {
			return Config{}, errors.Errorf("rank_pattern: %s: got %v, want 1 or more", field.Clip(p.Name), p.Value)
		}
	}
	for _, p := range c.Alphas {
		if !(p.Value > 0) {
			return Config{}, errors.Errorf("alpha_pattern: %s: got %v, want a number above 0",
				field.Clip(p.Name), p.Value)
		}
	}
	return c, nil
}

// targets reads target_modules: a list of names, or a regular expression, all-linear or null, which do not list them.
func (c *Config) targets(value json.RawMessage) error {
	var expression string
	if string(value) == "null" || field.UnmarshalPart(value, &expression) == nil && expression != "" {
		c.Listed = false
		return nil
	}
	if field.UnmarshalPart(value, &c.Targets) != nil {
		return errors.Errorf("target_modules: got %s, want a list of names, or a regular expression",
			field.Clip(string(value)))
	}
	return nil
}

// patterns reads an object of settings by regular expressions. They apply to entire names, or to endings after a dot.
func patterns(key string, value json.RawMessage) (list []Pattern, err error) {
	if string(value) == "null" {
		return nil, nil
	}
	err = field.EachKey(value, func(name string, value json.RawMessage) error {
		p := Pattern{Name: name}
		if field.UnmarshalPart(value, &p.Value) != nil || string(value) == "null" {
			return errors.Errorf("%s: got %s, want a number", field.Clip(name), field.Clip(string(value)))
		}
		var err error
		if p.match, err = regexp.Compile(`^(?:.*\.)?(?:` + name + `)$`); err != nil {
			return errors.Errorf("%s: got an expression that cannot be read, want a name", field.Clip(name))
		}
		list = append(list, p)
		return nil
	})
	return list, errors.Wrap(err, key)
}

// compact returns a JSON value without spaces.
func compact(value json.RawMessage) string { return strings.Join(strings.Fields(string(value)), "") }

// wanted returns the plain name of the type to which into points.
func wanted(into any) string {
	switch into.(type) {
	case *int:
		return "a whole number"
	case *float64:
		return "a number"
	case *bool:
		return "true or false"
	case *[]string:
		return "a list of names"
	}
	return "a string"
}

// encode returns the adapter_config.json of c.
func (c Config) encode() ([]byte, error) {
	data, err := json.MarshalIndent(struct {
		Mapping   any      `json:"auto_mapping"` // as in PEFT's folders
		Base      string   `json:"base_model_name_or_path"`
		Bias      string   `json:"bias"`
		FanIn     bool     `json:"fan_in_fan_out"`
		Inference bool     `json:"inference_mode"`
		Init      bool     `json:"init_lora_weights"`
		Alpha     float64  `json:"lora_alpha"`
		Dropout   float64  `json:"lora_dropout"`
		Save      []string `json:"modules_to_save"`
		Kind      string   `json:"peft_type"`
		Rank      int      `json:"r"`
		Targets   []string `json:"target_modules"`
		Task      string   `json:"task_type"`
		RootScale bool     `json:"use_rslora"`
	}{
		nil, c.Base, "none", c.FanIn, true, true, c.Alpha, 0, nil, "LORA", c.Rank, c.Targets, "CAUSAL_LM", c.RootScale,
	}, "", "  ")
	return append(data, '\n'), errors.Wrap(err, configFile)
}
