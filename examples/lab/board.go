package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// board prints verdicts on every part of the library, which share the trials of the baseline.
func board(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	q, err := newInquiry("board", args, stderr)
	if err != nil {
		return err
	}
	if err := q.read(ctx, stderr); err != nil {
		return err
	}
	ideas, left, err := q.ideas()
	if err != nil {
		return err
	}
	b := verdict.Board{LeftOut: left, Command: "go run ./examples/lab -verdict"}
	for i, idea := range ideas {
		if q.report {
			r, err := verdict.Read(q.Dir, idea.Name)
			switch {
			case err == nil:
				b.Rows = append(b.Rows, r)
			case errors.Is(err, fs.ErrNotExist):
				b.Waiting = append(b.Waiting, idea.Name)
			default:
				return err
			}
			continue
		}
		fmt.Fprintf(stderr, "%d of %d: %s\n", i+1, len(ideas), idea.Name)
		r, err := q.judge(ctx, idea, stderr)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			b.LeftOut = append(b.LeftOut, fmt.Sprintf("%s: %v", idea.Name, err))
			continue
		}
		b.Rows = append(b.Rows, r)
	}
	return program.Printed(stdout, b.Markdown)
}

// ideas returns every part that differs from the baseline's, with the change that it needs beside it, and says which
// parts are left out.
func (q *inquiry) ideas() (ideas []lab.Arm, left []string, err error) {
	base := verdict.Baseline()
	base.VocabSize = q.Text.Tokenizer.Size()
	all := append(allParts(), part{"optimizer", nil, parts.Names(parts.Optimizers())})
	for _, p := range all {
		for _, name := range p.names {
			v := p.name + "=" + name
			if chosen := words(q.parts); !slices.Contains(chosen, "all") && !matches(v, chosen) {
				continue
			}
			var first error
			for _, more := range []string{"", ",position=none", ",mlp=mlp,n_inner=0", ",n_inner=0", ",n_kv_head=1"} {
				arm := lab.Arms(v + more)[0]
				c, err := arm.Apply(base)
				if err == nil {
					err = c.Validate()
				}
				if err != nil {
					first = cmp.Or(first, err)
					continue
				}
				if first = nil; c.ResumeDiff(base) != nil {
					ideas = append(ideas, arm)
				}
				break
			}
			if first != nil {
				left = append(left, fmt.Sprintf("%s: %v", v, first))
			}
		}
	}
	if len(ideas) == 0 {
		return nil, nil, errors.Errorf("-parts: got %q, in which no part differs from the baseline's", q.parts)
	}
	return ideas, left, nil
}

// replayRow asks for the verdict of a row of a board again, and returns an error unless every trial is equal.
func (a *audit) replayRow(ctx context.Context) error {
	row, err := verdict.ReadRow(a.dir, a.trials)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "board")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	q := &inquiry{Protocol: row.Protocol}
	q.Dir = dir
	if len(a.data) > 0 {
		q.data = a.data[0]
	}
	if err := q.read(ctx, a.stderr); err != nil {
		return err
	}
	r, err := q.judge(ctx, lab.Arms(row.Idea)[0], a.stderr)
	if err != nil {
		return err
	}
	if r.SHA256 != row.SHA256 {
		return errors.Errorf("not equal: %s: the SHA-256 of the %d trials is %s here, %s in %s", row.Idea, r.Trials,
			r.SHA256, row.SHA256, a.dir)
	}
	_, err = fmt.Fprintf(a.stdout, "equal to the last bit: the %d trials of %s\n", r.Trials, row.Idea)
	return err
}
