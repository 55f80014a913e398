package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/verify"
)

// layers prints the inventory: a row for every Case, with the worst distance of every road, and the tests of entries
// without a Case.
func layers(ctx context.Context, w io.Writer, entries []verify.Entry) error {
	ok := true
	var failed strings.Builder
	var cases, tested int
	var worst verify.Gap
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "id\tlayer\ttype\tsource\tcount\tautodiff\tkernels\tcomplex step\tfloat32")
	for _, e := range entries {
		for _, c := range e.Cases {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r, err := c.Run()
			if err != nil {
				return err
			}
			most := map[string]verify.Gap{}
			for _, row := range r.Rows {
				for road, gap := range row.Gaps {
					most[road] = max(most[road], gap)
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%.1e\t%.1e\t%.1e\t%.1e\n",
				e.ID, c.Name, strings.Join(c.Types, ", "), c.Source, r.Parameters,
				most["autodiff"], most["kernels"], most["complex"], most["float32"])
			for _, f := range r.Failures {
				fmt.Fprintf(&failed, "FAIL %s: %s\n", c.Name, f)
			}
			if !r.OK() {
				ok = false
				if r.First != "" {
					fmt.Fprintf(&failed, "%s: %s\n", c.Name, r.First)
				}
			}
			cases++
			worst = max(worst, r.Worst)
		}
		if len(e.Cases) == 0 {
			tests := strings.Join(e.Tests, ", ")
			fmt.Fprintf(t, "%s\t%s\t\t%s\tnot run here; tests: %s\n", e.ID, e.What, e.Source, tests)
			tested++
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%d entries in %d cases; worst distance %.1e in float64 (%.0e fails)%s\n"+
		"%d entries are not run here: go test runs their tests\n",
		failed.String(), len(entries)-tested, cases, worst, verify.Tolerance, sight(entries, ok), tested)
	if err == nil && !ok {
		err = errDisagree
	}
	return err
}

// sight returns a sentence on the layers in which a token sees later ones.
func sight(entries []verify.Entry, ok bool) string {
	both := 0
	for _, e := range entries {
		for _, c := range e.Cases {
			if c.Bidirectional {
				both++
			}
		}
	}
	if !ok {
		return ""
	}
	return fmt.Sprintf(";\nno token sees a later one except in %d cases that are declared bidirectional", both)
}
