package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// summary is a report as all outputs show it.
type summary struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Machine string   `json:"machine"`
	Build   string   `json:"build"`
	Budget  string   `json:"budget"`
	Tuned   string   `json:"tuning,omitempty"`
	Looks   string   `json:"looks,omitempty"`
	LeftOut []string `json:"left_out,omitempty"`
	Trials  int      `json:"trials"`
	Reused  int      `json:"reused"`
	Missing int      `json:"missing,omitempty"`
	Tables  []table  `json:"tables"`
	Ranked  *ranked  `json:"ranked,omitempty"` // with -published
}

// table compares the arms on one text.
type table struct {
	Text string `json:"text"`
	Task *known `json:"task,omitempty"`
	Rows []row  `json:"rows"`
	Law  *law   `json:"law,omitempty"` // of -scale

	Transfer transfer `json:"transfer,omitempty"` // of -widths
}

// row is an arm on a text. Numbers are means over the seeds.
type row struct {
	Arm         string             `json:"arm"`
	Seeds       int                `json:"seeds"` // that have not diverged
	Diverged    int                `json:"diverged,omitempty"`
	Parameters  int64              `json:"parameters"`
	Steps       float64            `json:"steps"`
	Tokens      float64            `json:"tokens"`
	FLOPs       float64            `json:"flops"`
	Loss        float64            `json:"loss"`
	SE          float64            `json:"se"`
	BitsPerByte float64            `json:"bits_per_byte"`
	Outcome     *decided           `json:"outcome,omitempty"` // nil if it is the loss
	Difference  *difference        `json:"difference,omitempty"`
	Setting     string             `json:"setting,omitempty"`
	Edge        []string           `json:"edge,omitempty"`
	Reached     *lab.Reached       `json:"reached,omitempty"`
	Seconds     float64            `json:"seconds"`
	Ms          float64            `json:"ms_per_step"`
	Measures    map[string]float64 `json:"measures,omitempty"`
	Curve       []lab.Band         `json:"curve,omitempty"`
}

// difference compares an arm with the baseline.
type difference struct {
	Mean     float64 `json:"mean"`
	Low      float64 `json:"low"` // of the 95 % interval
	High     float64 `json:"high"`
	Holm     float64 `json:"p_holm"`
	SignFlip float64 `json:"p_sign_flip"`
	Verdict  string  `json:"verdict,omitempty"` // none while trials are missing
}

func (o *options) summary(r *lab.Report, args []string, reused int) (sum *summary, err error) {
	s := r.Study
	sum = &summary{
		Name: s.Name, Command: strings.Join(append([]string{"go run ./examples/lab"}, quoted(args)...), " "),
		Machine: fmt.Sprintf("%s, %d threads", runtime.GOOS+"/"+runtime.GOARCH, runtime.GOMAXPROCS(0)),
		Build:   train.ThisBuild().String(), Budget: o.budgetText(), LeftOut: o.leftOut,
		Trials: len(r.Trials), Reused: reused, Missing: r.Missing,
	}
	if len(s.Tuning.Grid) > 0 {
		sum.Tuned = fmt.Sprintf("%s, on %d other seeds", strings.Join(o.tune, " × "), s.Tuning.Seeds)
	}
	if levels, err := s.Plan.Levels(); err == nil && len(s.Plan.Looks) > 0 {
		var list []string
		for i, n := range s.Plan.Looks {
			list = append(list, fmt.Sprintf("%d (level %.4f)", n, levels[i]))
		}
		sum.Looks = strings.Join(list, ", ") + " seeds, by " + o.boundary
	}
	for _, t := range r.Tables {
		next := table{Text: t.Text, Task: o.known(t.Text)}
		for _, line := range t.Rows {
			next.Rows = append(next.Rows, newRow(s, line, t.BytesPerToken))
		}
		if o.scale != "" && r.Missing == 0 {
			next.Law = fitted(next, s.Base.Seed)
		}
		if o.widths != "" && r.Missing == 0 {
			next.Transfer = o.transfer(next.Rows)
		}
		sum.Tables = append(sum.Tables, next)
	}
	if o.scores != nil {
		sum.Ranked, err = o.scores.compare(sum.Tables)
	}
	return sum, err
}

func newRow(s *lab.Study, r lab.Row, bytes float64) row {
	line := row{
		Arm: r.Arm, Seeds: r.Loss.N, Diverged: r.Diverged, Parameters: r.Parameters, Steps: r.Steps.Value,
		Tokens: r.Tokens.Value, FLOPs: r.FLOPs.Value, Loss: r.Loss.Value, SE: r.Loss.SE,
		BitsPerByte: text.BitsPerByte(r.Loss.Value, bytes), Setting: r.Setting, Edge: r.Edge, Reached: r.Reached,
		Seconds: r.Seconds.Value, Ms: r.Ms.Value, Curve: r.Curve, Measures: map[string]float64{},
		Outcome: newDecided(s, r.Outcome),
	}
	for name, m := range r.Measures {
		line.Measures[name] = m.Value
	}
	if c := r.Comparison; c != nil {
		line.Difference = &difference{Mean: c.Mean, Low: c.Low, High: c.High, Holm: c.P, SignFlip: c.SignFlip}
		if j := r.Judgement; j != nil {
			line.Difference.Holm, line.Difference.Verdict = j.P, j.String()
		}
	}
	return line
}

// budgetText says what the arms may use.
func (o *options) budgetText() string {
	if o.scale != "" {
		return "steps of each size: " + o.scaleIters
	}
	if o.budget == "" || strings.HasPrefix(o.budget, "parameters") {
		return strings.TrimPrefix(fmt.Sprintf("%s, steps=%d", o.budget, o.base.MaxIters), ", ")
	}
	if o.limit.Timed() {
		return o.budget + " (another run does not repeat these results)"
	}
	return o.budget
}

// quoted returns arguments as a shell reads them.
func quoted(args []string) (list []string) {
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " ;*?$'\"\\&|<>()") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		list = append(list, a)
	}
	return list
}

// measured returns the names of the measures of a table, except that of the outcome.
func (t table) measured() []string {
	outcome := func(name string) bool { return name == accuracy }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.Rows[0].Measures)), outcome)
}
