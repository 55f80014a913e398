package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
)

// runLook is the command look.
func runLook(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var o looking
	fs := o.flags("look", stderr)
	fs.Group("text", "the text", func(fs *flag.FlagSet) {
		o.promptFlag(fs)
		fs.StringVar(&o.page, "page", "inside.html", "file for the page")
	})
	if err := fs.Parse(args); err != nil {
		return err
	}
	return o.open(stdout, stderr, o.print)
}

// looking is the command look with its flags.
type looking struct {
	subject
	page string
}

// ids returns the tokens of the prompt.
func (s *subject) ids() ([]int, error) {
	ids, err := base.Prompt(s.tok, s.prompt)
	if err != nil {
		return nil, err
	}
	if n := len(ids); n > s.m.Config.BlockSize {
		return nil, errors.Errorf("-prompt: got %d tokens, want at most block_size, %d", n, s.m.Config.BlockSize)
	}
	return ids, nil
}

// print prints the logit lens, the heads' scores and the states of recurrences on a text, and writes a page of them.
func (o *looking) print(w io.Writer) error {
	m, tok := o.m, o.tok
	ids, err := o.ids()
	if err != nil {
		return err
	}
	lens, err := inspect.LogitLens(m, ids)
	if err != nil {
		return err
	}
	if err := guesses(w, tok, ids, lens); err != nil {
		return err
	}
	layers, err := base.Weights(m, ids)
	if err != nil {
		fmt.Fprintf(w, "\nattention %q has no weights to score\n", m.Config.Attention)
	} else if err := heads(w, layers, ids); err != nil {
		return err
	}
	held, err := base.States(m, ids)
	if err == nil && len(held) > 0 {
		err = states(w, held)
	}
	if err != nil {
		return err
	}
	p, err := inside(title(o.dir, o.cp), m, tok, ids, lens)
	if err != nil {
		return err
	}
	p.States = held
	if n := m.Config.NLayer * m.Config.NHead; n*len(ids)*len(ids) <= most {
		p.Layers = layers
	} else {
		fmt.Fprintf(w, "\nattention is not in the page: the weights of %d heads on %d tokens are more than %s\n",
			n, len(ids), program.Thousands(most))
	}
	if p.Sum, err = sum(m, tok, ids, lens); err != nil {
		fmt.Fprintf(w, "\nthe sum of a logit is not in the page: %v\n", err)
	}
	if err = file.Replace(o.page, p.Write); err == nil {
		_, err = fmt.Fprintf(w, "\nsaved %s, a page for a browser\n", o.page)
	}
	return err
}

// most is the largest number of attention weights in a page; they take about 20 MB.
const most = 4_000_000

// guesses prints the logit lens.
func guesses(w io.Writer, tok text.Tokenizer, ids []int, lens inspect.Lens) error {
	fmt.Fprint(w, "The likeliest next token after each block, and the loss of the actual one, in nats\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "token")
	for block := range lens {
		fmt.Fprintf(t, "\th.%d", block)
	}
	for i, id := range ids {
		fmt.Fprintf(t, "\n%s", quoted(tok, id))
		for block := range lens {
			fmt.Fprintf(t, "\t%s", quoted(tok, lens.Likeliest(block, i, 1)[0]))
			if i+1 < len(ids) {
				fmt.Fprintf(t, " %.2f", program.Round(lens.Loss(block, i, ids[i+1]), 2))
			}
		}
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil || len(ids) < 2 {
		return err
	}
	said, err := loss(tok, ids, lens)
	if err == nil {
		_, err = fmt.Fprintf(w, "\nThe loss of the text: %s\n", said)
	}
	return err
}

// loss returns the mean loss of the tokens after the first, in nats and in bits per byte.
func loss(tok text.Tokenizer, ids []int, lens inspect.Lens) (string, error) {
	mean := 0.0
	for i, next := range ids[1:] {
		mean += lens.Loss(len(lens)-1, i, next) / float64(len(ids)-1)
	}
	bytes, err := text.BytesPerToken(text.Tokens(ids[1:]), tok)
	return fmt.Sprintf("%.4f nats per token, %.4f bits per byte", mean, text.BitsPerByte(mean, bytes)), err
}

// heads prints the scores of the heads.
func heads(w io.Writer, layers []page.Layer, ids []int) error {
	fmt.Fprint(w, "\nThe scores of the heads: entropy in nats; the weight of the token before; "+
		"the weight of the token that followed the same token earlier (induction)\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "head\tentropy\tprevious\tinduction")
	for _, l := range layers {
		x := graph.Tensor{Shape: []int{1, len(l.Heads), len(ids), len(ids)}}
		for _, rows := range l.Heads {
			x.F64 = append(x.F64, slices.Concat(rows...)...)
		}
		scores, err := inspect.HeadScores(x, ids)
		if err != nil {
			return err
		}
		for h, s := range scores {
			fmt.Fprintf(t, "%s.%d\t%.2f\t%s\t%s\n",
				l.Name, h, program.Round(s.Entropy, 2), number(s.Previous), number(s.Induction))
		}
	}
	return t.Flush()
}

// states prints the gates and states of the recurrent heads.
func states(w io.Writer, list []page.State) error {
	fmt.Fprint(w, "\nThe states of the heads: the share α that a token keeps and the factor β by which it writes, "+
		"if there are such gates;\nthe norm of the state; means over the text, and the norm after the last token\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "head\tα\tβ\tnorm\tlast norm")
	for _, s := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3g\t%.3g\n",
			s.Name, gate(s.Alpha), gate(s.Beta), stat.Mean(s.Norm, nil), s.Norm[len(s.Norm)-1])
	}
	return t.Flush()
}

// gate formats the mean of the values of a gate. It returns a dash for a head without that gate.
func gate(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", stat.Mean(values, nil))
}

// number returns x as text, or a dash if it is NaN.
func number(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.3f", x)
}

// quoted returns a token with all characters visible, or its id if it is outside the vocabulary.
func quoted(tok text.Tokenizer, id int) string {
	s, err := tok.Decode([]int{id})
	if err != nil {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%q", s)
}
