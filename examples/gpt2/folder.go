package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// openAt opens a folder with a context of blockSize tokens; 0 means its own.
func openAt(dir string, blockSize int) (*gpt.Model, text.Tokenizer, error) {
	if blockSize == 0 {
		return published.Open(dir)
	}
	return published.OpenCropped(dir, blockSize)
}

// exportFlags adds the flags of the command export.
func (o *options) exportFlags(fs *program.FlagSet) {
	o.modelFlags(fs, true)
	fs.Group("output", "the output", func(fs *flag.FlagSet) {
		fs.StringVar(&o.export, "out_dir", "",
			"folder in Hugging Face's form to write, or GGUF file, whose name ends in .gguf")
		fs.StringVar(&o.dtype, "dtype", safetensors.F32, "type of the matrices: F32, F16, BF16, Q8_0 or Q4_0; of a "+
			"folder F32 or BF16")
	})
	fs.Old("export", "out_dir")
}

// dtypes lists the types of the matrices of an export.
func dtypes() []string { return []string{"F32", "F16", "BF16", "Q8_0", "Q4_0"} }

// convert writes the model, with its adapter merged, to another file or folder.
func convert(ctx context.Context, o options, stdout, stderr io.Writer) error {
	s, err := o.source(stderr)
	if err != nil {
		return err
	}
	defer s.Checkpoint.Close()
	m, err := s.merged(o)
	if err != nil {
		return err
	}
	program.Doing(stderr, "writing "+o.export)
	if err := published.Export(ctx, o.export, m, s.tok, o.dtype, s.template); err != nil {
		return err
	}
	odd, err := oddMatrices(o.export, o.dtype)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "saved %s to %s, with matrices of %s%s\n", o.model, o.export, o.dtype, odd)
	tokenizer := filepath.Join(o.export, "tokenizer.json")
	if _, err := os.Stat(tokenizer); err != nil && !strings.HasSuffix(o.export, ".gguf") {
		fmt.Fprintf(stdout, "without %s, which other programs read: there is none for this kind of tokenizer\n",
			tokenizer)
	}
	return nil
}

// oddMatrices says which matrices of a GGUF file are F16 because their rows do not fill the blocks of its type.
func oddMatrices(path, dtype string) (string, error) {
	if !strings.HasSuffix(path, ".gguf") || !strings.HasPrefix(dtype, "Q") {
		return "", nil
	}
	f, err := gguf.Open(path)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range f.Tensors {
		if t.Type == gguf.F16 {
			names = append(names, t.Name)
		}
	}
	if names == nil {
		return "", nil
	}
	return fmt.Sprintf("; %d matrices, such as %s, are F16, because %s packs blocks of 32 numbers",
		len(names), names[0], dtype), nil
}

// exportable returns an error if no published family has such a network. It is called before a training, not after it.
func exportable(c gpt.Config) error {
	c.VocabSize = max(c.VocabSize, 1) // 0 means the text's
	_, err := published.ModelType(c)
	return err
}

// save writes a folder in the published form, or in our own if no published family has such a network.
func save(m *gpt.Model, tok text.Tokenizer, dir string, t chat.Template) error {
	if exportable(m.Config) == nil {
		return published.Export(context.Background(), dir, m, tok, safetensors.F32, t)
	}
	files, err := m.Files(tok)
	if err != nil {
		return err
	}
	return checkpoint.WriteFolder(dir, files)
}

// random returns a small GPT-2 with random weights, as folder.Random does.
func random(outDir string, stderr io.Writer) (string, error) {
	c := small()
	c.NLayer, c.NEmbd, c.BlockSize = 2, 64, 64
	return folder.Random("random-gpt2", c, outDir, stderr, endOfText)
}

// vacant returns an error if the directory is not empty. Files of the given names do not count, nor do their temporary
// files, which a killed process leaves.
func vacant(dir string, except ...string) error {
	list, err := os.ReadDir(dir)
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		return slices.ContainsFunc(except, func(name string) bool {
			return e.Name() == name || file.IsTemporary(e.Name(), name)
		})
	})
	if err == nil && len(list) > 0 {
		return errors.Errorf("out_dir: %s holds %s already, want an empty directory, or none", dir, list[0].Name())
	}
	return nil
}

// vacantForRun returns an error if a new training cannot use the directory. What one has left that was killed before
// its first checkpoint does not count.
func vacantForRun(dir string) error {
	if err := base.Vacant(filepath.Join(dir, checkpointsDir)); err != nil {
		return err
	}
	return vacant(dir, checkpointsDir, program.MetricsFile, lossFile)
}
