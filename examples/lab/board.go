package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
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
	b := &verdicts{inquiry: q, left: left}
	for i, idea := range ideas {
		if q.report {
			r, err := verdict.Read(q.Dir, idea.Name)
			switch {
			case err == nil:
				b.rows = append(b.rows, r)
			case errors.Is(err, fs.ErrNotExist):
				b.waiting = append(b.waiting, idea.Name)
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
			b.left = append(b.left, fmt.Sprintf("%s: %v", idea.Name, err))
			continue
		}
		b.rows = append(b.rows, r)
	}
	return b.print(stdout)
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
				if first = nil; !same(c, base) {
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

// same reports whether two configurations are equal.
func same(a, b gpt.Config) bool {
	x, err := json.Marshal(a.Resolved())
	y, other := json.Marshal(b.Resolved())
	return err == nil && other == nil && bytes.Equal(x, y)
}

// verdicts are the rows of a board.
type verdicts struct {
	*inquiry
	rows    []*verdict.Report
	left    []string // with the reason
	waiting []string // without a verdict in out_dir
}

// command returns the command that repeats a row.
func (v *verdicts) command(idea string) string {
	line := fmt.Sprintf("go run ./examples/lab -verdict %s -minutes %g -steps %d", idea, v.rows[0].Minutes,
		v.rows[0].Plan.Steps)
	if slices.Equal(v.rows[0].Plan.Sizes, verdict.Quick().Sizes) {
		line += " -quick"
	}
	return line
}

// print writes the board as Markdown, sorted by what was shown at equal parameters.
func (v *verdicts) print(w io.Writer) error {
	if len(v.rows) == 0 {
		return errors.Errorf("no part has a verdict: %s", strings.Join(v.left, "; "))
	}
	slices.SortStableFunc(v.rows, func(a, b *verdict.Report) int { return cmp.Compare(place(a), place(b)) })
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Text: %s, SHA-256 `%s`. Sizes: %v. %d steps of a trial.\n\n    %s\n\n", v.rows[0].Text,
		v.rows[0].TextSHA256, v.rows[0].Plan.Sizes, v.rows[0].Plan.Steps, v.command("IDEA"))
	fmt.Fprintln(out, "| idea | equal parameters | equal FLOPs | with size | time | tasks | trials | SHA-256 |")
	fmt.Fprintln(out, "|---|---|---|---|---:|---|---:|---|")
	for _, r := range v.rows {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %d | `%s` |\n", r.Idea, onText(r, "parameters"),
			onText(r, "FLOPs"), growth(r), timing(r), onTasks(r), r.Trials, r.SHA256)
	}
	if len(v.left) > 0 {
		fmt.Fprint(out, "\nLeft out:\n\n")
	}
	for _, l := range v.left {
		fmt.Fprintf(out, "- %s\n", l)
	}
	if len(v.waiting) > 0 {
		fmt.Fprintf(out, "\nNot asked yet: %s.\n", strings.Join(v.waiting, ", "))
	}
	return out.Flush()
}

// place returns the place of a verdict: better ideas first, then those that are not told apart, then worse ones.
func place(r *verdict.Report) float64 {
	const most = 1e3 // more than any difference of losses
	sum, n := 0.0, 0.0
	for _, l := range r.Losses {
		if l.Compared != nil && l.Budget != "FLOPs" {
			sum, n = sum+l.Compared.Mean, n+1
		}
	}
	switch verdictOf(r, "parameters") {
	case "better":
		return -most + sum/max(n, 1)
	case "worse":
		return most + sum/max(n, 1)
	case "diverged", "":
		return 3 * most
	}
	return sum / max(n, 1)
}

// verdictOf returns the verdict on text within a budget, or "".
func verdictOf(r *verdict.Report, budget string) string {
	for _, a := range r.Answers {
		if strings.HasPrefix(a.Question, "Does it help on text at equal ") && strings.Contains(a.Question, budget) {
			return a.Verdict
		}
	}
	return ""
}

// onText returns a verdict on text, with the differences by size.
func onText(r *verdict.Report, budget string) string {
	var list []string
	for _, l := range r.Losses {
		if strings.Contains(string(l.Budget), budget) && l.Compared != nil {
			list = append(list, fmt.Sprintf("%+.3f", l.Compared.Mean))
		}
	}
	if r.Wrong() {
		return "wrong"
	}
	told := cmp.Or(verdictOf(r, budget), "not asked")
	if len(list) == 0 {
		return told
	}
	return told + ": " + strings.ReplaceAll(strings.Join(list, ", "), "-", "−")
}

func growth(r *verdict.Report) string {
	for _, a := range r.Answers {
		if strings.HasPrefix(a.Question, "Does the difference at equal parameters") {
			return a.Verdict
		}
	}
	return ""
}

// timing returns the ratio of the time of a step at the largest size.
func timing(r *verdict.Report) string {
	if len(r.Costs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Costs[len(r.Costs)-1].Ratio)
}

// onTasks lists the tasks with a verdict.
func onTasks(r *verdict.Report) string {
	var list []string
	for _, a := range r.Tasks {
		if a.Confirmed() {
			list = append(list, fmt.Sprintf("%s %s (%.2f, baseline %.2f)", a.What, a.Judged.Verdict, a.Means[1],
				a.Means[0]))
		}
	}
	return strings.Join(list, "; ")
}

// boardRow is a row of a board in a file.
type boardRow struct {
	idea, sha256 string
	minutes      float64
	steps        int
	quick        bool
}

// readRow reads the row of an idea from a board.
func readRow(path, idea string) (row boardRow, err error) {
	const most = 16 << 20 // bytes
	data, err := file.Read(path, most)
	if err != nil {
		return row, err
	}
	command := regexp.MustCompile(`-verdict IDEA -minutes (\S+) -steps (\d+)( -quick)?`).FindSubmatch(data)
	if command == nil {
		return row, errors.Errorf("%s: no command of a board, such as -verdict IDEA -minutes 10 -steps 300", path)
	}
	row.quick = len(command[3]) > 0
	row.minutes, err = strconv.ParseFloat(string(command[1]), 64)
	if row.steps, _ = strconv.Atoi(string(command[2])); err != nil {
		return row, errors.Wrap(err, path)
	}
	var names []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		cells := strings.Split(strings.Trim(lines.Text(), "| "), " | ")
		hash := strings.Trim(cells[len(cells)-1], "`")
		if len(hash) != 64 || len(cells) < 2 {
			continue
		}
		if names = append(names, cells[0]); cells[0] == idea {
			row.idea, row.sha256 = idea, hash
			return row, nil
		}
	}
	return row, errors.Errorf("-trials: got %q, want a row of %s: %s%s", idea, path, strings.Join(names, ", "),
		spelling.Hint(idea, names))
}

// replayRow asks for the verdict of a row of a board again, and returns an error unless every trial is equal.
func (a *audit) replayRow(ctx context.Context) error {
	row, err := readRow(a.dir, a.trials)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "board")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	q := &inquiry{Protocol: verdict.Protocol{Dir: dir, Minutes: row.minutes}}
	if row.quick {
		q.Plan = verdict.Quick()
	}
	q.Plan.Steps = row.steps
	if len(a.data) > 0 {
		q.data = a.data[0]
	}
	if err := q.read(ctx, a.stderr); err != nil {
		return err
	}
	r, err := q.judge(ctx, lab.Arms(row.idea)[0], a.stderr)
	if err != nil {
		return err
	}
	if r.SHA256 != row.sha256 {
		return errors.Errorf("not equal: %s: the SHA-256 of the %d trials is %s here, %s in %s", row.idea, r.Trials,
			r.SHA256, row.sha256, a.dir)
	}
	_, err = fmt.Fprintf(a.stdout, "equal to the last bit: the %d trials of %s\n", r.Trials, row.idea)
	return err
}
