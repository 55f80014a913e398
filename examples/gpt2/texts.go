package main

import (
	"context"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// texts returns the tokens of -tune's file: of a text, or of pairs of prompts and answers.
func (o options) texts(
	ctx context.Context, cp *checkpoint.Checkpoint, tok text.Tokenizer, stderr io.Writer,
) (c text.Corpus, name string, err error) {
	size, err := o.context(cp)
	if err != nil {
		return nil, "", err
	}
	if !strings.HasSuffix(o.tune, ".jsonl") {
		source, err := corpus.Open(ctx, o.tune, stderr)
		if err != nil {
			return nil, "", err
		}
		c, err = source.Encode(tok, size)
		return c, source.Name, err
	}
	template, err := gpt.LoadTemplate(cp)
	if err != nil {
		return nil, "", err
	}
	c, err = text.LoadAnswers(o.tune, tok, template, size)
	return c, o.tune, err
}

// context returns the given block_size, or else the folder's.
func (o options) context(cp *checkpoint.Checkpoint) (int, error) {
	if o.config.BlockSize > 0 {
		return o.config.BlockSize, nil
	}
	settings, err := cp.File("config.json")
	if err != nil {
		return 0, err
	}
	c, err := gpt.FromHuggingFace(settings)
	return c.BlockSize, err
}
