package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// write prints the first table in Markdown.
func (r results) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d steps of %d tokens on %s, %d threads;\n"+
		"loss in nats per character over the validation split.\n\n",
		r.Steps, r.Tokens, r.Text, r.Threads)
	baseline := strings.Join(r.Rows[0].parts(), ", ")
	fmt.Fprintf(&b, "The baseline is %s.\n\n", strings.Replace(baseline, ", block", ",\nblock", 1))
	b.WriteString("| variant | parameters | loss | ms/step | MiB | gradient error | tok/s |\n" +
		"|---|---:|---:|---:|---:|---:|---:|\n")
	var notes strings.Builder
	for _, row := range r.Rows {
		if row.Error != "" {
			fmt.Fprintf(&b, "| %s | | see below | | | %s | |\n", row.title(), row.Checked)
			fmt.Fprintf(&notes, "\n%s. %s\n", row.title(), row.Error)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f | %.0f | %s | %s |\n", row.title(), program.Thousands(row.Parameters),
			row.loss(), row.Ms, row.MiB, row.Checked, program.Thousands(int64(math.Round(row.DecodeTokS))))
	}
	_, err := io.WriteString(w, b.String()+notes.String())
	return err
}

// title returns the title of the row.
func (r *row) title() string {
	if r.With != "" {
		return r.Variant + " with " + r.With
	}
	return r.Variant
}

// loss returns the mean over the seeds, with the standard deviation if there are several.
func (r *row) loss() string {
	mean, squares, n := 0.0, 0.0, float64(len(r.Losses))
	for _, l := range r.Losses {
		mean += l / n
	}
	for _, l := range r.Losses {
		squares += (l - mean) * (l - mean)
	}
	if len(r.Losses) < 2 {
		return fmt.Sprintf("%.3f", mean)
	}
	return fmt.Sprintf("%.3f ± %.3f", mean, math.Sqrt(squares/(n-1)))
}

// writeCosts prints the second table, if there is one.
func (r results) writeCosts(w io.Writer) error {
	if len(r.Contexts) == 0 {
		return nil
	}
	var b strings.Builder
	first, last := r.Contexts[0], r.Contexts[len(r.Contexts)-1]
	fmt.Fprintf(&b, "\nForward and backward pass of %d tokens, ns per token, at these contexts.\n\n| variant |",
		r.CostBatch)
	for _, context := range r.Contexts {
		fmt.Fprintf(&b, " %d |", context)
	}
	fmt.Fprintf(&b, " %d against %d |\n|---|%s\n", last, first, strings.Repeat("---:|", len(r.Contexts)+1))
	for _, c := range r.Costs {
		fmt.Fprintf(&b, "| %s |", c.Variant)
		if c.Error != "" {
			fmt.Fprintf(&b, " %s |%s\n", cell(c.Error), strings.Repeat(" |", len(r.Contexts)))
			continue
		}
		for _, ns := range c.Ns {
			fmt.Fprintf(&b, " %s |", program.Thousands(int64(math.Round(ns))))
		}
		fmt.Fprintf(&b, " %.2f× |\n", c.Growth)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell returns a text without characters that break a table.
func cell(s string) string { return strings.NewReplacer("|", "/", "\n", " ").Replace(s) }
