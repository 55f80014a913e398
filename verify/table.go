package verify

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// mostColumns is the width within which a table stays if possible.
const mostColumns = 100

// WriteTo prints the table. Its columns are two spaces apart. If the table would be wider than 100 columns they are one
// space apart, and if that does not suffice, the symbols are left out.
func (r *Report) WriteTo(w io.Writer) (n int64, err error) {
	if r == nil || w == nil {
		return 0, errors.New("verify: WriteTo: got no Report or no Writer")
	}
	var b strings.Builder
	b.WriteString(cmp.Or(fitting(r.table(2, true)), fitting(r.table(1, true)), r.table(1, false)))
	r.summary(&b)
	m, err := io.WriteString(w, b.String())
	return int64(m), err
}

// fitting returns the table, or "" if it is too wide.
func fitting(table string) string {
	for line := range strings.Lines(table) {
		if utf8.RuneCountInString(line)-1 > mostColumns {
			return ""
		}
	}
	return table
}

// table returns the rows, with the given number of spaces between columns. A road's column has the first word of its
// name.
func (r *Report) table(apart int, symbols bool) string {
	symbol := func(s string) string {
		if symbols {
			return s + "\t"
		}
		return ""
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, apart, ' ', 0)
	fmt.Fprintf(t, "parameter\t%sequation\tshape\t|∂L/∂p|", symbol("symbol"))
	for _, c := range r.columns() {
		name, _, _ := strings.Cut(c.name, " ")
		fmt.Fprint(t, "\t", name)
	}
	fmt.Fprintln(t)
	for _, row := range r.Rows {
		size := fmt.Sprintf("%.2e", row.Norm)
		if row.Zero {
			size = "≡ 0"
		}
		fmt.Fprintf(t, "%s\t%s%s\t%d×%d\t%s",
			row.Name, symbol(row.Symbol), row.Equation, row.Shape[0], row.Shape[1], size)
		for _, c := range r.columns() {
			fmt.Fprint(t, "\t", c.text(row.Gaps[c.key]))
		}
		fmt.Fprintln(t)
	}
	t.Flush() // into a Builder, which does not fail
	return b.String()
}

func (r *Report) summary(b *strings.Builder) {
	by, reference := "every gradient by hand equals autodiff", "its gradient by hand"
	if !r.ByHand {
		by, reference = "no formulas by hand: autodiff equals central differences", "autodiff"
	}
	fmt.Fprintf(b, "\n%d parameters in %d rows, each compared with %s; loss %.6f\n",
		r.Parameters, len(r.Rows), reference, r.Loss)
	fmt.Fprintf(b, "roads: %s\n", strings.Join(r.Roads, ", "))
	fmt.Fprintln(b, r.coverage())
	fails := r.Tolerance
	if !r.ByHand {
		fails = toleranceDifferences
	}
	fmt.Fprintf(b, "worst distance %.1e in float64 (%.0e fails), %.1e in float32 (%.0e fails)",
		r.Worst, fails, r.WorstFloat32, r.ToleranceFloat32)
	if r.ToleranceBF16 > 0 {
		fmt.Fprintf(b, "\n%.1e in %s (%.2f fails)", r.WorstBF16, r.Precision, r.ToleranceBF16)
	}
	if r.ByHand {
		fmt.Fprintf(b, "\n%.1e along a random direction", r.Direction)
	}
	fmt.Fprintln(b)
	if r.ByHand {
		fmt.Fprintf(b, "the exact road misses a wrong gradient with a probability below 2^%.0f\n", math.Ceil(r.Bound))
	}
	if r.Causal {
		fmt.Fprintln(b, "no token sees a later one, or another text of the batch")
	}
	if len(r.Suspicious) > 0 {
		fmt.Fprintf(b, "above %.0e: %s\n", Suspicion, strings.Join(r.Suspicious, ", "))
	}
	for _, f := range r.Failures {
		fmt.Fprintln(b, "FAIL", f)
	}
	if r.First != "" {
		fmt.Fprintln(b, r.First)
	}
	if r.OK() {
		fmt.Fprintln(b, by)
	}
}

// coverage describes the entries that were differentiated one at a time.
func (r *Report) coverage() string {
	key, direction := complexStep, ", and one random direction"
	if !r.ByHand {
		key, direction = differences, ""
	}
	road := r.road(key).name
	if r.Entries == r.Parameters {
		return fmt.Sprintf("%s: every entry%s", road, direction)
	}
	return fmt.Sprintf("%s: %d of %d entries, at most %d a row%s",
		road, r.Entries, r.Parameters, 2*defaultSampling().few, direction)
}
