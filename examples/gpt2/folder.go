package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// openAt opens a folder with a context of so many tokens; 0 is its own.
func openAt(dir string, blockSize int) (*gpt.Model, text.Tokenizer, error) {
	if blockSize == 0 {
		return gpt.Open(dir)
	}
	return gpt.OpenCropped(dir, blockSize)
}

// export writes a folder as others publish them.
func export(m *gpt.Model, tok text.Tokenizer, dir string) error {
	return m.Export(dir, tok, safetensors.F32)
}

// exportable returns an error if no published family has such a network: to be told before a training, not behind it.
func exportable(c gpt.Config) error {
	c.VocabSize = max(c.VocabSize, 1) // 0 is from the text
	_, err := c.Family()
	return err
}

// random returns a small folder in the published form, with random weights: it is made if it is not there yet, in the
// user's cache, or else in out_dir.
func random(outDir string, stderr io.Writer) (string, error) {
	dir := outDir
	if cache, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(cache, "pedestrian")
	}
	dir = filepath.Join(dir, "random-gpt2")
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		fmt.Fprintf(stderr, "no -model: taking %s, whose weights are random\n", dir)
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
	fmt.Fprintf(stderr, "no -model: making a small one of random weights, %s\n", dir)
	return dir, export(m, tok, dir)
}

// vacant refuses a directory that holds something already.
func vacant(dir string) error {
	list, err := os.ReadDir(dir)
	if err == nil && len(list) > 0 {
		return errors.Errorf("out_dir: %s holds %s already, want an empty directory, or none", dir, list[0].Name())
	}
	return nil
}
