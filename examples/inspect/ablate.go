package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// ablate prints and draws the loss without each part.
func ablate(
	ctx context.Context, stdout, stderr io.Writer, o options,
	cp *checkpoint.Checkpoint, m *gpt.Model, tok text.Tokenizer,
) error {
	source, err := open(ctx, o.data, cp, stderr)
	if err != nil {
		return err
	}
	data, err := source.Encode(tok, m.Config.BlockSize)
	if err != nil {
		return err
	}
	s := corpus.Beginning{Split: data.Val(), Tokens: o.tokens}
	what, instead := "0", inspect.Zero
	if o.mean {
		what, instead = "its mean", inspect.Mean
	}
	loss, without, err := inspect.Ablate(ctx, m, s, places()[o.ablate], instead)
	if err != nil {
		return err
	}
	bytes, err := text.BytesPerToken(s, tok)
	if err != nil {
		return err
	}
	blocks := (s.Len() - 1) / m.Config.BlockSize
	fmt.Fprintf(stdout, "\nThe loss with %s in the place of each, over %s tokens of %s; "+
		"without changes, %.4f nats, %.4f bits per byte\n\n", what,
		program.Thousands(blocks*m.Config.BlockSize), source.Name, loss, text.BitsPerByte(loss, bytes))
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "without\tloss\tmore\tbits/byte")
	for _, a := range without {
		fmt.Fprintf(t, "%s\t%.4f\t%+.4f\t%.4f\n", part(a), a.Loss, program.Round(a.Loss-loss, 4),
			text.BitsPerByte(a.Loss, bytes))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	err = file.Replace(o.picture, func(w io.Writer) error { return drawAblation(w, loss, without) })
	if err == nil {
		_, err = fmt.Fprintf(stdout, "\nsaved %s\n", o.picture)
	}
	return err
}

// open returns the text at path, or by default that of the run.
func open(ctx context.Context, path string, cp *checkpoint.Checkpoint, stderr io.Writer) (corpus.Source, error) {
	if path != "" {
		return corpus.Open(ctx, path, stderr)
	}
	return corpus.Of(ctx, cp, stderr)
}

func part(a inspect.Ablation) string {
	if a.Head < 0 {
		return a.Place
	}
	return fmt.Sprintf("%s %d", a.Place, a.Head)
}
