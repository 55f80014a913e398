package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// output is a file of a report.
type output struct {
	name  string
	write func(io.Writer) error
}

// write writes the files of a report into dir, each completely or not at all. It returns the first error, and tries the
// other files nevertheless.
func write(dir string, s *summary, r *lab.Report) (first error) {
	files := []output{
		{"report.md", s.markdown},
		{"page.html", page.Study{Title: s.Name, Facts: s.facts(), Study: s}.Write},
		{"forest.png", s.forest},
		{"curves.png", s.curves},
	}
	if s.several() {
		files = append(files, output{"scores.csv", s.matrixSheet})
	}
	if l := s.Tables[0].Law; l != nil && l.Trouble == "" {
		files = append(files, output{"scaling.png", l.draw})
	}
	if t := s.Tables[0].Transfer; len(t) > 0 {
		files = append(files, output{"transfer.png", t.draw})
	}
	first = r.Write(dir)
	for _, f := range files {
		if err := file.Replace(filepath.Join(dir, f.name), f.write); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// markdown writes the report for people.
func (s *summary) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", escaped(s.Name))
	for _, t := range s.Tables {
		where, other := " over the validation split", "bits/byte"
		if t.Task != nil {
			where, other = "", "loss"
		}
		fmt.Fprintf(&b, "\nOn %s; %s%s, mean ± standard error over the seeds.", escaped(t.Text), t.unit(), where)
		if t.Task != nil {
			b.WriteString(" The task: " + escaped(t.Task.text()) + ".")
		}
		b.WriteString("\n\n")
		names := t.measured()
		fmt.Fprintf(&b, "| arm | verdict | seeds | parameters | steps | %s | %s | difference, 95 %% | p, Holm | "+
			"p, sign flips | ms/step | ", t.outcome(), other)
		for _, name := range names {
			b.WriteString(name + " | ")
		}
		b.WriteString("notes |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|" +
			strings.Repeat("---:|", len(names)) + "---|\n")
		for _, r := range t.Rows {
			r.markdown(&b, names)
		}
		for _, line := range t.findings() {
			fmt.Fprintf(&b, "\n%s\n", escaped(line))
		}
	}
	s.matrixMarkdown(&b)
	b.WriteByte('\n')
	for _, f := range append(s.facts(), [2]string{"machine", s.Machine}, [2]string{"build", s.Build}) {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], escaped(f[1]))
	}
	for _, t := range s.Tables {
		t.trained(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// trained writes what every arm is: the configuration of the baseline, the changes of the others, and the work.
func (t table) trained(b *strings.Builder) {
	fmt.Fprintf(b, "\n## The arms on %s\n\n", escaped(t.Text))
	b.WriteString("FLOPs count the matrix products for a token: with weights, between tokens as far as the mask " +
		"lets them meet, and of the optimizer.\n\n| arm | changes | FLOPs/token | weights | tokens | optimizer |\n" +
		"|---|---|---:|---:|---:|---:|\n")
	for _, r := range t.Rows {
		w := r.Work
		fmt.Fprintf(b, "| %s | %s", escaped(r.Arm), escaped(cmp.Or(strings.Join(r.Changes, ", "), "none")))
		for _, x := range []float64{w.Total(), w.Weights, w.Mixing, w.Optimizer} {
			b.WriteString(" | " + program.Thousands(int64(math.Round(x))))
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(b, "\nThe baseline:\n\n```json\n%s\n```\n", t.Baseline)
}

// markdown writes a row of the table.
func (r *row) markdown(b *strings.Builder, measures []string) {
	c := r.cells()
	verdict := ""
	if r.Difference != nil {
		verdict = r.Difference.Verdict
	}
	bits := ""
	if r.Outcome != nil {
		bits = fmt.Sprintf("%.4f", r.Loss)
	} else if r.Seeds > 0 {
		bits = fmt.Sprintf("%.4f", r.BitsPerByte)
	}
	line := []string{c[0], verdict, strconv.Itoa(r.Seeds), c[1], c[2], c[3], bits, c[4], c[5], c[6],
		fmt.Sprintf("%.1f", r.Ms)}
	for _, name := range measures {
		line = append(line, measureText(name, r.Measures[name]))
	}
	for _, cell := range append(line, strings.Join(r.notes(), "; ")) {
		b.WriteString("| " + escaped(cell) + " ")
	}
	b.WriteString("|\n")
}

// escaped returns a text without characters that break a table.
func escaped(s string) string { return strings.NewReplacer("|", "/", "\n", " ").Replace(s) }
