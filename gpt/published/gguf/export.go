package gguf

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Model describes a model in the form of Hugging Face's folders, to be written as a GGUF file.
type Model struct {
	Config    []byte // of config.json
	Tokenizer []byte // of tokenizer.json; nil if there is none
	Begin     bool   // whether texts begin with the token bos_token_id of Config
	Chat      string // template of conversations; optional
	Tensors   []Source
	// Type is the type of matrices, F32, F16, BF16, Q8_0 or Q4_0. Vectors, learned positions and routers are F32.
	// Matrices whose rows do not fill blocks of that type are F16, as llama.cpp's converter writes them.
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
	f, err := m.file()
	if err != nil {
		return err
	}
	entries := make([]Entry, len(f.parts))
	for i, t := range f.Tensors {
		entries[i] = Entry{t.Name, t.Shape, F32}
		general, _ := generalized(t.Name)
		if len(t.Shape) > 1 && t.Name != positionsName && general != routerName {
			entries[i].Type = m.Type
			if numbers, _ := m.Type.Block(); numbers > 0 && t.Shape[len(t.Shape)-1]%numbers > 0 {
				entries[i].Type = F16
			}
		}
	}
	return Write(w, f.Keys, entries, func(i int) (all []float32, err error) {
		for _, p := range f.parts[i] {
			x, err := p.values()
			if err == nil {
				x, err = p.file(x)
			}
			switch {
			case err != nil:
				return nil, err
			case len(f.parts[i]) == 1:
				return x, nil
			}
			all = append(all, x...)
		}
		return all, nil
	})
}

// Reread returns the config.json that [File.Folder] derives from the file of Write.
func (m Model) Reread() ([]byte, error) {
	m.Tokenizer = nil
	f, err := m.file()
	if err != nil {
		return nil, err
	}
	config, err := f.config(f.architecture)
	if err != nil {
		return nil, wrapf(err, "config.json")
	}
	data, err := json.Marshal(config)
	return data, errors.WithStack(err)
}

// written is a file that is to be written.
type written struct {
	File
	architecture architecture
	parts        [][]part // of each tensor: one, or the matrices of the experts in their order
}

// part is a tensor of a folder in the order of a file.
type part struct {
	view
	values func() ([]float32, error)
}

// file returns the keys and tensors of the file, without numbers, and how the tensors correspond to the model's.
func (m Model) file() (f written, err error) {
	var config object
	if err = field.Unmarshal(m.Config, &config); err != nil {
		return f, wrapf(err, "config.json")
	}
	a, err := architectureOf(fmt.Sprint(config["model_type"]), false, architecture.modelType)
	if err != nil {
		return f, wrapf(err, "config.json: model_type")
	}
	if config["tie_word_embeddings"] == true && a.head {
		return f, errorf("config.json: tie_word_embeddings: got true, want false: GGUF files of %s have a matrix "+
			"of the head", a.modelType())
	}
	f.architecture = a
	more, factors, err := a.scaling(config)
	if err != nil {
		return f, wrapf(err, "config.json")
	}
	f.Keys = append(a.write(config), more...)
	if m.Tokenizer != nil {
		rows, _ := config["vocab_size"].(float64)
		more, err := tokenizerKeys(m.Tokenizer, int(rows))
		if err != nil {
			return f, wrapf(err, "tokenizer.json")
		}
		for _, name := range []string{"bos_token_id", "eos_token_id"} {
			if id, ok := config[name].(float64); ok && id >= 0 {
				more = append(more, Key{tokenizerPrefix + name, OfInt(int(id))})
			}
		}
		if config["eos_token_id"] == nil {
			more = append(more, endless(more)...)
		}
		if more = append(more, Key{tokenizerPrefix + "add_bos_token", OfBool(m.Begin)}); m.Chat != "" {
			more = append(more, Key{tokenizerPrefix + "chat_template", OfText(m.Chat)})
		}
		f.Keys = append(f.Keys, more...)
	}
	if factors != nil {
		data, err := F32.Encode(nil, factors)
		if err != nil {
			return f, wrapf(err, "tensor %s", factorsName)
		}
		t := Tensor{Name: factorsName, Shape: []int{len(factors)}, Type: F32, data: data}
		f.Tensors = append(f.Tensors, t)
		f.parts = append(f.parts, []part{{view{Tensor: t}, func() ([]float32, error) { return factors, nil }}})
	}
	at := map[string]int{} // the index of a tensor with the matrices of experts
	for _, s := range m.Tensors {
		if err := f.add(s, at); err != nil {
			return f, wrapf(err, "tensor %.80q", s.Name)
		}
	}
	return f, nil
}

// add adds a folder's tensor.
func (f *written) add(s Source, at map[string]int) error {
	a := f.architecture
	general, numbers := generalized(s.Name)
	i := slices.IndexFunc(a.tensors, func(p pair) bool { return p.theirs == general })
	if i < 0 {
		return errors.Errorf("a %s has no such tensor", a.name)
	}
	whole, expert := a.tensors[i].file(numbers)
	v := view{Tensor: Tensor{Name: filled(a.tensors[i].ours, numbers), Shape: slices.Clone(s.Shape)}}
	if v.turn = a.turns(v.Tensor); v.turn {
		slices.Reverse(v.Shape)
	}
	v.from = f.order(a, v.Tensor) // the folder's row for each of the file's
	v.gain = a.gain(v.Tensor)
	p := part{v, s.Values}
	if expert < 0 {
		f.Tensors, f.parts = append(f.Tensors, v.Tensor), append(f.parts, []part{p})
		return nil
	}
	of, known := at[whole]
	if !known {
		of, at[whole] = len(f.Tensors), len(f.Tensors)
		f.Tensors = append(f.Tensors, Tensor{Name: whole, Shape: append([]int{0}, v.Shape...)})
		f.parts = append(f.parts, nil)
	}
	t := &f.Tensors[of]
	if expert != len(f.parts[of]) || !slices.Equal(v.Shape, t.Shape[1:]) {
		return errors.Errorf("got expert %d of shape %v, want expert %d of shape %v", expert, v.Shape,
			len(f.parts[of]), t.Shape[1:])
	}
	t.Shape[0]++
	f.parts[of] = append(f.parts[of], p)
	return nil
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
	rows := v.Shape[0]
	width := v.Len() / max(1, rows)
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
// model was opened or exported: config.json has only keys of its family.
func (a architecture) write(config object) []Key {
	keys := []Key{
		{architectureKey, OfText(a.name)}, {"general.name", OfText("model")},
		{"general.quantization_version", OfInt(2)},
	}
	for _, p := range a.keys {
		switch x := config[p.theirs].(type) { // null or absent: the default
		case bool:
			keys = append(keys, Key{a.name + "." + p.ours, OfBool(x)})
		case float64:
			v := OfFloat(x)
			if p.whole() {
				v = OfInt(int(x))
			}
			keys = append(keys, Key{a.name + "." + p.ours, v})
			if p.ours == "attention.key_length" {
				keys = append(keys, Key{a.name + ".attention.value_length", v})
			}
		}
	}
	for _, k := range a.fixed {
		keys = append(keys, Key{a.name + "." + k.Name, k.Value})
	}
	if a.columns || a.kind == "gpt_bigcode" { // without rotary positions
		return keys
	}
	rotated := a.headOf(config)
	if share, ok := config[a.share].(float64); ok {
		rotated = int(share * float64(rotated))
	}
	return append(keys, Key{a.name + ".rope.dimension_count", OfInt(rotated)})
}

// whole reports whether a key has whole numbers.
func (p pair) whole() bool {
	for _, word := range []string{"epsilon", "freq_base", "scale", "softcapping"} {
		if strings.Contains(p.ours, word) {
			return false
		}
	}
	return true
}
