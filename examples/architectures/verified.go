package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify"
)

// certificates are the Cases of verify that hold a variant's gradients against formulas by hand: types of nn, or ids
// where many variants share a type. None is nothing to differentiate.
func certificates() map[string][]string {
	return map[string][]string{
		"position=learned":    {"LearnedPositions"},
		"position=sinusoidal": {"Sinusoidal"},
		"position=rope":       {"RoPE"},
		"position=alibi":      {"I07"},
		"position=none":       {},

		"attention=causal":          {"I14"},
		"attention=window":          {"I12"},
		"attention=alternating":     {"I12", "I14"},
		"attention=bigbird":         {"I13"},
		"attention=dilated":         {"I13"},
		"attention=longformer":      {"Longformer"},
		"attention=linear":          {"LinearAttention"},
		"attention=taylor":          {"TaylorAttention"},
		"attention=linformer":       {"Linformer"},
		"attention=mla":             {"MLA"},
		"attention=mla_rope":        {"MLARoPE"},
		"attention=mla_latent_rope": {"MLALatentRoPE"},

		"norm=layernorm":       {"LayerNorm"},
		"norm=layernorm_sigma": {"LayerNormSigma"},
		"norm=layernorm_plain": {"LayerNormPlain"},

		"block=pre":   {"Block", "MLP"},
		"block=post":  {"PostNormBlock", "MLP"},
		"block=elman": {"Elman"},

		"activation=gelu":      {"GELU"},
		"activation=gelu_tanh": {"GELUTanh"},
		"activation=relu":      {"ReLU"},

		"head=linear": {"Linear"},
		"head=tied":   {"Tied"},
	}
}

// covers says whether the case is one of those meant.
func covers(c verify.Case, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w == c.ID || slices.Contains(c.Types, w) })
}

// check runs the Cases of every row: those of its own part, and of the baseline all.
func check(ctx context.Context, rows []*row) error {
	cases, done := verify.Cases(), map[string]outcome{}
	for _, r := range rows {
		own := []string{r.Variant}
		if r.Variant == "baseline" {
			own = r.kinds()
		}
		var all outcome
		for _, variant := range own {
			words, listed := certificates()[variant]
			if !listed {
				all.add(outcome{bad: "no case is known"})
			}
			for _, c := range cases {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if !covers(c, words) {
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
func (r *row) kinds() (list []string) {
	for _, p := range kinds() {
		list = append(list, p.name+"="+*p.field(&r.config))
	}
	return list
}
