package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// ablation is the command ablate with its flags.
type ablation struct {
	subject
	parts string
	mean  bool
}

// runAblate is the command ablate.
func runAblate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o ablation
	fs := o.flags("ablate", stderr)
	fs.Group("ablation", "the loss without a part", func(fs *flag.FlagSet) {
		fs.StringVar(&o.parts, "parts", "heads", "the parts to leave out one by one: heads, attention or mlp, of "+
			"every block")
		fs.BoolVar(&o.mean, "mean", false, "replace a part by its mean over the text instead of 0")
		o.pictureFlag(fs, "ablation.png")
	})
	o.dataFlags(fs, "validation")
	fs.Old("ablate", "parts")
	if err := fs.Parse(args); err != nil {
		return err
	}
	err := cmp.Or(program.OneOf("-parts", o.parts, "heads", "attention", "mlp"),
		program.Want(o.tokens > 0, "-data_tokens", o.tokens, "at least 1"))
	if err != nil {
		return err
	}
	return o.open(stdout, stderr, func(w io.Writer) error { return o.ablate(ctx, w, stderr) })
}

// place returns the pattern of the activations of -parts.
func (o *ablation) place() string {
	return map[string]string{"heads": "h.*.attn.heads", "attention": "h.*.attn", "mlp": "h.*.mlp"}[o.parts]
}

// ablate prints and draws the loss without each part.
func (o *ablation) ablate(ctx context.Context, stdout, stderr io.Writer) error {
	m, tok := o.m, o.tok
	source, err := o.text(ctx, stderr)
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
	loss, without, err := inspect.Ablate(ctx, m, s, o.place(), instead)
	if err != nil {
		return err
	}
	bytes, err := text.BytesPerToken(s, tok)
	if err != nil {
		return err
	}
	blocks := (s.Len() - 1) / m.Config.BlockSize
	fmt.Fprintf(stdout, "The loss with %s in the place of each, over %s tokens of %s; "+
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

// text returns the text of -data, or by default the text of the run.
func (s *subject) text(ctx context.Context, stderr io.Writer) (corpus.Source, error) {
	if s.data != "" {
		return corpus.Open(ctx, s.data, stderr)
	}
	return corpus.Of(ctx, s.cp, stderr)
}

func part(a inspect.Ablation) string {
	if a.Head < 0 {
		return a.Place
	}
	return fmt.Sprintf("%s %d", a.Place, a.Head)
}
