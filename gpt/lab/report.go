package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
)

// Report holds the results of a study as far as its trials are finished.
type Report struct {
	Study   *Study
	Tables  []Table // by text
	Trials  []*Trial
	Missing int    // the number of trials that are known to be missing; with any, there are no verdicts
	SHA256  string // of the function SHA256, of all trials
	Program string // the sources: the commit from which the program was built, or the SHA-256 of the program
}

// Table compares the arms on one text. The first row is the baseline.
type Table struct {
	Text   string
	SHA256 string // of the text
	// BytesPerToken counts the bytes in the validation split, by which text.BitsPerByte makes losses of different
	// tokenizers comparable.
	BytesPerToken float64
	Rows          []Row
}

// Row is an arm on a text.
type Row struct {
	Arm        string
	Config     gpt.Config        // resolved, within the budget, and with the chosen setting
	Versions   map[string]string // of the code in it that is not the library's, in base, text and arm
	Work       gpt.Work          // of a token, in FLOPs
	Setting    string            // what tuning has chosen
	Edge       []string          // the fields whose chosen value is at an end of its grid: a better one may be outside
	Diverged   int               // the number of seeds whose loss was not finite
	Outcome    Mean
	Loss       Mean               // nats per token
	Comparison *paired.Comparison // with the baseline; nil for the baseline, and with fewer than two pairs of seeds
	Judgement  *paired.Judgement  // nil if there is no verdict

	Parameters int64
	Steps      Mean
	Tokens     Mean
	FLOPs      Mean
	Seconds    Mean // of all steps
	Ms         Mean // of a step
	Measures   map[string]Mean
	Curve      []Band
	Reached    *Reached // nil without a target, or if some seed has not reached it
	Trials     []*Trial // by seed
}

// Mean is a mean over the seeds that have not diverged, with the standard error of the mean.
type Mean struct {
	Value, SE float64
	N         int
}

// Band is a point of the mean validation curve.
type Band struct {
	Step     int
	Mean, SD float64 // over the seeds
}

// Reached says what an arm needed for the study's target, as means over its seeds.
type Reached struct{ Steps, Tokens, FLOPs, Seconds float64 }

// Report compares the arms by the trials that are finished.
func (s *Study) Report() (*Report, error) {
	p, err := s.planned()
	if err != nil {
		return nil, err
	}
	v, err := p.survey()
	if err != nil {
		return nil, err
	}
	r := &Report{Study: s, Missing: len(v.missing)}
	if r.Program, err = program(); err != nil {
		return nil, err
	}
	var lines []string
	for t := range v.finished() {
		r.Trials = append(r.Trials, t)
		line, err := repeated(t.Identity, t.Result)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	r.SHA256 = hashOf(lines)
	for i, row := range v.cells {
		table := Table{Text: s.Texts[i].Name, SHA256: s.Texts[i].Corpus.SHA256()}
		table.BytesPerToken, err = text.BytesPerToken(s.Texts[i].Corpus.Val(), s.Texts[i].Tokenizer)
		if err != nil {
			return nil, errors.WithMessagef(err, "study %q: text %q", s.Name, table.Text)
		}
		for _, c := range row {
			row := s.row(c)
			if row.Config, err = p.config(c.place); err != nil {
				return nil, err
			}
			row.Config, row.Versions = row.Config.Resolved(), p.versions[c.place]
			row.Work = gpt.WorkPerToken(row.Config)
			table.Rows = append(table.Rows, row)
		}
		r.Tables = append(r.Tables, table)
	}
	return r, nil
}

// row summarises a cell.
func (s *Study) row(c *cell) Row {
	r := Row{Arm: s.Arms[c.arm].Name, Setting: c.setting, Edge: c.edge, Diverged: c.diverged(),
		Comparison: c.compared, Judgement: c.judged, Trials: c.trials, Measures: map[string]Mean{}}
	of := func(f func(*Trial) float64) Mean {
		var list []float64
		for _, t := range c.trials {
			if t.Result.Diverged == 0 {
				list = append(list, f(t))
			}
		}
		return meanOf(list)
	}
	r.Outcome = of(func(t *Trial) float64 { v, _ := t.value(s.Outcome); return v })
	r.Loss = of(func(t *Trial) float64 { return t.Result.Loss })
	r.Steps = of(func(t *Trial) float64 { return float64(t.Result.Steps) })
	r.Tokens = of(func(t *Trial) float64 { return t.Result.Tokens })
	r.FLOPs = of(func(t *Trial) float64 { return t.Result.FLOPs })
	r.Seconds = of(func(t *Trial) float64 { return t.Timing.Seconds })
	r.Ms = of(func(t *Trial) float64 { return t.Timing.Ms })
	for _, m := range s.measures(s.Texts[c.text]) {
		r.Measures[m.Name] = of(func(t *Trial) float64 { v, _ := t.value(m.Name); return v })
	}
	if len(c.trials) > 0 {
		r.Parameters = c.trials[0].Result.Parameters
		r.Curve, r.Reached = bands(c.trials), s.reached(c.trials)
	}
	return r
}

func meanOf(list []float64) (m Mean) {
	if m.N = len(list); m.N == 0 {
		return m
	}
	m.Value = stat.Mean(list, nil)
	if m.N > 1 {
		m.SE = stat.StdErr(stat.StdDev(list, nil), float64(m.N))
	}
	return m
}

// bands returns the mean curve up to the last step that all trials have reached.
func bands(trials []*Trial) (list []Band) {
	for i := 0; ; i++ {
		var at []float64
		for _, t := range trials {
			if i >= len(t.Result.Curve) || t.Result.Curve[i].Step != trials[0].Result.Curve[i].Step {
				return list
			}
			at = append(at, t.Result.Curve[i].Val)
		}
		b := Band{Step: trials[0].Result.Curve[i].Step, Mean: stat.Mean(at, nil)}
		if len(at) > 1 {
			b.SD = stat.StdDev(at, nil)
		}
		list = append(list, b)
	}
}

// reached returns what the trials needed for the target, or nil unless every one reached it.
func (s *Study) reached(trials []*Trial) *Reached {
	if s.Target == 0 {
		return nil
	}
	var r Reached
	for _, t := range trials {
		step := math.Inf(1)
		for _, p := range t.Result.Curve {
			if p.Val <= s.Target {
				step = float64(p.Step)
				break
			}
		}
		if math.IsInf(step, 1) {
			return nil
		}
		share := step / float64(t.Result.Steps) / float64(len(trials))
		r.Steps += step / float64(len(trials))
		r.Tokens += t.Result.Tokens * share
		r.FLOPs += t.Result.FLOPs * share
		r.Seconds += t.Timing.Seconds * share
	}
	return &r
}

// Seeds lists the seeds of the trials, and the seeds that only chose settings, such as "1337 to 1341, 4294968633 for
// tuning".
func (r *Report) Seeds() string {
	if r == nil {
		return ""
	}
	var lists [2][]uint64
	for _, t := range r.Trials {
		which := 0
		if t.Tuning {
			which = 1
		}
		if !slices.Contains(lists[which], t.Seed) {
			lists[which] = append(lists[which], t.Seed)
		}
	}
	texts := []string{}
	for i, list := range lists {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		text := fmt.Sprint(list[0])
		if last := list[len(list)-1]; last != list[0] {
			text += fmt.Sprintf(" to %d", last)
		}
		texts = append(texts, text+[]string{"", " for tuning"}[i])
	}
	return strings.Join(texts, ", ")
}

// Changes lists the fields in which the configuration of an arm differs from the baseline's, and the versions of the
// arm's code.
func (r Row) Changes(base Row) (list []string, err error) {
	fields := [2]map[string]json.RawMessage{}
	for i, row := range []Row{base, r} {
		data, err := json.Marshal(row.Config)
		if err == nil {
			err = field.Unmarshal(data, &fields[i])
		}
		if err != nil {
			return nil, err
		}
	}
	all := maps.Clone(fields[0])
	maps.Copy(all, fields[1])
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was, is := fields[0][name], fields[1][name]; string(was) != string(is) {
			list = append(list, name+"="+cmp.Or(string(is), "default"))
		}
	}
	for _, place := range slices.Sorted(maps.Keys(r.Versions)) {
		list = append(list, "code of the "+place+": "+r.Versions[place])
	}
	return list, nil
}
