package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/verify"
)

// layers prints one row per case: the worst distance of every witness.
func layers(w io.Writer, cases []verify.Case) (ok bool, err error) {
	ok = true
	var failed strings.Builder
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "layer\ttype\tsource\tcount\tautodiff\tkernels\tcomplex step\tfloat32")
	for _, c := range cases {
		r, err := c.Run()
		if err != nil {
			return false, err
		}
		var most verify.Row
		for _, row := range r.Rows {
			most.Autodiff, most.Kernels = max(most.Autodiff, row.Autodiff), max(most.Kernels, row.Kernels)
			most.Complex, most.Float32 = max(most.Complex, row.Complex), max(most.Float32, row.Float32)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.1e\t%.1e\t%.1e\t%.1e\n",
			c.Name, strings.Join(c.Types, ", "), c.Source, r.Parameters, most.Autodiff, most.Kernels, most.Complex, most.Float32)
		for _, f := range r.Failures {
			fmt.Fprintf(&failed, "FAIL %s: %s\n", c.Name, f)
		}
		if !r.OK() {
			ok = false
			fmt.Fprintf(&failed, "%s: %s\n", c.Name, r.First)
		}
	}
	if err := t.Flush(); err != nil {
		return false, err
	}
	_, err = io.WriteString(w, failed.String())
	return ok, err
}
