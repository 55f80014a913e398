package verdict

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Board compares ideas by verdicts of one Plan.
type Board struct {
	Rows    []*Report
	LeftOut []string // ideas that cannot be asked, with the reason
	Waiting []string // ideas that have not been asked yet
	// Command asks for a verdict if an idea and the flags of Protocol.Flags follow it.
	Command string
}

// Markdown writes the board, sorted by what was shown at equal parameters.
func (b Board) Markdown(w io.Writer) error {
	rows := slices.DeleteFunc(slices.Clone(b.Rows), func(r *Report) bool { return r == nil })
	if len(rows) == 0 {
		return errors.Errorf("board: no idea has a verdict: %s", strings.Join(b.LeftOut, "; "))
	}
	first := rows[0]
	slices.SortStableFunc(rows, func(x, y *Report) int { return cmp.Compare(x.place(), y.place()) })
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Text: %s, SHA-256 `%s`. Sizes: %v. %d steps of a trial.\n\n    %s IDEA -minutes %g -steps %d",
		first.Text, first.TextSHA256, first.Plan.Sizes, first.Plan.Steps, b.Command, first.Minutes, first.Plan.Steps)
	if slices.Equal(first.Plan.Sizes, Quick().Sizes) {
		fmt.Fprint(out, " -quick")
	}
	fmt.Fprint(out, "\n\n")
	fmt.Fprintln(out, "| idea | equal parameters | equal FLOPs | with size | time | tasks | trials | SHA-256 |")
	fmt.Fprintln(out, "|---|---|---|---|---:|---|---:|---|")
	for _, r := range rows {
		growth := r.verdict("Does the difference at equal parameters")
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %d | `%s` |\n", r.Idea, r.textCell(parameters),
			r.textCell(work), growth, r.timeCell(), r.taskCell(), r.Trials, r.SHA256)
	}
	if len(b.LeftOut) > 0 {
		fmt.Fprint(out, "\nLeft out:\n\n")
	}
	for _, reason := range b.LeftOut {
		fmt.Fprintf(out, "- %s\n", reason)
	}
	if len(b.Waiting) > 0 {
		fmt.Fprintf(out, "\nNot asked yet: %s.\n", strings.Join(b.Waiting, ", "))
	}
	return out.Flush()
}

// verdict returns the verdict of the first question that begins with some words, or "".
func (r *Report) verdict(words string) string {
	i := slices.IndexFunc(r.Answers, func(a Answer) bool { return strings.HasPrefix(a.Question, words) })
	if i < 0 {
		return ""
	}
	return r.Answers[i].Verdict
}

// textVerdict returns the verdict on text within a budget, or "".
func (r *Report) textVerdict(b budget) string {
	for _, name := range budgets() {
		if v := r.verdict(name.question()); v != "" && b.holds(name) {
			return v
		}
	}
	return ""
}

// place returns the place of a verdict: better ideas first, then ideas that are not told apart, then worse ones.
func (r *Report) place() float64 {
	const most = 1e3 // more than any difference of losses
	sum, n := 0.0, 0.0
	for _, l := range r.Losses {
		if l.Compared != nil && l.Budget != work {
			sum, n = sum+l.Compared.Mean, n+1
		}
	}
	switch mean := sum / max(n, 1); r.textVerdict(parameters) {
	case string(paired.Better):
		return mean - most
	case string(paired.Worse):
		return mean + most
	case "diverged", "":
		return 3 * most
	default:
		return mean
	}
}

// textCell returns the verdict on text within a budget, with the differences by size.
func (r *Report) textCell(b budget) string {
	if r.Wrong() {
		return "wrong"
	}
	told := cmp.Or(r.textVerdict(b), "not asked")
	var list []string
	for _, l := range r.Losses {
		if b.holds(l.Budget) && l.Compared != nil {
			list = append(list, fmt.Sprintf("%+.3f", l.Compared.Mean))
		}
	}
	if len(list) == 0 {
		return told
	}
	return told + ": " + strings.ReplaceAll(strings.Join(list, ", "), "-", "−")
}

// timeCell returns the ratio of the time of a step at the largest size.
func (r *Report) timeCell() string {
	if len(r.Costs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Costs[len(r.Costs)-1].Ratio)
}

// taskCell lists the tasks with a verdict.
func (r *Report) taskCell() string {
	var list []string
	for _, a := range r.Tasks {
		if a.Confirmed() {
			list = append(list, fmt.Sprintf("%s %s (%.2f, baseline %.2f)", a.What, a.Judged.Verdict, a.Means[1],
				a.Means[0]))
		}
	}
	return strings.Join(list, "; ")
}

// Row is a row of a board in a file, with the protocol that all rows share.
type Row struct {
	Idea, SHA256 string
	Protocol     Protocol // has Minutes and a Plan
}

// ReadRow reads the row of an idea from a file that holds the Markdown of a Board.
func ReadRow(path, idea string) (row Row, err error) {
	data, err := file.Read(path, most)
	if err != nil {
		return row, errors.Wrap(err, "board")
	}
	command := regexp.MustCompile(`IDEA -minutes (\S+) -steps (\d+)( -quick)?`).FindSubmatch(data)
	if command == nil {
		return row, errors.Errorf("board: %s: no command, such as -verdict IDEA -minutes 10 -steps 300", path)
	}
	if len(command[3]) > 0 {
		row.Protocol.Plan = Quick()
	}
	if row.Protocol.Minutes, err = strconv.ParseFloat(string(command[1]), 64); err == nil {
		row.Protocol.Plan.Steps, err = strconv.Atoi(string(command[2]))
	}
	if err != nil {
		return row, errors.Wrapf(err, "board: %s", path)
	}
	var ideas []string
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		hash := strings.Trim(cells[len(cells)-1], "`")
		if len(hash) != 64 || len(cells) < 2 {
			continue
		}
		if ideas = append(ideas, cells[0]); cells[0] == idea {
			row.Idea, row.SHA256 = idea, hash
			return row, nil
		}
	}
	return row, errors.Errorf("board: got %q, want a row of %s: %s%s", idea, path, strings.Join(ideas, ", "),
		spelling.Hint(idea, ideas))
}
