package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
)

// patching is the command patch with its flags.
type patching struct {
	subject
	corrupt, right, wrong string
}

// runPatch is the command patch.
func runPatch(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var o patching
	fs := o.flags("patch", stderr)
	fs.Group("answer", "the texts and their answers", func(fs *flag.FlagSet) {
		o.promptFlag(fs)
		fs.StringVar(&o.corrupt, "corrupt", "", "text with the same number of tokens as -prompt and another answer")
		fs.StringVar(&o.right, "right", "", "token that answers the prompt")
		fs.StringVar(&o.wrong, "wrong", "", "another token, whose logit is subtracted from the logit of the right one")
		o.pictureFlag(fs, "patching.png")
	})
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.prompt == "" || o.corrupt == "" || o.right == "" || o.wrong == "" {
		return errors.New("-prompt, -corrupt, -right and -wrong: give all four")
	}
	return o.open(stdout, stderr, o.patch)
}

// patch prints and draws where the answer to the prompt comes from: the fraction that is restored when an activation
// of the corrupt text is replaced by the activation of the prompt.
func (o *patching) patch(w io.Writer) error {
	m, tok := o.m, o.tok
	q, err := question(o, tok)
	if err != nil {
		return err
	}
	e, err := inspect.Patch(m, q, "h.*", "h.*.attn.heads", "h.*.mlp")
	if err != nil {
		return err
	}
	slopes, err := inspect.PatchGradient(m, q, "h.*", "h.*.attn.heads", "h.*.mlp")
	if err != nil {
		return err
	}
	all := e.Clean - e.Corrupt
	fmt.Fprintf(w, "The logit of %s minus the logit of %s is %.4f after %q, and %.4f after %q. "+
		"The fraction of the difference, in %%,\n"+
		"that is restored when one activation of the second text is replaced by the first text's\n\n",
		quoted(tok, q.Right), quoted(tok, q.Wrong), e.Clean, o.prompt, e.Corrupt, o.corrupt)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, id := range q.Clean {
		fmt.Fprintf(t, "\t%s", quoted(tok, id))
	}
	fmt.Fprintln(t, "\t")
	var exact, first []float64
	for i, one := range e.All {
		fmt.Fprint(t, placed(one))
		for token, by := range one.By {
			fmt.Fprintf(t, "\t%.0f", program.Round(100*by/all, 0))
			exact, first = append(exact, by), append(first, slopes.All[i].By[token])
		}
		fmt.Fprintln(t, "\t")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nby one backward pass, to first order, the same with a correlation of %.3f\n",
		stat.Correlation(exact, first, nil))
	err = file.Replace(o.picture, func(w io.Writer) error { return back(e, tokens(tok, q.Clean)).sheet().Encode(w) })
	if err == nil {
		_, err = fmt.Fprintf(w, "\nsaved %s\n", o.picture)
	}
	return err
}

// question returns the question that the flags describe.
func question(o *patching, tok text.Tokenizer) (q inspect.Question, err error) {
	one := func(flag, token string) int {
		ids, failed := tok.Encode(token)
		if failed == nil && len(ids) != 1 {
			failed = errors.Errorf("got %d tokens, want one", len(ids))
		}
		if failed != nil {
			err = errors.Wrap(failed, flag)
			return 0
		}
		return ids[0]
	}
	if q.Clean, err = base.Prompt(tok, o.prompt); err != nil {
		return q, err
	}
	if q.Corrupt, err = tok.Encode(o.corrupt); err != nil {
		return q, errors.Wrap(err, "-corrupt")
	}
	q.Right, q.Wrong = one("-right", o.right), one("-wrong", o.wrong)
	return q, err
}

func tokens(tok text.Tokenizer, ids []int) (list []string) {
	for _, id := range ids {
		list = append(list, quoted(tok, id))
	}
	return list
}

func placed(e inspect.Effect) string {
	if e.Head < 0 {
		return e.Place
	}
	return fmt.Sprintf("%s %d", e.Place, e.Head)
}
