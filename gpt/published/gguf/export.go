package gguf

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Model describes a model in the form of Hugging Face's folders, to be written as a GGUF file.
type Model struct {
	Config    []byte // of config.json
	Tokenizer []byte // of tokenizer.json; nil if there is none
	Tensors   []Source
	// Type is that of matrices, F32, F16, BF16, Q8_0 or Q4_0. Vectors and learned positions are F32.
	Type Type
}

// Source is a tensor of a folder.
type Source struct {
	Name   string
	Shape  []int
	Values func() ([]float32, error)
}

// Write writes the model as a GGUF file. A tensor or a tokenizer without a counterpart in such a file is an error that
// names it. Keys without one are left out: compare Reread with Config.
func (m Model) Write(w io.Writer) error {
	_, f, views, err := m.file()
	if err != nil {
		return err
	}
	entries := make([]Entry, len(views))
	for i, v := range views {
		entries[i] = Entry{v.Name, v.Shape, F32}
		if len(v.Shape) == 2 && v.Name != "position_embd.weight" {
			entries[i].Type = m.Type
		}
	}
	return Write(w, f.Keys, entries, func(i int) ([]float32, error) {
		x, err := m.Tensors[i].Values()
		if err != nil {
			return nil, err
		}
		return views[i].file(x)
	})
}

// Reread returns the config.json that [File.Folder] derives from the file of Write.
func (m Model) Reread() ([]byte, error) {
	a, f, _, err := m.file()
	if err != nil {
		return nil, err
	}
	config, err := f.config(a)
	if err != nil {
		return nil, wrapf(err, "config.json")
	}
	data, err := json.Marshal(config)
	return data, errors.WithStack(err)
}

// file returns the keys and tensors of the file, without numbers, and how the tensors correspond to the model's.
func (m Model) file() (a architecture, f *File, views []view, err error) {
	var config object
	if err = field.Unmarshal(m.Config, &config); err != nil {
		return a, nil, nil, wrapf(err, "config.json")
	}
	if a, err = architectureOf(fmt.Sprint(config["model_type"]), architecture.modelType); err != nil {
		return a, nil, nil, wrapf(err, "config.json: model_type")
	}
	f = new(File)
	if f.Keys, err = a.write(config); err != nil {
		return a, nil, nil, wrapf(err, "config.json")
	}
	if m.Tokenizer != nil {
		more, err := tokenizerKeys(m.Tokenizer)
		if err != nil {
			return a, nil, nil, wrapf(err, "tokenizer.json")
		}
		for _, name := range []string{"bos_token_id", "eos_token_id"} {
			if id, ok := config[name].(float64); ok && id >= 0 {
				more = append(more, Key{tokenizerPrefix + name, OfInt(int(id))})
			}
		}
		f.Keys = append(f.Keys, more...)
	}
	for _, s := range m.Tensors {
		v, err := f.source(a, s)
		if err != nil {
			return a, nil, nil, wrapf(err, "tensor %.80q", s.Name)
		}
		f.Tensors, views = append(f.Tensors, v.Tensor), append(views, v)
	}
	return a, f, views, nil
}

// source returns a folder's tensor as one of a file.
func (f *File) source(a architecture, s Source) (v view, err error) {
	general, number := block(s.Name, "model.layers.")
	if a.columns {
		general, number = block(s.Name, "h.")
	}
	i := slices.IndexFunc(a.tensors, func(p pair) bool { return p.theirs == general })
	if i < 0 {
		return v, errors.Errorf("a %s has no such tensor", a.name)
	}
	v.Tensor = Tensor{Name: strings.ReplaceAll(a.tensors[i].ours, "#", number), Shape: slices.Clone(s.Shape)}
	if v.turn = a.turns(v.Tensor); v.turn {
		slices.Reverse(v.Shape)
	}
	v.from = f.order(a, v.Tensor) // the folder's row for each of the file's
	v.gain = a.gain(v.Tensor)
	return v, nil
}

// file returns the numbers of a folder's tensor in the order of the file.
func (v view) file(x []float32) ([]float32, error) {
	if len(x) != v.Len() {
		return nil, errors.Errorf("got %d values, want %d", len(x), v.Len())
	}
	if v.gain {
		x = slices.Clone(x)
		for i := range x {
			x[i]++
		}
	}
	if !v.turn && v.from == nil {
		return x, nil
	}
	rows, width := v.Shape[0], v.Shape[1]
	y := make([]float32, len(x))
	for r := range rows {
		to := y[r*width:][:width]
		if !v.turn {
			copy(to, x[v.from[r]*width:])
			continue
		}
		for c := range to {
			to[c] = x[c*rows+r]
		}
	}
	return y, nil
}

// write returns the keys of a config.json. A key with a value that no key of a file expresses was checked when the
// model was opened or exported: config.json has those of its family alone.
func (a architecture) write(config map[string]any) ([]Key, error) {
	keys := []Key{
		{architectureKey, OfText(a.name)}, {"general.name", OfText("model")},
		{"general.quantization_version", OfInt(2)},
	}
	for _, p := range a.keys {
		x, ok := config[p.theirs].(float64)
		if !ok {
			continue // null or absent: the default
		}
		v := OfFloat(x)
		if x == math.Trunc(x) && p.ours != "rope.freq_base" {
			v = OfInt(int(x))
		}
		keys = append(keys, Key{a.name + "." + p.ours, v})
		if p.ours == "attention.key_length" {
			keys = append(keys, Key{a.name + ".attention.value_length", v}, Key{a.name + ".rope.dimension_count", v})
		}
	}
	if scaling, ok := config["rope_scaling"].(map[string]any); ok {
		factor, _ := scaling["factor"].(float64)
		if kind := scaling["rope_type"]; kind != "linear" {
			return nil, errors.Errorf("rope_scaling: got %v, want linear", kind)
		}
		keys = append(keys, Key{a.name + ".rope.scaling.type", OfText("linear")},
			Key{a.name + ".rope.scaling.factor", OfFloat(factor)})
	}
	if heads, ok := config["num_attention_heads"].(float64); ok && config["head_dim"] == nil && heads > 0 {
		width, _ := config["hidden_size"].(float64)
		keys = append(keys, Key{a.name + ".rope.dimension_count", OfInt(int(width / heads))})
	}
	return keys, nil
}
