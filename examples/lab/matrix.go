package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// matrix returns the accuracy of every arm on every task: a line of the tasks, and one for each arm.
func (s *summary) matrix(tables []table) (lines [][]string) {
	head := []string{"accuracy"}
	for _, t := range tables {
		head = append(head, t.Text)
	}
	lines = append(lines, head)
	for i, r := range s.Tables[0].Rows {
		line := []string{r.Arm}
		for _, t := range tables {
			line = append(line, t.Rows[i].accuracy())
		}
		lines = append(lines, line)
	}
	return lines
}

// accuracy returns a mean with its standard error.
func (r *row) accuracy() string {
	switch {
	case r.Outcome == nil && r.Diverged == 0:
		return "not run"
	case r.Outcome == nil:
		return "diverged"
	}
	if r.Seeds == 1 {
		return fmt.Sprintf("%.3f", r.Outcome.Value)
	}
	return fmt.Sprintf("%.3f ± %.3f", r.Outcome.Value, r.Outcome.SE)
}

// several reports whether there is a matrix: there are several tasks.
func (s *summary) several() bool { return len(s.Tables) > 1 && s.Tables[0].Task != nil }

// matrixText returns the matrix for a terminal, five tasks at a time under their numbers.
func (s *summary) matrixText() string {
	if !s.several() {
		return ""
	}
	var b strings.Builder
	n := 0
	for tables := range slices.Chunk(s.Tables, 5) {
		lines := s.matrix(tables)
		for i := range tables {
			n++
			fmt.Fprintf(&b, "(%d) %s\n", n, tables[i].Text)
			lines[0][i+1] = fmt.Sprintf("(%d)", n)
		}
		widths := make([]int, len(lines[0]))
		for _, line := range lines {
			for i, cell := range line {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
		widths[0] = min(widths[0], widest-sum(widths[1:])-2*len(tables))
		for _, line := range lines {
			b.WriteString(aligned(line, widths))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// matrixMarkdown writes the matrix for report.md.
func (s *summary) matrixMarkdown(b *strings.Builder) {
	if !s.several() {
		return
	}
	b.WriteByte('\n')
	for i, line := range s.matrix(s.Tables) {
		for _, cell := range line {
			b.WriteString("| " + escaped(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(s.Tables)) + "\n")
		}
	}
}

// matrixSheet writes the matrix with the standard errors in columns of their own.
func (s *summary) matrixSheet(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"arm"}
	for _, t := range s.Tables {
		head = append(head, t.Text, t.Text+" se")
	}
	c.Write(head)
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for i, r := range s.Tables[0].Rows {
		line := []string{r.Arm}
		for _, t := range s.Tables {
			if d := t.Rows[i].Outcome; d != nil {
				line = append(line, number(d.Value), number(d.SE))
			} else {
				line = append(line, "", "")
			}
		}
		c.Write(line)
	}
	c.Flush()
	return c.Error()
}
