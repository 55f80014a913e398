package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// openAt opens a folder with a context of blockSize tokens; 0 means its own.
func openAt(dir string, blockSize int) (*gpt.Model, text.Tokenizer, error) {
	if blockSize == 0 {
		return gpt.Open(dir)
	}
	return gpt.OpenCropped(dir, blockSize)
}

// export writes a folder in the published form.
func export(m *gpt.Model, tok text.Tokenizer, dir string) error {
	return m.Export(dir, tok, safetensors.F32)
}

// exportable returns an error if no published family has such a network. It is called before a training, not after it.
func exportable(c gpt.Config) error {
	c.VocabSize = max(c.VocabSize, 1) // 0 means that of the text
	_, err := c.Family()
	return err
}

// save writes a folder in the published form, or in our own if no published family has such a network.
func save(m *gpt.Model, tok text.Tokenizer, dir string) error {
	if exportable(m.Config) == nil {
		return export(m, tok, dir)
	}
	files, err := m.Files(tok)
	if err != nil {
		return err
	}
	return checkpoint.WriteFolder(dir, files)
}

// random returns a small folder in the published form, with random weights. It creates it in the user's cache, or else
// in out_dir, unless it exists.
func random(outDir string, stderr io.Writer) (string, error) {
	dir := outDir
	if cache, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(cache, "pedestrian")
	}
	dir = filepath.Join(dir, "random-gpt2")
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		fmt.Fprintf(stderr, "no -model: using %s, which has random weights\n", dir)
		return dir, nil
	}
	s, _ := corpus.Standin(1, 100_000)
	tok, err := bpe.Train(s, 512, endOfText)
	if err != nil {
		return "", err
	}
	c := small()
	c.Activation = "gelu_tanh"
	c.NLayer, c.NEmbd, c.BlockSize, c.VocabSize = 2, 64, 64, tok.Size()
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(stderr, "no -model: creating a small one with random weights, %s\n", dir)
	return dir, export(m, tok, dir)
}

// vacant returns an error if the directory is not empty.
func vacant(dir string) error {
	list, err := os.ReadDir(dir)
	if err == nil && len(list) > 0 {
		return errors.Errorf("out_dir: %s holds %s already, want an empty directory, or none", dir, list[0].Name())
	}
	return nil
}
