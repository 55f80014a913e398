package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pedestrian-ml/pedestrian/internal/structured"
	"github.com/pkg/errors"
)

// forms is the command forms with its flags.
type forms struct {
	subject
	settings structured.Settings
	given    map[string]bool // names of flags
}

// runForms is the command forms.
func runForms(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var o forms
	fs := o.flags("forms", stderr)
	fs.Group("forms", "the heads on the text beside the forms of Conti's chapter 3", func(fs *flag.FlagSet) {
		o.promptFlag(fs)
		o.pictureFlag(fs, "attention.png")
		fs.IntVar(&o.settings.Width, "width", 3,
			"half-width of the bands of Σ2, and rows of a group of Σ3; by default fewer for a short prompt")
		fs.IntVar(&o.settings.Tokens, "groups", 2, "groups in a matrix of Σ3; by default fewer for a very short prompt")
		fs.Float64Var(&o.settings.Drop, "drop", 0.3, "probability that an entry of a band is dropped")
		fs.Float64Var(&o.settings.Epsilon, "epsilon", 0.05, "largest error that is added to a draw")
		fs.Float64Var(&o.settings.Share, "share", 0.1, "probability that an entry has an error")
		fs.IntVar(&o.settings.Draws, "draws", 30, "draws from each set")
		fs.Uint64Var(&o.settings.Seed, "seed", 1337, "of the draws")
	})
	fs.Old("forms", "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o.given = fs.Given()
	return o.open(stdout, stderr, o.compare)
}

// shaped returns the settings for n tokens: for a small n, groups and rows without a flag are fewer.
func (o forms) shaped(n int) structured.Settings {
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

// compare draws the heads, and prints their distances from the prescribed forms.
func (o *forms) compare(w io.Writer) error {
	ids, err := o.ids()
	if err != nil {
		return err
	}
	layers, err := base.Weights(o.m, ids)
	if err != nil {
		return err
	}
	var tokens []string
	for _, id := range ids {
		tokens = append(tokens, shown(o.tok, id))
	}
	s := o.shaped(len(tokens))
	if err := s.Validate(len(tokens)); err != nil {
		return errors.Wrapf(err, "a prompt of %d tokens", len(tokens))
	}
	err = file.Replace(o.picture, func(w io.Writer) error { return paint(w, tokens, layers) })
	if err != nil {
		return err
	}
	if err := distances(w, layers, s); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nsaved %s\n", o.picture)
	return err
}

// distances prints the distance of every head from the sets of Conti, chapter 3, and from baselines that are
// independent of the model: zeros, the identity, equal weights (errata C12).
func distances(w io.Writer, layers []page.Layer, s structured.Settings) error {
	var heads [][][]float64
	var names []string
	for _, l := range layers {
		for h, a := range l.Heads {
			heads, names = append(heads, a), append(names, fmt.Sprintf("%s head %d", l.Name, h))
		}
	}
	rows, err := structured.Compare(heads, s)
	if err != nil {
		return err
	}
	n, each := len(heads[0]), len(rows)/len(heads)
	fmt.Fprintf(w, "|A − X| = Σ|a − x| over %d × %d weights, in brackets per entry; "+
		"the draws (+Ẽ) are the nearest of %d, width %d, %d groups, p %g\n\n",
		n, n, s.Draws, s.Width, s.Tokens, s.Drop)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "A")
	for _, r := range rows[:each] {
		fmt.Fprintf(t, "\t%s", r.Approximant)
	}
	fmt.Fprintln(t)
	worse := 0
	for h, name := range names {
		fmt.Fprint(t, name)
		drawn, zero := math.Inf(1), 0.0
		for i, r := range rows[h*each : (h+1)*each] {
			fmt.Fprintf(t, "\t%.1f (%.3f)", r.Distance, r.Mean)
			if i < 3 { // the three sets come first
				drawn = min(drawn, r.Distance)
			}
			if r.Approximant == "0" {
				zero = r.Distance
			}
		}
		if drawn > zero {
			worse++
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w,
		"\nfor %d of %d heads no draw is as near as the matrix of zeros, whose distance is %d for every A\n",
		worse, len(heads), n)
	return err
}
