package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// unit is what a token of the tokenizer is called.
func unit(tok text.Tokenizer) string {
	if _, ok := tok.(*text.Characters); ok {
		return "character"
	}
	return "token"
}

// open finds the tokens to train on: those of shards, or of a text by the tokenizer that -tokenizer names. A run that
// is resumed goes on with the stand-in if it began with it.
func (o options) open(
	ctx context.Context, blockSize int, saved *checkpoint.Checkpoint, stderr io.Writer,
) (s corpus.Source, c text.Corpus, tok text.Tokenizer, err error) {
	if _, missing := os.Stat(filepath.Join(o.data, text.ShardsFile)); o.data != "" && missing == nil {
		shards, err := text.OpenShards(o.data)
		if err != nil {
			return s, nil, nil, err
		}
		return corpus.Source{Name: o.data}, shards, shards.Tokenizer, nil
	}
	if o.data == "" && corpus.BeganOnStandin(saved) {
		s = corpus.Again(stderr)
	} else if s, err = corpus.Open(ctx, o.data, stderr); err != nil {
		return s, nil, nil, err
	}
	kind, err := text.KindOf(o.tokenizer)
	if err != nil {
		return s, nil, nil, errors.Wrap(err, "-tokenizer")
	}
	if tok, err = kind.New(s.Text); err != nil {
		return s, nil, nil, err
	}
	c, err = s.Encode(tok, blockSize)
	return s, c, tok, err
}
