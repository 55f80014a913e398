// Attention shows which token attends to which: the weights of every head of a trained model on a piece of text, as a
// picture and as an interactive page. It also measures how near each head is to the prescribed forms of Conti, chapter
// 3.
//
//	go run ./examples/attention                                     # the model in out/, or a briefly trained one
//	go run ./examples/attention -prompt "To be or not to"           # another text; at most block_size characters
//	go run ./examples/attention -checkpoint none -position alibi    # another network, trained for the same time
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/structured"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

func main() { program.Main("attention", run) }

// recipe returns the training that is used if there is no checkpoint.
func recipe() gpt.Config {
	c := gpt.Shakespeare()
	c.NLayer, c.MaxIters, c.LRDecayIters, c.WarmupIters, c.OutDir = 3, 400, 400, 20, "out/attention"
	return c
}

// options holds the flags that are not the Config's.
type options struct {
	checkpoint, data, prompt string
	settings                 structured.Settings
	given                    map[string]bool // names of flags
}

// forms returns the settings for a prompt of n characters: for a small n, groups and rows without a flag are fewer.
func (o options) forms(n int) structured.Settings {
	s := o.settings
	if !o.given["groups"] {
		s.Tokens = min(s.Tokens, n)
		if o.given["width"] {
			s.Tokens = min(s.Tokens, n/max(1, s.Width))
		}
	}
	if !o.given["width"] {
		s.Width = max(1, min(s.Width, n/max(1, s.Tokens)))
	}
	return s
}

// parse reads the flags into c and o.
func parse(c *gpt.Config, args []string, stderr io.Writer) (o options, err error) {
	fs := program.Flags("attention", stderr)
	program.Group(fs, "The network and its training, if there is no checkpoint", c.Flags,
		"eval_interval", "eval_iters", "log_interval")
	program.Group(fs, "The model and the text", func(fs *flag.FlagSet) {
		fs.StringVar(&o.checkpoint, "checkpoint", "out",
			"directory of a trained model; if there is none in it, one is trained briefly")
		fs.StringVar(&o.data, "data", "", "text to train on, and to take the prompt from; by default tinyshakespeare")
		fs.StringVar(&o.prompt, "prompt", "",
			"text to analyse; by default the beginning of a speech that the model was not trained on")
	})
	program.Group(fs, "The prescribed forms that heads are compared with", func(fs *flag.FlagSet) {
		fs.IntVar(&o.settings.Width, "width", 3,
			"half-width of the bands of Σ2, and rows of a group of Σ3; by default fewer for a short prompt")
		fs.IntVar(&o.settings.Tokens, "groups", 2, "groups in a matrix of Σ3; by default fewer for a very short prompt")
		fs.Float64Var(&o.settings.Drop, "drop", 0.3, "probability that an entry of a band is dropped")
		fs.Float64Var(&o.settings.Epsilon, "epsilon", 0.05, "largest error that is added to a draw")
		fs.Float64Var(&o.settings.Share, "share", 0.1, "probability that an entry has an error")
		fs.IntVar(&o.settings.Draws, "draws", 30, "draws from each set")
	})
	if err := program.Parse(fs, args); err != nil {
		return o, err
	}
	o.settings.Seed = c.Seed
	n := min(promptSize, c.BlockSize)
	if o.prompt != "" {
		n = utf8.RuneCountInString(o.prompt)
	}
	o.given = program.Given(fs)
	return o, errors.Wrapf(o.forms(n).Validate(n), "a prompt of %d characters", n)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := recipe()
	o, err := parse(&c, args, stderr)
	if err != nil {
		return err
	}
	source := sync.OnceValues(func() (corpus.Source, error) { return corpus.Open(ctx, o.data, stderr) })
	m, tok, err := model(ctx, c, o, args, source, stderr)
	if err != nil {
		return err
	}
	ids, err := o.promptIDs(m, tok, source)
	if err != nil {
		return err
	}
	layers, err := base.Weights(m, ids)
	if err != nil {
		return err
	}
	tokens := make([]string, len(ids))
	for i, id := range ids {
		if tokens[i], err = tok.Decode([]int{id}); err != nil {
			return err
		}
	}
	about := fmt.Sprintf("Attention %s, position %s.", m.Config.Attention, m.Config.Position)
	html := page.Inside{Title: "Which token attends to which", About: about, Tokens: tokens, Layers: layers}
	picture, sheet := filepath.Join(c.OutDir, "attention.png"), filepath.Join(c.OutDir, "attention.html")
	if err := os.MkdirAll(c.OutDir, 0o755); err != nil {
		return err
	}
	if err := file.Replace(picture, func(w io.Writer) error { return paint(w, tokens, layers) }); err != nil {
		return err
	}
	if err := file.Replace(sheet, func(w io.Writer) error { return html.Write(w) }); err != nil {
		return err
	}
	// The table comes last: the files exist even if the output is not read.
	if err := table(stdout, layers, o.forms(len(ids))); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nsaved %s and %s, an interactive page of the heads and tokens\n", picture, sheet)
	return nil
}
