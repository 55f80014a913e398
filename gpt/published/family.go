// Package published opens and exports models of other programs: folders in Hugging Face's form and GGUF files, of
// Families such as GPT-2, LLaMA and Qwen3. Start with Open.
//
// A family translates between config.json and the fields of a network, both ways by one table, and a Layout between the
// tensors of a family's files and the parameters of a network.
package published

import (
	"encoding/json"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// family describes a family of published models.
type family struct {
	modelType string // in its config.json
	biases    bool   // its files have every bias except the head's; those that a network lacks are 0
	headBias  bool   // its files may have a bias of the head

	architectures []string
	rows          []row
	same          []setting // fields that have one value in all networks of the family
	links         []link
	harmless      map[string][]string // keys that change no logits of the family, by the reason
	constants     map[string]any      // keys that Export adds because programs expect them
	blocked       bool                // the matrices of experts are in blocks of MXFP4, each (out, in)

	names names
}

// link translates keys and fields that do not correspond one by one. read follows the keys of a file and precedes its
// rows; write follows the rows. Both are optional.
type link struct {
	read, write func(file, network field.List) error
}

// setting is the value of a network's field, as a flag would write it.
type setting struct{ field, value string }

// Families lists the model_type of each family that is supported.
func Families() (modelTypes []string) {
	for _, f := range families() {
		modelTypes = append(modelTypes, f.modelType)
	}
	return modelTypes
}

// families returns the families of other programs.
func families() []family {
	return []family{
		gpt2(), llama(), qwen2(), qwen3(), smolLM3(), olmo(), olmo2(), mistral(), gemma(), gemma2(), gemma3(), phi(),
		phi3(), granite(), arcee(), glm(), glm4(), cohere(), starCoder2(), bigCode(), gptNeoX(), gptNeo(), opt(),
		mixtral(), qwen3MoE(), olmoe(), gptOSS(),
	}
}

// ownType is the model_type of a network of this library that is no GPT-2.
const ownType = "pedestrian"

// modelTypeOf returns the model_type of a config.json, and whether it has a quantization of its files.
func modelTypeOf(data []byte) (modelType string, blocked bool, err error) {
	modelType = gpt2().modelType
	err = field.EachKey(data, func(key string, value json.RawMessage) error {
		switch key {
		case "model_type":
			return field.New(key, &modelType, field.Any(), "").Decode(value)
		case quantizationKey:
			blocked = string(value) != "null"
		}
		return nil
	})
	return modelType, blocked, err
}

// familyIn returns the family of a config.json by its model_type, which is a GPT-2's without one, and by the
// quantization of its files.
func familyIn(data []byte) (family, error) {
	modelType, blocked, err := modelTypeOf(data)
	if err != nil {
		return family{}, err
	}
	for _, f := range families() {
		if f.modelType == modelType || modelType == "" {
			f.blocked = blocked
			return f, nil
		}
	}
	if lacks, ok := missing()[modelType]; ok {
		return family{}, errors.Errorf("model_type: got %s, which is not supported: it needs %s", modelType, lacks)
	}
	var known []string
	for _, f := range families() {
		known = append(known, f.modelType)
	}
	return family{}, errors.Errorf("model_type: got %s, want one of %s%s",
		field.Clip(modelType), strings.Join(known, ", "), spelling.Hint(modelType, known))
}

// Read sets the fields of a network, which must be new, to the values of a config.json. Absent keys have Hugging Face's
// defaults. A setting that no field can express and an unknown key with a value are errors that name the key and its
// value. list has the names of activations.
func (f family) Read(data []byte, network field.List, list []parts.Activation) error {
	file := f.file()
	for _, s := range f.same {
		if err := parse(network, s.field, s.value); err != nil {
			return err
		}
	}
	err := field.EachKey(data, func(key string, value json.RawMessage) error {
		to, ok := file.Find(key)
		if i := f.index(key); i >= 0 && f.rows[i].null != "" && string(value) == "null" {
			return to.Decode(json.RawMessage(f.rows[i].null))
		}
		if !ok {
			return f.checkKey(key, value)
		}
		if err := to.Decode(value); err != nil {
			return err
		}
		return to.Check()
	})
	if err != nil {
		return err
	}
	for _, l := range f.links {
		if l.read == nil {
			continue
		}
		if err := l.read(file, network); err != nil {
			return err
		}
	}
	return f.transfer(file, network, list)
}

// transfer sets the fields of a network from a file.
func (f family) transfer(file, network field.List, list []parts.Activation) error {
	from := map[string]field.Field{} // the key that has set a field
	for i, r := range f.rows {
		key := file[i]
		value, err := r.translate(key, list)
		switch {
		case r.value == 0 && value == "0":
			continue
		case err != nil:
			return err
		}
		for _, name := range r.fields {
			if first, ok := from[name]; ok && first.String() != key.String() {
				return errors.Errorf("%s: got %s, want %s %s", r.key, key, first.Name, first)
			} else if ok {
				continue
			}
			if from[name] = key; parse(network, name, value) != nil {
				return errors.Errorf("%s: got %s: the network has no field %s", r.key, key, name)
			}
		}
	}
	return nil
}

// Write returns the config.json of a network, whose fields must be resolved, as far as the family can express it: the
// caller reads it back to find out how far that is. Write replaces a part of the network by an equal one if Read
// returns that.
func (f family) Write(network field.List, list []parts.Activation) (field.List, error) {
	file := f.file()
	for i, r := range f.rows {
		if len(r.fields) == 0 {
			continue
		}
		from, ok := network.Find(r.fields[0])
		if !ok {
			return nil, errors.Errorf("%s: the network has no field %s", r.key, r.fields[0])
		}
		if value, ok := r.original(from.String(), list); ok {
			if err := file[i].Parse(value); err != nil {
				return nil, err
			}
		}
	}
	for _, l := range f.links {
		if l.write == nil {
			continue
		}
		if err := l.write(file, network); err != nil {
			return nil, err
		}
	}
	head := field.List{
		field.New("model_type", &f.modelType, field.Any(), ""),
		field.New("architectures", &f.architectures, field.Any(), ""),
	}
	return append(head, f.written(file)...), nil
}

// export returns the keys of a file of Write together with those that programs of the family expect.
func (f family) export(file field.List) (map[string]any, error) {
	data, err := file.MarshalJSON()
	keys := map[string]any{}
	for key, value := range f.constants {
		keys[key] = value
	}
	if err == nil {
		err = field.EachKey(data, func(key string, value json.RawMessage) error { keys[key] = value; return nil })
	}
	return keys, err
}
