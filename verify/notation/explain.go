package notation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

func newExact(p *point, rows, cols int, entries []exact.Number) matrix {
	return hand.NewExact[complex128](p.draw, rows, cols, entries)
}

// explain says how an answer differs from the truth at a point.
func (e Exercise) explain(p *point, got matrix, v Verdict) Verdict {
	want, err := e.truth(p)
	if err != nil {
		v.Message = "The exercise has an error: " + err.Error() + "."
		return v
	}
	if got.Rows != want.Rows || got.Cols != want.Cols {
		v.Message = fmt.Sprintf("With %s the formula is (%d, %d), and %s is (%d, %d).",
			p.said(), got.Rows, got.Cols, e.Find, want.Rows, want.Cols)
	} else if at, a, b, err := p.difference(got, want); err == nil && at >= 0 {
		v.Message = fmt.Sprintf("With %s the entry in row %d, column %d is %.4g, and should be %.4g.",
			p.said(), at/want.Cols+1, at%want.Cols+1, a.Real, b.Real)
	}
	v.Hint = e.hint(p, got, want)
	return v
}

// said lists the sizes of the point.
func (p *point) said() string {
	var list []string
	for _, n := range slices.Sorted(maps.Keys(p.sizes)) {
		list = append(list, fmt.Sprintf("%s = %d", n, p.sizes[n]))
	}
	return strings.Join(list, ", ")
}

// hint returns the kind of mistake: one of the exercise's own, or one that any formula may have.
func (e Exercise) hint(p *point, got, want matrix) string {
	same := func(x, y matrix) bool {
		if x.Err != nil || y.Err != nil || x.Rows != y.Rows || x.Cols != y.Cols {
			return false
		}
		at, _, _, err := p.difference(x, y)
		return err == nil && at < 0
	}
	for _, w := range e.Wrong {
		if same(got, w.Formula.root.value(p)) {
			return w.Hint
		}
	}
	switch {
	case same(got.Transpose(), want):
		return "The result is transposed."
	case same(got.SumTokens(), want):
		return "A sum over the tokens is missing: every token uses the same parameters, so Σ_rows adds their gradients."
	case same(got.Sum(), want):
		return "A sum over the features is missing: Σ_cols adds them."
	case same(got.SumTokens().Sum(), want):
		return "A sum over all entries is missing: Σ adds them."
	case same(got.Scale(-1), want):
		return "The sign is wrong."
	}
	for _, name := range p.names() {
		factor, ok := p.values[name]
		if !ok {
			factor = p.number(float64(p.sizes[name]))
		}
		if factor.Rows > want.Rows && want.Rows > 1 || factor.Cols > want.Cols && want.Cols > 1 {
			continue
		}
		switch {
		case same(got.Mul(factor), want):
			return fmt.Sprintf("The factor %s is missing.", name)
		case same(got, want.Mul(factor)):
			return fmt.Sprintf("The factor %s is one too many: divide by it.", name)
		}
	}
	if c, ok := ratio(p, got, want); ok {
		return fmt.Sprintf("Every entry is %.4g times what it should be.", c)
	}
	return ""
}

// ratio returns the number by which got differs from want in every entry.
func ratio(p *point, got, want matrix) (c float64, ok bool) {
	q := got.Div(want)
	entries, err := q.Exact(p.draw)
	if err != nil || got.Rows != want.Rows || got.Cols != want.Cols || len(entries) < 2 {
		return 0, false
	}
	for _, a := range entries {
		if a.Value != entries[0].Value {
			return 0, false
		}
	}
	return entries[0].Real, true
}

// forbidden returns the first differential that a formula names, or "".
func forbidden(x node) string {
	switch x := x.(type) {
	case name:
		if s := string(x); len(s) > 1 && s[0] == 'd' {
			return s
		}
	case group:
		return forbidden(x.x)
	case minus:
		return forbidden(x.x)
	case square:
		return forbidden(x.x)
	case transpose:
		return forbidden(x.x)
	case total:
		return forbidden(x.x)
	case binary:
		return cmp.Or(forbidden(x.left), forbidden(x.right))
	case call:
		if x.name == "d" {
			return "d(…)"
		}
		for _, of := range x.x {
			if s := forbidden(of); s != "" {
				return s
			}
		}
	}
	return ""
}
