package main

import (
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// load opens the newest checkpoint of a directory, or else of an earlier run's directory if one is given.
func (b *beginning) load(dir, earlier string, stderr io.Writer) (err error) {
	b.checkpoint, err = base.Decoder().Load(dir, stderr)
	if errors.Is(err, checkpoint.ErrNone) && earlier != "" {
		if b.checkpoint, err = base.Decoder().Load(earlier, stderr); errors.Is(err, checkpoint.ErrNone) {
			return nil
		}
		if b.earlier = err == nil; b.earlier {
			fmt.Fprintf(stderr, "%s holds no checkpoint: tuning %s from an earlier run\n", dir, b.checkpoint.Path)
		}
	}
	if err != nil {
		return err
	}
	m, tok, err := base.Open(graph.New(graph.Float32, 1), b.checkpoint, stderr)
	if err == nil {
		b.config, b.tokenizer = m.Config, tok
	}
	return err
}

// check returns the errors of the flags that do not depend on the texts.
func (b beginning) check(c gpt.Config, o options) error {
	if o.tokens > 0 && o.prompt == "" {
		return errors.New("-prompt: empty; give at least one character, such as a newline")
	}
	if b.checkpoint == nil {
		return base.Check(c)
	}
	c = b.tuning()
	if _, err := parse(&c, o.args, io.Discard); err != nil {
		return err
	}
	network := b.config.OnNetwork(c.Network)
	network.Dropout = b.config.Dropout
	if err := network.ResumeDiff(b.config); err != nil {
		return errors.Wrapf(err, "checkpoint %s is another network", b.checkpoint.Path)
	}
	return base.Check(c)
}

// tuning returns the recipe for the checkpoint's network.
func (b beginning) tuning() gpt.Config { return recipe().OnNetwork(b.config.Network) }
