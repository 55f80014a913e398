package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// small returns a GPT-2 of a laptop's size: nanoGPT's recipe for characters, with GPT-2's biases and GELU, with which
// other programs read it.
func small() gpt.Config {
	c := gpt.Shakespeare()
	c.Bias, c.Activation = true, "gelu_tanh"
	return c
}

// trainFlags adds the flags of the command train.
func (o *options) trainFlags(fs *program.FlagSet) {
	o.dataFlag(fs, "text to train on")
	fs.Group("data", "", func(fs *flag.FlagSet) {
		fs.StringVar(&o.tokenizer, "tokenizer", "train:1024",
			"a folder that has one, or train:N to learn one of N tokens from the text")
		base.PresetFlag(fs, &o.preset)
	})
	o.configFlags(fs, func(name string) bool { return !slices.Contains(adapters(), name) })
	fs.Often("data tokenizer preset n_layer n_head n_embd block_size attention position norm optimizer batch_size " +
		"max_iters learning_rate eval_interval patience ema seed threads out_dir resume")
}

// scratch trains a model from random weights, and saves a folder.
func scratch(ctx context.Context, o options, from resumed, stdout, stderr io.Writer) error {
	if err := exportable(o.config); err != nil {
		fmt.Fprintf(stderr, "the folder will be one that only this library reads: %v\n", err)
	}
	source, err := corpus.Open(ctx, o.data, stderr)
	if err != nil {
		return err
	}
	var tok text.Tokenizer
	if from.saved != nil {
		tok, err = published.LoadTokenizer(from.saved)
	} else {
		tok, err = tokenizer(o.tokenizer, source.Text)
		err = errors.Wrap(err, "-tokenizer")
	}
	if err != nil {
		return err
	}
	data, err := source.Encode(tok, o.config.BlockSize)
	if err != nil {
		return err
	}
	t, err := gpt.NewTrainer(o.config, data, tok)
	if err != nil {
		return err
	}
	what := objective{
		files: t.Files, restore: t.Restore,
		store: func(m *gpt.Model, dir string) error { return save(m, tok, dir, chat.Template{}) },
	}
	return onText(ctx, o, t, what, source.Name, from, stdout, stderr)
}

// tokenizer returns the tokenizer of a folder, or for train:N one of N tokens that it learns from the text.
func tokenizer(from, s string) (text.Tokenizer, error) {
	if size, ok := strings.CutPrefix(from, "train:"); ok {
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, errors.Errorf("got %.64q tokens, want a number", size)
		}
		return bpe.Train(s, n, endOfText)
	}
	data, err := file.Read(filepath.Join(from, "tokenizer.json"), checkpoint.MaxFile)
	if err == nil {
		tok, err := text.Open(data, bpe.Kind())
		return tok, errors.Wrap(err, filepath.Join(from, "tokenizer.json"))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files [2][]byte
	// The second names are OpenAI's.
	for i, names := range [][2]string{{"vocab.json", "encoder.json"}, {"merges.txt", "vocab.bpe"}} {
		for _, name := range names {
			files[i], err = file.Read(filepath.Join(from, name), checkpoint.MaxFile)
			if !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Errorf("%s: got neither tokenizer.json nor %s, "+
				"want a folder with a tokenizer, or train:N", from, names[0])
		}
		if err != nil {
			return nil, err
		}
	}
	tok, err := bpe.ReadGPT2(files[0], files[1])
	return tok, errors.Wrap(err, from)
}
