package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// widest is the number of columns of a table in a terminal.
const widest = 100

// print returns the function that prints a summary.
func (s *summary) print(asJSON bool) func(io.Writer) error {
	return func(w io.Writer) error {
		if asJSON {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(s)
		}
		_, err := io.WriteString(w, s.text())
		return err
	}
}

// text returns the summary for a terminal.
func (s *summary) text() string {
	var b strings.Builder
	for _, t := range s.Tables {
		fmt.Fprintf(&b, "%s on %s: %s, mean ± standard error\n", s.Name, t.Text, t.unit())
		if k := t.Task; k != nil {
			b.WriteString(wrapped(k.text(), widest) + "\n")
		}
		b.WriteByte('\n')
		b.WriteString(t.text())
		b.WriteByte('\n')
	}
	b.WriteString(s.matrixText())
	for _, fact := range s.facts() {
		b.WriteString(wrapped(fact[0]+": "+fact[1], widest) + "\n")
	}
	return b.String()
}

// facts returns what is true of the whole study.
func (s *summary) facts() (list [][2]string) {
	list = append(list, [2]string{"budget", s.Budget})
	if s.Tuned != "" {
		list = append(list, [2]string{"tuned", s.Tuned})
	}
	if s.Looks != "" {
		list = append(list, [2]string{"looks", s.Looks})
	}
	list = append(list, s.cautions()...)
	for _, left := range s.LeftOut {
		list = append(list, [2]string{"left out", left})
	}
	if s.Ranked != nil {
		list = append(list, [2]string{"ranks", s.Ranked.text()})
	}
	if s.Missing > 0 {
		list = append(list, [2]string{"missing", fmt.Sprintf("%d trials or more, so there are no verdicts", s.Missing)})
	}
	for _, t := range s.Tables {
		list = append(list, [2]string{"text", t.Text + ", SHA-256 " + t.SHA256})
	}
	list = append(list, [2]string{"seeds", s.Seeds}, [2]string{"program", s.Program},
		[2]string{"SHA-256 of the configurations and results, which lab -replay repeats", s.SHA256})
	return append(list, [2]string{"trials", fmt.Sprintf("%d of %d results reused", s.Reused, s.Trials)},
		[2]string{"command", s.Command})
}

// cautions returns what a reader must know of the intervals and verdicts.
func (s *summary) cautions() (list [][2]string) {
	compared, judged, provisional, few := false, false, 0, 0
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			d := r.Difference
			if d == nil {
				continue
			}
			compared, judged = true, judged || d.Verdict != ""
			if d.Provisional {
				provisional, few = provisional+1, max(few, r.Seeds)
			}
		}
	}
	switch {
	case judged:
		list = append(list, [2]string{"intervals",
			"95 %, adjusted as the verdicts are, for all arms and looks of a table"})
	case compared:
		list = append(list, [2]string{"intervals", "95 %, each of one arm alone; there are no verdicts"})
	}
	if provisional > 0 {
		floor := ""
		if few < paired.Confirming {
			floor = fmt.Sprintf(", which are %.3g or more with %d seeds and can confirm from %d on",
				math.Pow(2, 1-float64(few)), few, paired.Confirming)
		}
		list = append(list, [2]string{"provisional",
			"by Student's t, and not confirmed by the p of sign flips" + floor})
	}
	return list
}

// outcome returns the name of the number that decides.
func (t table) outcome() string {
	if t.Task != nil {
		return accuracy
	}
	return "loss"
}

// unit returns the outcome with its unit.
func (t table) unit() string {
	if t.Task != nil {
		return "accuracy on the test rows"
	}
	return "loss in nats per token"
}

// text says what the best predictor reaches.
func (k *known) text() string {
	best := fmt.Sprintf("guesses: blind %.4g, by the last token %.4g, among the tokens seen %.4g; optimum %.4g",
		k.Chance, k.LastToken, k.Seen, k.OptimumAccuracy)
	if k.OptimumLoss > 0 {
		best += fmt.Sprintf(" and a loss of %.4f", k.OptimumLoss)
	}
	return best + "; " + k.Source
}

// text returns the table for a terminal. A long name has a line of its own, and so have the words about an arm.
func (t table) text() string {
	head := []string{"arm", "parameters", "steps", t.outcome(), "difference, 95 %", "p Holm", "p flip"}
	lines := [][]string{head}
	for _, r := range t.Rows {
		lines = append(lines, r.cells())
	}
	widths := make([]int, len(head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	widths[0] = min(widths[0], widest-sum(widths[1:])-2*(len(head)-1))
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(aligned(line, widths))
		if i > 0 {
			b.WriteString(wrapped("  "+t.Rows[i-1].words(), widest) + "\n")
		}
	}
	b.WriteString(t.measures())
	for i, line := range t.findings() {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(wrapped(line, widest) + "\n")
	}
	return b.String()
}

// findings returns what -scale and -widths ask for, in words.
func (t table) findings() []string {
	if t.Law != nil {
		return t.Law.lines()
	}
	return t.Transfer.lines()
}

// measures returns a table of the measures, if there are any.
func (t table) measures() string {
	names := t.measured()
	if len(names) == 0 {
		return ""
	}
	lines := [][]string{append([]string{"arm"}, names...)}
	for _, r := range t.Rows {
		line := []string{r.Arm}
		for _, name := range names {
			line = append(line, measureText(name, r.Measures[name]))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	widths[0] = min(widths[0], max(8, widest-sum(widths[1:])-2*len(names)))
	var b strings.Builder
	b.WriteByte('\n')
	for _, line := range lines {
		b.WriteString(aligned(line, widths))
	}
	return b.String()
}

// measureText returns a measure with its unit.
func measureText(name string, x float64) string {
	for _, m := range measures() {
		if name != m.name && !(isCost(name) && m.name == "cost") {
			continue
		}
		switch {
		case m.unit == "" && x == 0:
			return "nothing"
		case m.unit == "":
			return fmt.Sprintf("%.0e", x)
		case x < 100:
			return fmt.Sprintf("%.3g %s", x, m.unit)
		}
		return program.Thousands(int64(math.Round(x))) + " " + m.unit
	}
	return fmt.Sprintf("%.4g", x)
}

// aligned returns a line of cells: the first to the left, the others to the right. A first cell that is too long comes
// above the others.
func aligned(line []string, widths []int) string {
	var b strings.Builder
	first := line[0]
	if utf8.RuneCountInString(first) > widths[0] {
		b.WriteString(first + "\n")
		first = ""
	}
	b.WriteString(first + strings.Repeat(" ", widths[0]-utf8.RuneCountInString(first)))
	for i, cell := range line[1:] {
		b.WriteString("  " + strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(cell)) + cell)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// cells returns the numbers of an arm.
func (r *row) cells() []string {
	loss, steps := "not run", "–"
	if r.Diverged > 0 {
		loss = "diverged"
	}
	if r.Seeds > 0 {
		loss, steps = fmt.Sprintf("%.4f", r.Loss), program.Thousands(int64(math.Round(r.Steps)))
	}
	if r.Seeds > 1 {
		loss += fmt.Sprintf(" ± %.4f", r.SE)
	}
	if r.Outcome != nil {
		loss = r.accuracy()
	}
	line := []string{r.Arm, program.Thousands(r.Parameters), steps, loss, "", "", ""}
	if d := r.Difference; d != nil {
		copy(line[4:], []string{d.interval(), p(d.Holm), p(d.SignFlip)})
	}
	return line
}

// interval returns the difference with its interval.
func (d *difference) interval() string {
	signed := func(x float64) string { return strings.Replace(fmt.Sprintf("%+.4f", x), "-", "−", 1) }
	return fmt.Sprintf("%s (%s to %s)", signed(d.Mean), signed(d.Low), signed(d.High))
}

// words returns the line below the numbers of an arm.
func (r *row) words() string {
	var list []string
	if r.Difference != nil && r.Difference.Verdict != "" {
		list = append(list, r.Difference.Verdict)
	}
	switch {
	case r.Outcome != nil:
		list = append(list, fmt.Sprintf("loss %.4f", r.Loss))
	case r.Seeds > 0:
		list = append(list, fmt.Sprintf("%.4f bits/byte", r.BitsPerByte))
	}
	if r.Seeds > 0 {
		list = append(list, fmt.Sprintf("%.1f ms/step", r.Ms))
	}
	return strings.Join(append(list, r.notes()...), "; ")
}

// notes returns what few arms have.
func (r *row) notes() (list []string) {
	if d := r.Difference; d != nil && d.Doubt != "" {
		list = append(list, string(d.Doubt)+", so sign flips decide")
	}
	if d := r.Difference; d != nil && d.Verdict != "" && d.Estimate != d.Mean {
		list = append(list, fmt.Sprintf("estimate %+.4f without the bias of early looks", d.Estimate))
	}
	if r.More != 0 {
		list = append(list, strings.Replace(fmt.Sprintf("%+.3g %% parameters", 100*r.More), "-", "−", 1))
	}
	if r.Setting != "" {
		list = append(list, r.setting())
	}
	if r.Diverged > 0 {
		list = append(list, fmt.Sprintf("%d of %d seeds diverged", r.Diverged, r.Diverged+r.Seeds))
	}
	if r.Reached != nil {
		list = append(list, fmt.Sprintf("target after %.0f steps, %.1f s", r.Reached.Steps, r.Reached.Seconds))
	}
	return list
}

// setting returns what tuning has chosen, with a mark at values that are at an end of their grid.
func (r *row) setting() string {
	fields := strings.Split(r.Setting, ",")
	for i, f := range fields {
		if name, _, _ := strings.Cut(f, "="); slices.Contains(r.Edge, name) {
			fields[i] += " (at the edge of its grid)"
		}
	}
	return strings.Join(fields, ", ")
}

// p returns a probability with three digits after the point.
func p(x float64) string {
	if x < 0.0005 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", x)
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// wrapped breaks a line at spaces. Further lines are indented by four.
func wrapped(line string, width int) string {
	var b strings.Builder
	column := 0
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for i, word := range strings.Fields(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			b.WriteString(strings.Repeat(" ", indent))
			column = indent
		case column+1+n > width:
			b.WriteString("\n    ")
			column = 4
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
