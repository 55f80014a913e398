package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// outcome is the result of a Case: its worst error in float64, or a description of the failure.
type outcome struct {
	worst float64
	wrong string
}

// check runs the Cases of every row: those of its variant, or of all parts for the baseline.
func check(ctx context.Context, rows []*row) error {
	cases, done := inventory.Cases(), map[string]outcome{}
	for _, r := range rows {
		variants := []string{r.Variant}
		if r.Variant == "baseline" {
			variants = r.parts()
		}
		var all outcome
		for _, variant := range variants {
			if !verified(cases, variant) {
				all.wrong = "has no case"
			}
			for _, c := range cases {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if !slices.Contains(c.Parts, variant) {
					continue
				}
				if _, seen := done[c.Name]; !seen {
					done[c.Name] = outcomeOf(c)
				}
				all.worst = max(all.worst, done[c.Name].worst)
				if wrong := done[c.Name].wrong; wrong != "" {
					all.wrong = wrong
				}
			}
		}
		switch {
		case all.wrong != "":
			r.Checked = all.wrong
		case all.worst == 0:
			r.Checked = "nothing to verify"
		default:
			r.Checked = fmt.Sprintf("%.0e", all.worst)
		}
	}
	return nil
}

// verified reports whether a Case compares the variant with formulas by hand, or there is nothing to differentiate.
func verified(cases []verify.Case, variant string) bool {
	compares := func(c verify.Case) bool { return slices.Contains(c.Parts, variant) }
	return variant == "position=none" || slices.ContainsFunc(cases, compares)
}

func outcomeOf(c verify.Case) outcome {
	report, err := c.Run()
	switch {
	case err != nil:
		return outcome{wrong: err.Error()}
	case !report.OK():
		return outcome{wrong: "wrong: " + c.Name}
	}
	return outcome{worst: float64(report.Worst)}
}
