package verdict

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// row returns a report with a verdict on text, from differences at two sizes.
func row(idea, verdict string, differences ...float64) *Report {
	r := &Report{
		Idea: idea, Minutes: 7.5, Text: "verse", TextSHA256: "0f", Trials: 9, SHA256: strings.Repeat("a1", 32),
		Plan:   Plan{Sizes: []Size{{16, 1}, {32, 2}}, Steps: 40},
		Checks: []Check{{Name: "decoder", Failed: verdict == "wrong", Fatal: true}},
	}
	if verdict == "wrong" {
		return r
	}
	r.Answers = []Answer{
		{Question: combined.question(), Verdict: verdict},
		{Question: "Does the difference at equal parameters and FLOPs grow with size?", Verdict: "not told"},
	}
	r.Costs = []Cost{{Ratio: 3}, {Ratio: 1.25}}
	for _, d := range differences {
		r.Losses = append(r.Losses, Loss{Budget: combined, Compared: &paired.Comparison{Mean: d}})
	}
	return r
}

// A board begins with the best idea, and a row can be read again.
func TestBoard(t *testing.T) {
	b := Board{
		Rows: []*Report{
			row("worst", "worse", 0.3, 0.2), row("broken", "wrong"), row("equal", "not told apart", -0.01, 0.004), nil,
			row("good", "better", -0.2, -0.1), row("best", "better", -0.4, -0.1), row("diverging", "diverged"),
		},
		LeftOut: []string{"odd: got 3, want an even number"}, Waiting: []string{"later", "last"},
		Command: "go run ./mine -verdict",
	}
	b.Rows[0].SHA256 = strings.Repeat("b2", 32)
	b.Rows[0].Tasks = []Accuracy{{
		What: "parity", Means: [2]float64{1, 0.5}, Judged: &paired.Judgement{Verdict: paired.Worse},
		Again: &paired.Judgement{Verdict: paired.Worse},
	}}
	var out strings.Builder
	if err := b.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"Text: verse, SHA-256 `0f`. Sizes: [16×1 32×2]. 40 steps of a trial.\n\n" +
			"    go run ./mine -verdict IDEA -minutes 7.5 -steps 40\n\n",
		"\n| best | better: −0.400, −0.100 | better: −0.400, −0.100 | not told | 1.25 |  | 9 | `a1a1",
		"\n| good | better: −0.200, −0.100 | ", "\n| equal | not told apart: −0.010, +0.004 | ",
		"\n| worst | worse: +0.300, +0.200 | ", " | parity worse (0.50, baseline 1.00) | 9 | `b2b2",
		"\n| broken | wrong | wrong |  |  |  | 9 | ", "\n| diverging | diverged | diverged | ",
		"\n\nLeft out:\n\n- odd: got 3, want an even number\n\nNot asked yet: later, last.\n",
	} {
		next := strings.Index(out.String()[at:], want)
		if next < 0 {
			t.Fatalf("got\n%s\nwant %q after %q", out.String(), want, out.String()[:at])
		}
		at += next
	}

	path := filepath.Join(t.TempDir(), "BOARD.md")
	put := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(out.String())
	got, err := ReadRow(path, "worst")
	if err != nil || got.Idea != "worst" || got.SHA256 != b.Rows[0].SHA256 || got.Protocol.Minutes != 7.5 ||
		got.Protocol.Plan.Steps != 40 || got.Protocol.Plan.Sizes != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := ReadRow(path, "god"); err == nil || !strings.Contains(err.Error(), "did you mean good?") {
		t.Errorf("an unknown row: got %v", err)
	}
	put("# A page\n")
	if _, err := ReadRow(path, "good"); err == nil || !strings.Contains(err.Error(), "no command") {
		t.Errorf("no board: got %v", err)
	}
	put(strings.Replace(out.String(), "-minutes 7.5", "-minutes x", 1))
	if _, err := ReadRow(path, "good"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a wrong number: got %v", err)
	}
	b.Rows[0].Plan = Quick()
	out.Reset()
	if err := (Board{Rows: b.Rows[:1], Command: "x"}).Markdown(&out); err != nil {
		t.Fatal(err)
	}
	put(out.String())
	if got, err := ReadRow(path, "worst"); err != nil || !slices.Equal(got.Protocol.Plan.Sizes, Quick().Sizes) {
		t.Errorf("got %+v, %v, want the plan of Quick", got, err)
	}
	if err := (Board{LeftOut: []string{"why"}}).Markdown(&out); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("no rows: got %v", err)
	}
}
