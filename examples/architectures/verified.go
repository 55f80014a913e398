package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// check runs the Cases of every row: those of its own part, and of the baseline all.
func check(ctx context.Context, rows []*row) error {
	cases, done := inventory.Cases(), map[string]outcome{}
	for _, r := range rows {
		own := []string{r.Variant}
		if r.Variant == "baseline" {
			own = r.parts()
		}
		var all outcome
		for _, variant := range own {
			if !certified(cases, variant) {
				all.add(outcome{bad: "no case is known"})
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
				all.add(done[c.Name])
			}
		}
		r.Checked = all.String()
	}
	return nil
}

// certified says whether a Case holds the variant against formulas by hand, or there is nothing to differentiate.
func certified(cases []verify.Case, variant string) bool {
	return variant == "position=none" || slices.ContainsFunc(cases, func(c verify.Case) bool { return slices.Contains(c.Parts, variant) })
}

// outcome is what some Cases have shown.
type outcome struct {
	count int
	worst float64 // in float64
	bad   string  // what is wrong
}

func outcomeOf(c verify.Case) outcome {
	report, err := c.Run()
	switch {
	case err != nil:
		return outcome{bad: err.Error()}
	case !report.OK():
		return outcome{bad: "wrong: " + c.Name}
	}
	return outcome{count: 1, worst: float64(report.Worst)}
}

func (o *outcome) add(other outcome) {
	o.count, o.worst = o.count+other.count, max(o.worst, other.worst)
	if other.bad != "" {
		o.bad = other.bad
	}
}

func (o outcome) String() string {
	switch {
	case o.bad != "":
		return o.bad
	case o.count == 0:
		return "nothing to verify"
	}
	return fmt.Sprintf("%.0e", o.worst)
}

// parts are the variants that the row is made of.
func (r *row) parts() (list []string) {
	for _, p := range parts() {
		list = append(list, p.name+"="+*p.field(&r.config))
	}
	return list
}
