package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// beginning holds the model to tune, and both texts in its tokens.
type beginning struct {
	checkpoint *checkpoint.Checkpoint
	earlier    bool       // the checkpoint is the base of an earlier run in out_dir
	config     gpt.Config // of the network
	tokenizer  text.Tokenizer
	old, other text.Corpus
	names      [2]string // of the texts
}

// begin loads the checkpoint, or trains one, and reads the texts, after the flags have been checked.
func begin(ctx context.Context, c gpt.Config, o options, stderr io.Writer) (b beginning, err error) {
	if err := b.load(o.checkpoint, baseDir(c), stderr); err != nil {
		return b, err
	}
	if b.checkpoint != nil && !b.earlier && o.given["base_iters"] {
		return b, errors.Errorf("-base_iters: no base is trained, because there is checkpoint %s; leave the flag out",
			b.checkpoint.Path)
	}
	if err := cmp.Or(b.check(c, o), unused(c.OutDir)); err != nil {
		return b, err
	}
	source, err := corpus.Open(ctx, o.baseData, stderr)
	if err != nil {
		return b, err
	}
	other := corpus.Source{Text: corpus.Weather(1, 150_000), Name: "weather reports"}
	if o.data != "" {
		if other, err = corpus.Open(ctx, o.data, stderr); err != nil {
			return b, err
		}
	}
	if b.checkpoint == nil {
		fmt.Fprintf(stderr, "%s holds no checkpoint: training a model for %d steps on %s\n",
			o.checkpoint, o.baseIters, source.Name)
		if err := trainBase(ctx, c, o, source, other, stderr); err != nil {
			return b, err
		}
		if err := b.load(baseDir(c), "", stderr); err != nil {
			return b, err
		}
	}
	b.names = [2]string{other.Name, source.Name}
	if b.other, err = encode(other, b.tokenizer, b.config.BlockSize); err != nil {
		return b, err
	}
	b.old, err = encode(source, b.tokenizer, b.config.BlockSize)
	return b, err
}

// baseDir returns the directory of a base that is trained here.
func baseDir(c gpt.Config) string { return filepath.Join(c.OutDir, "base") }

// trainBase trains a base without adapters and saves it. Errors that would occur after the training are returned
// before it.
func trainBase(ctx context.Context, c gpt.Config, o options, source, other corpus.Source, stderr io.Writer) error {
	recipe, tuning := gpt.Shakespeare(), c
	c.LoraR, c.LoraAlpha, c.LoraTargets = 0, 0, nil
	c.MaxIters, c.LRDecayIters = o.baseIters, max(o.baseIters, c.WarmupIters+1)
	c.LearningRate, c.MinLR = recipe.LearningRate, recipe.MinLR
	t, err := base.New(ctx, c, source)
	if err != nil {
		return err
	}
	if _, err := encode(other, t.Tokenizer, c.BlockSize); err != nil {
		return err
	}
	if o.tokens > 0 {
		if _, err := base.Prompt(t.Tokenizer, o.prompt); err != nil {
			return err
		}
	}
	if tuning.VocabSize = t.Tokenizer.Size(); tuning.Validate() != nil {
		return tuning.Validate()
	}
	log := &program.Log{Bar: program.NewBar(stderr, "training the base", 0, c.MaxIters)}
	if err := base.Train(ctx, t, log); err != nil {
		return err
	}
	return t.Save(baseDir(c))
}

// encode returns the text in the base's tokens. Characters outside the base's vocabulary are an error that lists them.
func encode(source corpus.Source, tok text.Tokenizer, blockSize int) (text.Corpus, error) {
	var unknown []string
	seen := map[rune]bool{}
	for _, c := range source.Text {
		if seen[c] {
			continue
		}
		seen[c] = true
		if _, err := tok.Encode(string(c)); err != nil {
			unknown = append(unknown, fmt.Sprintf("%q", c))
		}
	}
	if len(unknown) > 0 {
		return nil, errors.Errorf("%s: %d characters are not in the base's vocabulary of %d: %s",
			source.Name, len(unknown), tok.Size(), strings.Join(unknown, " "))
	}
	return source.Encode(tok, blockSize)
}
