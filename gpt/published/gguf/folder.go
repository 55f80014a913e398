package gguf

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
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

// matrix is a matrix of a file, each of whose rows computes one output.
type matrix struct {
	Tensor
	// output holds, for each row, the output that it computes: a row of the folder's matrix (out, in), or a column if
	// the folder has (in, out). nil stands for equal orders.
	output []int
}

// matrix returns the matrix of a file by its name in a folder.
func (f *File) matrix(name string) (m matrix, ok bool) {
	a, err := f.architecture()
	if err != nil {
		return m, false
	}
	if a.columns {
		name = strings.TrimPrefix(name, "transformer.") // optional in a folder with a GPT-2
	}
	general, numbers := generalized(name)
	for _, p := range a.tensors {
		if p.theirs != general {
			continue
		}
		whole, expert := p.file(numbers)
		for _, t := range f.Tensors {
			if t.Name == whole && expert >= 0 {
				t, ok = t.expert(expert)
			} else {
				ok = t.Name == whole
			}
			if ok && len(t.Shape) == 2 {
				return matrix{t, f.order(a, t)}, true
			}
		}
	}
	return m, false
}

// file returns the name in a file of a tensor with these numbers, and the number of the expert in it, or -1.
func (p pair) file(numbers []string) (name string, expert int) {
	name, expert = filled(p.ours, numbers), -1
	if before, rest, ok := strings.Cut(p.ours, "_exps.@"); ok && len(numbers) > 1 {
		expert, _ = strconv.Atoi(numbers[1])
		name = filled(before+"_exps"+rest, numbers)
	}
	return name, expert
}

// generalized returns a name with # for the number of a block and @ for the number of an expert, and both numbers.
func generalized(name string) (general string, numbers []string) {
	words := strings.Split(name, ".")
	for i, w := range words {
		if n, err := strconv.Atoi(w); err == nil && n >= 0 && strconv.Itoa(n) == w && len(numbers) < 2 {
			words[i] = []string{"#", "@"}[len(numbers)]
			numbers = append(numbers, w)
		}
	}
	return strings.Join(words, "."), numbers
}

// filled returns a generalized name with numbers in place of # and @.
func filled(general string, numbers []string) string {
	for i, n := range numbers {
		general = strings.Replace(general, []string{"#", "@"}[i], n, 1)
	}
	return general
}

// theirs returns the name in a folder of a tensor of a file.
func (a architecture) theirs(name string) (string, error) {
	general, numbers := generalized(name)
	theirs, ok := find(a.tensors, general)
	if !ok {
		return "", errors.Errorf("tensor %.80q: a %s has no such tensor", name, a.name)
	}
	return filled(theirs, numbers), nil
}

// expert returns the matrix of one expert from a tensor of all experts.
func (t Tensor) expert(i int) (one Tensor, ok bool) {
	if len(t.Shape) != 3 || i >= t.Shape[0] || len(t.data)%t.Shape[0] != 0 {
		return t, false
	}
	size := len(t.data) / t.Shape[0]
	before, _, _ := strings.Cut(t.Name, ".weight")
	t.Name, t.Shape = before+"."+strconv.Itoa(i)+".weight", t.Shape[1:]
	t.data = t.data[i*size : (i+1)*size : (i+1)*size]
	return t, true
}

// flat returns the tensors of a file, each matrix of an expert as a tensor of its own.
func (f *File) flat() (list []Tensor, err error) {
	for _, t := range f.Tensors {
		if len(t.Shape) != 3 || !strings.HasSuffix(t.Name, "_exps.weight") {
			list = append(list, t)
			continue
		}
		for i := range t.Shape[0] {
			one, ok := t.expert(i)
			if !ok || len(list) == maxTensors {
				return nil, errors.Errorf("tensor %.80q: got shape %v, want the matrices of at most %d experts",
					t.Name, t.Shape, maxTensors)
			}
			list = append(list, one)
		}
	}
	return list, nil
}

// order returns the row of a folder's matrix, or of its bias, for each row of a file's, or nil if they are the same. A
// rotation turns the features 2i and 2i+1 of a head in the file, and i and i + size/2 in the folder.
func (f *File) order(a architecture, t Tensor) []int {
	general, _ := generalized(t.Name)
	name, _, _ := strings.Cut(strings.TrimPrefix(general, "blk.#."), ".")
	heads := f.size(a, "attention.head_count")
	if groups := f.size(a, "attention.head_count_kv"); name == "attn_k" && groups > 0 {
		heads = groups
	}
	rows := t.Shape[0]
	if heads < 1 || heads > rows {
		return nil // the network will refuse the shape
	}
	switch rotated := name == "attn_q" || name == "attn_k"; {
	case a.split && name == "attn_qkv" && rows%(3*heads) == 0:
		list, size := make([]int, rows), rows/(3*heads)
		for i := range list {
			part, rest := i/(heads*size), i%(heads*size)
			list[i] = (rest/size*3+part)*size + rest%size
		}
		return list
	case !a.pairs || !rotated || rows%(2*heads) != 0:
		return nil
	}
	list, size := make([]int, rows), rows/heads
	for i := range list {
		head, at := i/size, i%size
		list[i] = head*size + at/2 + at%2*(size/2)
	}
	return list
}
