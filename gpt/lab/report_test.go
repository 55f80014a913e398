package lab

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func report(t *testing.T, s *Study) *Report {
	t.Helper()
	all(t, s)
	r, err := s.Report()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An arm of another configuration that computes the same has differences of exactly 0; a worse one is worse. Each is
// reported as such, with the number of seeds, the sizes and the mean curve.
func TestReport(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms = Arms("baseline", "rope_theta=500", "learning_rate=0.00001", "n_inner=20")
	s.Seeds, s.Budget.Steps = 8, 40
	s.Base.EvalInterval = 10
	for _, trial := range report(t, s).Tables[0].Rows[0].Trials {
		s.Target = max(s.Target, trial.Result.Curve[3].Val)
	}
	r := report(t, s)
	rows := r.Tables[0].Rows
	if len(r.Tables) != 1 || len(rows) != 4 || len(r.Trials) != 32 || r.Missing != 0 {
		t.Fatalf("got %d tables, %d rows, %d trials, %d missing", len(r.Tables), len(rows), len(r.Trials), r.Missing)
	}
	if got := r.Tables[0].BytesPerToken; got != 1 {
		t.Errorf("got %v bytes per character, want 1", got)
	}
	if base := rows[0]; base.Judgement != nil || base.Comparison != nil || base.Outcome.N != 8 ||
		base.Steps.Value != 40 {
		t.Errorf("baseline: got %+v", base)
	}
	same := rows[1]
	if same.Judgement.Verdict != paired.Same || !same.Comparison.Same || same.Comparison.Mean != 0 ||
		same.Comparison.SE != 0 {
		t.Errorf("Same: got %+v, %+v", same.Judgement, same.Comparison)
	}
	if slow := rows[2]; slow.Judgement.Verdict != paired.Worse || !(slow.Comparison.Low > 0) || slow.Reached != nil &&
		slow.Reached.Steps <= rows[0].Reached.Steps {
		t.Errorf("a rate near 0: got %+v, %+v, %+v", slow.Judgement, slow.Comparison, slow.Reached)
	}
	if narrow := rows[3]; narrow.Parameters == rows[0].Parameters || narrow.Judgement == nil {
		t.Errorf("n_inner=20: got %+v", narrow)
	}
	curve := rows[0].Curve
	if len(curve) != 4 || curve[3].Step != 40 || !(curve[3].Mean < curve[0].Mean) || !(curve[0].SD > 0) {
		t.Errorf("curve: got %+v", curve)
	}
	var sum float64
	for _, trial := range rows[0].Trials {
		sum += trial.Result.Loss / 8
	}
	if got := rows[0].Outcome.Value; math.Abs(got-sum) > 1e-12 {
		t.Errorf("got the mean %v, want %v", got, sum)
	}
	if reached := rows[0].Reached; reached == nil || math.Abs(reached.Tokens/reached.Steps-16) > 1e-9 ||
		reached.Steps > 40 {
		t.Errorf("target: got %+v", reached)
	}
}

// A report of a study that is not finished has no verdict.
func TestReportOfAPart(t *testing.T) {
	s := tiny(t, t.TempDir())
	n := 0
	for _, err := range s.Run(t.Context()) {
		if n++; err != nil || n == 5 {
			break
		}
	}
	r, err := s.Report()
	if err != nil {
		t.Fatal(err)
	}
	if r.Missing < 1 || len(r.Trials)+r.Missing != 6 {
		t.Errorf("got %d trials, %d missing", len(r.Trials), r.Missing)
	}
	for _, row := range r.Tables[0].Rows {
		if row.Judgement != nil {
			t.Errorf("%s: got %v, want no verdict", row.Arm, row.Judgement)
		}
	}
}

// An arm with a verdict ends at an early look, and the others go on.
func TestLooks(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms = Arms("baseline", "learning_rate=0.00001", "beta2=0.98")
	s.Plan, s.Seeds, s.Budget.Steps = paired.Plan{Looks: []int{4, 6}, Boundary: paired.Pocock}, 6, 40
	r := report(t, s)
	rows := r.Tables[0].Rows
	if got := rows[1]; got.Judgement.Verdict != paired.Worse || got.Outcome.N != 4 {
		t.Errorf("a rate near 0: got %v after %d seeds, want worse after 4", got.Judgement, got.Outcome.N)
	}
	if got := rows[2]; got.Outcome.N != rows[0].Outcome.N || got.Judgement.Verdict == paired.NotToldApart &&
		got.Outcome.N != 6 {
		t.Errorf("beta2: got %v after %d seeds, the baseline after %d", got.Judgement, got.Outcome.N, rows[0].Outcome.N)
	}
}

// A verdict may follow a measure for which higher is better, on each of several texts; timed measures are reported, but
// are not part of the results.
func TestMeasures(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Measures = []Measure{
		{Name: "rate", Version: "1", Higher: true, Of: func(_ context.Context, t *gpt.Trainer) (float64, error) {
			c := t.Config()
			return c.LearningRate * (1 + 1e-3*float64(c.Seed%3)), nil
		}},
		{
			Name: "timed", Version: "1", Timed: true,
			Of: func(context.Context, *gpt.Trainer) (float64, error) { return 7, nil },
		},
	}
	s.Outcome, s.Arms, s.Seeds = "rate", Arms("baseline", "learning_rate=0.1", "learning_rate=0.0001"), 3
	short := s.Texts[0]
	short.Name, short.Change = "short", func(c *gpt.Config) { c.BlockSize = 4 }
	s.Texts = append(s.Texts, short)
	r := report(t, s)
	for _, table := range r.Tables {
		for i, want := range []paired.Verdict{"", paired.Better, paired.Worse} {
			row := table.Rows[i]
			if i > 0 && row.Judgement.Verdict != want {
				t.Errorf("%s, %s: got %v, want %s", table.Text, row.Arm, row.Judgement, want)
			}
			if got := row.Measures["timed"]; got.Value != 7 || row.Trials[0].Result.Measures["timed"] != 0 {
				t.Errorf(
					"%s, %s: timed: got %+v, and %v in the results", table.Text, row.Arm, got,
					row.Trials[0].Result.Measures,
				)
			}
		}
	}
	if r.Tables[0].Rows[0].Tokens.Value != 2*r.Tables[1].Rows[0].Tokens.Value {
		t.Errorf("the change of the short text was not applied")
	}
}

// A share of right answers decides nothing with fewer than 6 seeds, and a study with looks goes on.
func TestShares(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Measures = []Measure{{Name: "right", Version: "1", Higher: true, Share: true,
		Of: func(_ context.Context, t *gpt.Trainer) (float64, error) {
			c := t.Config()
			return c.LearningRate * (1 + 1e-3*float64(c.Seed*c.Seed%31)), nil
		}}}
	s.Outcome, s.Arms, s.Seeds, s.Budget.Steps = "right", Arms("baseline", "learning_rate=0.1"), 5, 1
	row := report(t, s).Tables[0].Rows[1]
	if j := row.Judgement; j.Verdict != paired.TooFew || j.Seeds < 6 || j.Low > 0 {
		t.Errorf("5 seeds: got %v, want too few", j)
	}
	s.Seeds, s.Plan = 8, paired.Plan{Looks: []int{4, 6, 8}, Boundary: paired.Pocock}
	if row := report(t, s).Tables[0].Rows[1]; row.Judgement.Verdict != paired.Better || row.Judgement.Provisional ||
		row.Outcome.N != 6 {
		t.Errorf("looks: got %v after %d seeds, want better after 6", row.Judgement, row.Outcome.N)
	}
}

// A report can be cited alone: it says what was trained on what, by which program, and what every arm changes.
func TestReportIsComplete(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms = append(Arms("baseline", "n_inner=20"), Arm{Name: "slow", Version: "rate 1", Change: func(c *gpt.Config) {
		c.Hooks.Rate = func(int) float64 { return 1e-3 }
	}})
	s.Budget = Budget{FLOPs: 1e6}
	r := report(t, s)
	table := r.Tables[0]
	if !strings.Contains(r.Program, "sha256:") && !strings.Contains(r.Program, "@") ||
		table.SHA256 != s.Texts[0].Corpus.SHA256() {
		t.Errorf("got the program %q and the text %q", r.Program, table.SHA256)
	}
	for i, row := range table.Rows {
		if row.Config.VocabSize == 0 || row.Config.MaxIters != int(row.Steps.Value) ||
			row.Work.Total() != gpt.FLOPsPerToken(row.Config) ||
			!(row.FLOPs.Value <= 1e6) || row.Config.NInner == table.Rows[0].Config.NInner != (i != 1) ||
			row.Versions["arm"] != []string{"", "", "rate 1"}[i] {
			t.Errorf("%s: got %+v, %v, %v", row.Arm, row.Config, row.Work, row.Versions)
		}
	}
}

// An arm that sees later tokens is refused by name, before its first step.
func TestLeak(t *testing.T) {
	s := tiny(t, t.TempDir())
	s.Arms = append(s.Arms, Arm{Name: "mean", Version: "1", Change: func(c *gpt.Config) {
		c.MLP, c.Parts.MLPs = "mean", []parts.MLP{{Name: "mean", New: func(at nn.Site) nn.Layer {
			n := at.Batch * at.Context
			return mean{at.Value("mean", graph.Const(1/float64(n)), n, n)}
		}}}
	}})
	var err error
	for _, err = range s.Run(t.Context()) {
	}
	if err == nil || !strings.Contains(err.Error(), `arm "mean"`) || !strings.Contains(err.Error(), "mlp") {
		t.Errorf("got %v, want the arm and its layer", err)
	}
}

// mean replaces every row by the mean of all.
type mean struct{ weights graph.Expr }

func (l mean) Forward(x graph.Expr) graph.Expr { return l.weights.MatMul(x) }

func TestCross(t *testing.T) {
	arms := Cross(Arms("baseline", "norm=rmsnorm"), Arms("baseline", "attention=linear", "attention=gqa,n_kv_head=1"))
	var names []string
	for _, a := range arms {
		names = append(names, a.Name)
	}
	want := []string{"baseline", "attention=linear", "attention=gqa,n_kv_head=1", "norm=rmsnorm",
		"norm=rmsnorm,attention=linear", "norm=rmsnorm,attention=gqa,n_kv_head=1"}
	if !slices.Equal(names, want) || len(arms[5].Set) != 3 {
		t.Errorf("got %q", names)
	}
}
