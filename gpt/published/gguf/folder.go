package gguf

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/pkg/errors"
)

// The files of a folder.
const (
	configFile     = "config.json"
	tokenizerFile  = "tokenizer.json"
	generationFile = "generation_config.json"
	settingsFile   = "tokenizer_config.json"
	weightsFile    = "model.safetensors"
)

// Folder returns the files of the same model in the form of Hugging Face's folders, by name: config.json,
// tokenizer.json and tokenizer_config.json if the file has a tokenizer, generation_config.json and model.safetensors.
// The numbers of the last are float32, converted when they are read. A key or a tensor without a counterpart in a
// folder is an error, if it may change what the network computes.
func (f *File) Folder() (map[string]*io.SectionReader, error) {
	if f == nil {
		return nil, errorf("got no file (nil), want one of Open or Read")
	}
	a, err := f.architecture()
	if err != nil {
		return nil, wrapf(err, "folder")
	}
	config, err := f.config(a)
	if err != nil {
		return nil, wrapf(err, "folder")
	}
	ends, err := f.ends()
	if err != nil {
		return nil, wrapf(err, "folder")
	}
	tokenizer, err := f.tokenizer()
	if err != nil {
		return nil, wrapf(err, "folder")
	}
	settings, err := f.settings()
	if err != nil {
		return nil, wrapf(err, "folder")
	}
	files := map[string]*io.SectionReader{}
	put := func(name string, content any) {
		data, failed := json.Marshal(content)
		if failed != nil && err == nil {
			err = wrapf(failed, "folder: %s", name)
		}
		files[name] = io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
	}
	put(configFile, config)
	put(generationFile, object{"eos_token_id": append([]int{}, ends...)})
	if tokenizer != nil {
		put(tokenizerFile, tokenizer)
		put(settingsFile, settings)
	}
	if err != nil {
		return nil, err
	}
	w, err := f.weights(a)
	if err != nil {
		return nil, wrapf(err, "folder")
	}
	files[weightsFile] = io.NewSectionReader(w, 0, w.size)
	return files, nil
}

// matrix is a matrix of a file as the rows of one of a folder's.
type matrix struct {
	Tensor
	// output is the output, a row of the folder's matrix (out, in) or a column of one that is (in, out), that each row
	// of the file's computes. nil stands for the same order.
	output []int
}

// matrix returns the matrix of a file by its name in a folder.
func (f *File) matrix(name string) (m matrix, ok bool) {
	a, err := f.architecture()
	if err != nil {
		return m, false
	}
	name = strings.TrimPrefix(name, "transformer.") // optional in a folder with a GPT-2
	for _, t := range f.Tensors {
		if theirs, _ := a.theirs(t.Name); theirs == name && len(t.Shape) == 2 {
			return matrix{t, f.order(a, t)}, true
		}
	}
	return m, false
}

// theirs returns the name in a folder of a tensor of a file.
func (a architecture) theirs(name string) (string, error) {
	general, number := block(name, "blk.")
	theirs, ok := find(a.tensors, general)
	if !ok {
		return "", errors.Errorf("tensor %.80q: a %s has no such tensor", name, a.name)
	}
	return strings.ReplaceAll(theirs, "#", number), nil
}

// order returns the row of a folder's matrix for each row of a file's, or nil if they are the same. A rotation turns
// the features 2i and 2i+1 of a head in the file, and i and i + size/2 in the folder.
func (f *File) order(a architecture, t Tensor) []int {
	general, _ := block(t.Name, "blk.")
	name, _, _ := strings.Cut(strings.TrimPrefix(general, "blk.#."), ".")
	heads := f.size(a, "attention.head_count")
	if groups := f.size(a, "attention.head_count_kv"); name == "attn_k" && groups > 0 {
		heads = groups
	}
	if !a.pairs || name != "attn_q" && name != "attn_k" || heads < 1 || len(t.Shape) != 2 {
		return nil
	}
	list := make([]int, t.Shape[0])
	if len(list)%(2*heads) != 0 {
		return nil // the network will refuse its shape
	}
	size := len(list) / heads
	for i := range list {
		head, at := i/size, i%size
		list[i] = head*size + at/2 + at%2*(size/2)
	}
	return list
}
