package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pkg/errors"
)

// unit returns the word for a token of the tokenizer.
func unit(tok text.Tokenizer) string {
	if _, ok := tok.(*text.Characters); ok {
		return "character"
	}
	return "token"
}

// open returns the tokens to train on: of shards, or of a text with the tokenizer that -tokenizer names. A resumed run
// takes both from its checkpoint; another text in -data is an error.
func (o options) open(
	ctx context.Context, blockSize int, saved *checkpoint.Checkpoint, stderr io.Writer,
) (s corpus.Source, c text.Corpus, tok text.Tokenizer, err error) {
	s.Name = o.data
	if saved != nil && o.data == "" {
		s.Name = corpus.At(saved)
	}
	if _, missing := os.Stat(filepath.Join(s.Name, text.ShardsFile)); s.Name != "" && missing == nil {
		shards, err := text.OpenShards(s.Name)
		if err != nil {
			return s, nil, nil, err
		}
		err = cmp.Or(corpus.Same(s.Name, shards.SHA256(), saved), o.hasKind(shards.Tokenizer))
		return s, shards, shards.Tokenizer, err
	}
	if saved != nil && o.data == "" {
		s, err = corpus.Of(ctx, saved, stderr)
	} else {
		s, err = corpus.Open(ctx, o.data, stderr)
	}
	if err != nil {
		return s, nil, nil, err
	}
	if err := corpus.Same(s.Name, s.SHA256(), saved); err != nil {
		return s, nil, nil, err
	}
	if tok, err = o.tokenizerOf(s, saved); err != nil {
		return s, nil, nil, err
	}
	c, err = s.Encode(tok, blockSize)
	return s, c, tok, err
}

// tokenizerOf returns the tokenizer of a run: the checkpoint's, or one for the text.
func (o options) tokenizerOf(s corpus.Source, saved *checkpoint.Checkpoint) (text.Tokenizer, error) {
	if saved != nil {
		return base.Tokenizer(saved)
	}
	kind, err := text.KindOf(o.tokenizer, bpe.Kind())
	if err != nil {
		return nil, errors.Wrap(err, "-tokenizer")
	}
	return kind.New(s.Text)
}

// hasKind returns an error if -tokenizer names another kind than the given tokenizer's.
func (o options) hasKind(tok text.Tokenizer) error {
	var was text.Kind
	data, err := tok.MarshalJSON()
	if err == nil {
		was, err = text.KindIn(data)
	}
	name, size, sized := strings.Cut(o.tokenizer, ":")
	if err != nil || !o.given["tokenizer"] || name == was.Name && (!sized || size == strconv.Itoa(tok.Size())) {
		return err
	}
	if name == was.Name {
		return errors.Errorf("-tokenizer: got %s, want %s:%d as saved", o.tokenizer, name, tok.Size())
	}
	return errors.Errorf("-tokenizer: got %s, want %.80q as saved", o.tokenizer, was.Name)
}
