// Package peft reads and writes adapters of low rank in the form of Hugging Face's PEFT: a folder with
// adapter_config.json and adapter_model.safetensors. Start with Open and Write. It is independent of models: matrices
// have the names in the file.
package peft

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Config holds the settings of an adapter_config.json that determine what the adapter computes.
type Config struct {
	Base      string   // base_model_name_or_path: the model on which the adapter was trained
	Rank      int      // r
	Alpha     float64  // lora_alpha
	RootScale bool     // use_rslora: the factor is α/√r
	Targets   []string // target_modules: endings of the adapted matrices' names
	FanIn     bool     // fan_in_fan_out: the base stores its matrices as (in, out)
}

// Scale returns the factor on the product of an adapter's matrices: α/r, or α/√r (rsLoRA, Kalajdzievski 2023).
func (c Config) Scale() float64 {
	if c.RootScale {
		return c.Alpha / math.Sqrt(float64(c.Rank))
	}
	return c.Alpha / float64(c.Rank)
}

// harmless lists keys that do not change what an adapter computes. All other keys that are not read must be empty.
var harmless = []string{
	"auto_mapping", "corda_config", "ensure_weight_tying", "eva_config", "inference_mode", "loftq_config",
	"lora_dropout", "megatron_core", "peft_version", "qalora_group_size", "revision",
}

// Parse reads an adapter_config.json. A setting with which an adapter computes something else than base + s·x·Aᵀ·Bᵀ,
// such as use_dora, rank_pattern or modules_to_save, is an error that names the key and its value.
func Parse(data []byte) (c Config, err error) {
	var kind, task string
	bias := "none"
	known := map[string]any{
		"base_model_name_or_path": &c.Base, "r": &c.Rank, "lora_alpha": &c.Alpha, "use_rslora": &c.RootScale,
		"target_modules": &c.Targets, "fan_in_fan_out": &c.FanIn, "peft_type": &kind, "task_type": &task, "bias": &bias,
	}
	unchanged := []string{"true", `"gaussian"`, `"eva"`, `"orthogonal"`} // initial weights that keep the base
	err = field.EachKey(data, func(key string, value json.RawMessage) error {
		if into, ok := known[key]; ok {
			if field.UnmarshalPart(value, into) != nil {
				return errors.Errorf("%s: got %s, want %s", key, field.Clip(string(value)), wanted(into))
			}
			return nil
		}
		if slices.Contains(harmless, key) || empty(value) {
			return nil
		}
		if key == "init_lora_weights" && slices.Contains(unchanged, string(value)) {
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
	case len(c.Targets) == 0 || slices.Contains(c.Targets, ""):
		return Config{}, errors.Errorf("target_modules: got %q, want names of matrices", c.Targets)
	}
	return c, nil
}

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

// empty reports whether value is null, false, "", [] or {}.
func empty(value json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(value)), "") {
	case "null", "false", "{}", "[]", `""`:
		return true
	}
	return false
}

// encode returns the adapter_config.json of c.
func (c Config) encode() ([]byte, error) {
	data, err := json.MarshalIndent(struct {
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
		c.Base, "none", c.FanIn, true, true, c.Alpha, 0, nil, "LORA", c.Rank, c.Targets, "CAUSAL_LM", c.RootScale,
	}, "", "  ")
	return append(data, '\n'), errors.Wrap(err, configFile)
}
