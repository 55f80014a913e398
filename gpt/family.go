package gpt

import (
	"encoding/json"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// family describes a family of published models.
type family struct {
	modelType string // in its config.json
	names     layout.Names
	read      func(data []byte, own []parts.Registry) (Config, error)
	// write returns the config.json, without the tokens, of a Config that is resolved. Its error names the first field
	// that the family has no key for.
	write func(c Config) (map[string]any, error)
}

// families returns the supported families. GPT-2's config.json is also the form that our checkpoints have, regardless
// of their network.
func families() []family { return []family{gpt2(), llama(), qwen2()} }

// FromHuggingFace reads a config.json in Hugging Face's names, of a GPT-2, a LLaMA or a Qwen2, or as written by
// [Config.HuggingFace]. Absent keys have Hugging Face's defaults. Settings that a Config cannot express are errors. So
// are unknown keys with a value, such as quantization_config, except those that change no logits, such as
// transformers_version. The training half stays zero. own holds the user-defined variants of the program that wrote the
// file, if any.
func FromHuggingFace(data []byte, own ...parts.Registry) (Config, error) {
	s, err := readSource(data, own...)
	if err != nil {
		return Config{}, err
	}
	return s.Config, s.ValidateModel()
}

// readSource returns the contents of a config.json, without validating them.
func readSource(data []byte, own ...parts.Registry) (s source, err error) {
	modelType := ""
	err = field.EachKey(data, func(key string, value json.RawMessage) error {
		if key != "model_type" {
			return nil
		}
		return field.New(key, &modelType, field.Any(), "").Decode(value)
	})
	if err != nil {
		return s, err
	}
	s.plainHead = modelType != "pedestrian"
	if modelType == "" || modelType == "pedestrian" {
		modelType = gpt2().modelType
	}
	for _, f := range families() {
		if f.modelType == modelType {
			s.names = f.names
			s.Config, err = f.read(data, own)
			return s, err
		}
	}
	return s, errors.Errorf("model_type: got %s, want gpt2, llama or qwen2", field.Clip(modelType))
}

// readKeys sets the fields that a config.json names. For the keys in nullable, null means no value. The keys in
// harmless change no logits of the family.
func readKeys(data []byte, fields field.List, nullable, harmless []string) error {
	return field.EachKey(data, func(key string, value json.RawMessage) error {
		f, ok := fields.Find(key)
		if !ok {
			return checkKey(key, value, harmless)
		}
		if string(value) == "null" && slices.Contains(nullable, key) {
			return nil
		}
		if err := f.Decode(value); err != nil {
			return err
		}
		return f.Check()
	})
}
