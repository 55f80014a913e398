package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// inquiry is a verdict, or a board of verdicts, that the user asks for.
type inquiry struct {
	name  string // the changes of the idea
	parts string // of a board
	data  string
	verdict.Protocol
	asJSON bool
	report bool // of a board: trains nothing
}

// newInquiry reads the flags of the command verdict or board.
func newInquiry(command string, args []string, stderr io.Writer) (*inquiry, error) {
	q := &inquiry{Protocol: verdict.Protocol{Dir: "out/" + command}}
	fs := program.Flags("lab "+command, stderr)
	fs.Group(command, "what is asked, and how much time there is", func(fs *flag.FlagSet) {
		if command == "verdict" {
			fs.StringVar(&q.name, "verdict", "", `idea, such as "attention=gated_deltanet" or "norm=dyt,block=post"`)
			fs.BoolVar(&q.asJSON, "json", false, "print the certificate instead of sentences")
		} else {
			fs.StringVar(&q.parts, "parts", "all", `parts, such as "attention,norm", or single ones, such as "rope"`)
			fs.BoolVar(&q.report, "report", false, "only print the verdicts in out_dir")
		}
		fs.StringVar(&q.data, "data", "", "text file to train on; by default tinyshakespeare, downloaded once")
		q.Flags(fs)
	})
	often := "verdict data out_dir minutes steps quick json"
	if command == "board" {
		often = "parts report data out_dir minutes steps quick"
	}
	fs.Often(often)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return q, cmp.Or(
		program.Want(q.Minutes > 0 && q.Minutes <= 1e5, "minutes", q.Minutes, "more than 0, at most 100000"),
		program.Want(q.Plan.Steps >= 0 && q.Plan.Steps <= 1e6, "steps", q.Plan.Steps, "0 to 1000000"),
		program.Want(q.Jobs >= 0 && q.Jobs <= 4096, "jobs", q.Jobs, "0 to 4096"),
		program.Want(q.Dir != "", "out_dir", `""`, "a directory"),
		program.Want(command == "board" || q.name != "", "verdict", `""`, "an idea such as attention=gated_deltanet"),
	)
}

// read reads the text.
func (q *inquiry) read(ctx context.Context, stderr io.Writer) error {
	o := options{tokenizer: text.Kinds()[0].Name, base: verdict.Baseline()}
	if q.data != "" {
		o.data = list{q.data}
	}
	all, err := o.texts(ctx, stderr)
	if err == nil {
		q.Text = all[0]
	}
	return err
}

// judge asks for a verdict, with its progress on stderr.
func (q *inquiry) judge(ctx context.Context, idea lab.Arm, stderr io.Writer) (*verdict.Report, error) {
	const parts = 1000
	bar := program.NewBar(stderr, idea.Name, 0, parts)
	defer bar.Close()
	p := q.Protocol
	p.Watch = func(now verdict.Progress) { bar.Draw(int(now.Share*parts), now.Stage) }
	r, err := verdict.Judge(ctx, verdict.Idea{Arm: idea}, p)
	if ctx.Err() != nil {
		fmt.Fprintf(stderr, "interrupted: the trials are saved in %s; the same command continues\n", q.Dir)
		return nil, context.Cause(ctx)
	}
	return r, err
}

// judgeIdea prints a verdict on an idea.
func judgeIdea(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	q, err := newInquiry("verdict", args, stderr)
	if err != nil {
		return err
	}
	if err := q.read(ctx, stderr); err != nil {
		return err
	}
	r, err := q.judge(ctx, lab.Arms(strings.ReplaceAll(q.name, " ", ""))[0], stderr)
	if err != nil {
		return err
	}
	return program.Printed(stdout, func(w io.Writer) error {
		if q.asJSON {
			e := json.NewEncoder(w)
			e.SetIndent("", "\t")
			return e.Encode(r)
		}
		_, err := fmt.Fprintf(w, "%v\n%s has report.md, page.html and verdict.json\nSHA-256 of the %d trials: %s\n", r,
			verdict.Folder(q.Dir, r.Idea), r.Trials, r.SHA256)
		return err
	})
}
