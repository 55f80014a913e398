// Package folder contains what the examples on published models share: their folders and files, small ones with random
// weights, and how they write conversations.
package folder

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Kind returns the kind of models that are folders in Hugging Face's form, GGUF files or directories of runs. example
// names the program that trains such a model. It is empty if models come from elsewhere.
func Kind(example string) base.Kind {
	return base.Kind{Open: published.Load, Fit: published.Fits(), Example: example}
}

// ModelFlags adds -model and -adapter to the flags of a program.
func ModelFlags(fs *flag.FlagSet, model, adapter *string) {
	fs.StringVar(model, "model", *model, "folder in Hugging Face's form, GGUF file, or directory of a run; "+
		"by default a small folder with random weights")
	fs.StringVar(adapter, "adapter", *adapter, "folder of adapters in PEFT's form, to use with the model")
}

// Random returns a folder in the published form with a network like c and random weights, whose tokenizer of 512 tokens
// has the given special ones. It creates the folder under that name in the user's cache, or else in outDir, unless it
// exists.
func Random(name string, c gpt.Config, outDir string, stderr io.Writer, special ...string) (string, error) {
	dir := outDir
	if cache, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(cache, "pedestrian")
	}
	dir = filepath.Join(dir, name)
	made := func() bool {
		_, err := os.Stat(filepath.Join(dir, "config.json"))
		return err == nil
	}
	if made() {
		fmt.Fprintf(stderr, "no -model: using %s, which has random weights\n", dir)
		return dir, nil
	}
	s, _ := corpus.Standin(1, 100_000)
	tok, err := bpe.Train(s, 512, special...)
	if err != nil {
		return "", err
	}
	c.VocabSize = tok.Size()
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(stderr, "no -model: creating a small one with random weights, %s\n", dir)
	// Another process may make the same folder, and either may disturb the other once.
	for range 3 {
		err = published.Export(context.Background(), dir, m, tok, safetensors.F32, chat.Template{})
		if err == nil || made() {
			return dir, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", err
}

// Ends returns the tokens with which, according to its files, a model ends a text, and those with which published
// models end a turn.
func Ends(cp *checkpoint.Checkpoint, tok text.Tokenizer) (ids []int, err error) {
	ids, err = published.LoadEnds(cp)
	if named, ok := tok.(interface{ Special(string) (int, bool) }); ok {
		for _, name := range []string{
			"<|endoftext|>", "</s>", "<|im_end|>", "<|end_of_text|>", "<|eot_id|>", "<|end|>", "<end_of_turn>",
		} {
			if id, ok := named.Special(name); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids, err
}
