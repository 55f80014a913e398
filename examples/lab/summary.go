package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
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
	Program string   `json:"program"` // its commit, or its SHA-256
	SHA256  string   `json:"sha256"`  // of all that -replay repeats
	Seeds   string   `json:"seeds"`
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
	Text     string          `json:"text"`
	SHA256   string          `json:"sha256"`   // of the text
	Baseline json.RawMessage `json:"baseline"` // the resolved configuration of the first row
	Task     *known          `json:"task,omitempty"`
	Rows     []row           `json:"rows"`
	Law      *law            `json:"law,omitempty"` // of -scale

	Transfer transfer `json:"transfer,omitempty"` // of -widths
}

// row is an arm on a text. Numbers are means over the seeds.
type row struct {
	Arm         string             `json:"arm"`
	Seeds       int                `json:"seeds"` // that have not diverged
	Diverged    int                `json:"diverged,omitempty"`
	Changes     []string           `json:"changes,omitempty"` // of the baseline's configuration, field=value
	Parameters  int64              `json:"parameters"`
	More        float64            `json:"more,omitempty"` // parameters / the baseline's − 1, beyond 1 %
	Work        gpt.Work           `json:"flops_per_token"`
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
	Mean        float64      `json:"mean"`
	Low         float64      `json:"low"`      // of the 95 % interval: adjusted for the arms and looks of the study,
	High        float64      `json:"high"`     // or of this arm alone if there is no verdict
	Estimate    float64      `json:"estimate"` // without the bias of early looks
	Holm        float64      `json:"p_holm"`
	SignFlip    float64      `json:"p_sign_flip"`
	Doubt       paired.Doubt `json:"doubt,omitempty"`   // why sign flips decide
	Verdict     string       `json:"verdict,omitempty"` // none while trials are missing
	Provisional bool         `json:"provisional,omitempty"`
}

func (o *options) summary(r *lab.Report, args []string, reused int) (sum *summary, err error) {
	s := r.Study
	sum = &summary{
		Name: s.Name, Command: strings.Join(append([]string{"go run ./examples/lab " + o.command}, quoted(args)...),
			" "),
		Machine: fmt.Sprintf("%s, %d threads", runtime.GOOS+"/"+runtime.GOARCH, runtime.GOMAXPROCS(0)),
		Build:   train.ThisBuild().String(), Budget: o.budgetText(), LeftOut: o.leftOut,
		Trials: len(r.Trials), Reused: reused, Missing: r.Missing, Program: r.Program, SHA256: r.SHA256,
		Seeds: r.Seeds(),
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
		next := table{Text: t.Text, SHA256: t.SHA256, Task: o.known(t.Text)}
		if next.Baseline, err = json.Marshal(t.Rows[0].Config); err != nil {
			return nil, err
		}
		for _, line := range t.Rows {
			row := newRow(s, line, t.BytesPerToken)
			if row.Changes, err = line.Changes(t.Rows[0]); err != nil {
				return nil, err
			}
			if o.command != "scale" && o.command != "transfer" {
				row.More = more(line.Parameters, t.Rows[0].Parameters)
			}
			next.Rows = append(next.Rows, row)
		}
		if o.command == "scale" && r.Missing == 0 {
			next.Law = fitted(next, s.Base.Seed)
		}
		if o.command == "transfer" && r.Missing == 0 {
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
		Outcome: newDecided(s, r.Outcome), Work: r.Work,
	}
	for name, m := range r.Measures {
		line.Measures[name] = m.Value
	}
	if c := r.Comparison; c != nil {
		d := &difference{Mean: c.Mean, Low: c.Low, High: c.High, Estimate: c.Mean, Holm: c.P, SignFlip: c.SignFlip,
			Doubt: c.Doubt}
		if j := r.Judgement; j != nil {
			d.Low, d.High, d.Estimate, d.Holm = j.Low, j.High, j.Estimate, j.P
			d.Verdict, d.Provisional = j.String(), j.Provisional
		}
		line.Difference = d
	}
	return line
}

// more returns the share by which an arm has more parameters than the baseline, or 0 up to one in a hundred.
func more(arm, baseline int64) float64 {
	share := float64(arm)/float64(baseline) - 1
	if arm == 0 || baseline == 0 || math.Abs(share) <= 0.01 { // not run, or nearly equal
		return 0
	}
	return share
}

// budgetText says what the arms may use.
func (o *options) budgetText() string {
	if o.command == "scale" {
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

// measured returns the names of the measures of a table, except the outcome.
func (t table) measured() []string {
	outcome := func(name string) bool { return name == accuracy }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.Rows[0].Measures)), outcome)
}
