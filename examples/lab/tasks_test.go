package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// A study of tasks decides by accuracy, states chance and optimum, and has a matrix of all tasks.
func TestTasks(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-quick", "-dir", dir, "-arms", "attention=linear", "-tasks",
		"parity:Length=5,TestLength=9; repetition:Length=8; markov:Length=6; dyck:Length=9; compression:Length=4; " +
			"modular-addition"}
	out, _ := printed(t, args...)
	for _, want := range []string{"on parity:Length=5,TestLength=9: accuracy on the test rows",
		"guesses: blind 0.5, by the last token 0.", "; optimum 1; Bhattamishra",
		"blind 0.25, by the last token 0.", "; optimum 0.", " and a loss of 1.", "excess over the entropy",
		"(6) modular-addition", "\naccuracy", "0.050 would need"} {
		if !strings.Contains(out, want) && !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line) - 1; n > widest {
			t.Errorf("got %d columns, want at most %d: %s", n, widest, line)
		}
	}
	report := read(t, dir, "report.md")
	for _, want := range []string{
		"| accuracy | loss | difference", "optimum 1; Bhattamishra", "\n| accuracy | parity:Length=5,TestLength=9 | ",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("want %q in\n%s", want, report)
		}
	}
	s := measured(t, args...)
	if head, _, _ := strings.Cut(
		read(t, dir, "scores.csv"), ",repetition",
	); head != `arm,"parity:Length=5,TestLength=9","parity:Length=5,TestLength=9 se"` {
		t.Errorf("scores.csv: got %s", head)
	}
	for _, table := range s.Tables {
		for _, r := range table.Rows {
			if r.Outcome == nil || r.Outcome.Value != r.Measures[accuracy] || !(r.Outcome.Value >= 0 &&
				r.Outcome.Value < 1) || table.Task == nil {
				t.Errorf("%s: got %+v, %v", table.Text, r, table.Task)
			}
		}
	}
	chain := s.Tables[2]
	for _, r := range chain.Rows {
		if d := r.Measures["excess over the entropy"] - (r.Loss - chain.Task.OptimumLoss); !(-1e-9 < d && d < 1e-9) {
			t.Errorf("excess: got %v, want %v", r.Measures, r.Loss-chain.Task.OptimumLoss)
		}
	}
}

// The six tasks of MAD have one name.
func TestMAD(t *testing.T) {
	o, err := asked(t, []string{"-quick", "-tasks", "mad:Train=3"})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := o.taskTexts()
	if err != nil || len(texts) != mad || texts[5].Name != "memorization:Train=3" {
		t.Errorf("got %d texts (%v), want those of %d tasks", len(texts), err, mad)
	}
}

// A task that is unknown or impossible is refused with the choices.
func TestTasksRefused(t *testing.T) {
	for _, tc := range []struct{ args, words string }{
		{"-tasks recall", `-tasks|"recall"|mad stands for the first six|want one of in-context-recall`},
		{"-tasks parity:Size=3", `-tasks|parity|"Size"|{"Length":0,"TestLength":0}, Train`},
		{"-tasks parity:Length", `-tasks|parity|"Length"`},
		{"-tasks parity:Length=x", "-tasks|parity|want numbers"},
		{"-tasks parity:Length=1,Length=2", "-tasks|parity|each option once"},
		{"-tasks parity:Train=0", `-tasks|parity|Train|"0"`},
		{"-tasks parity:Length=-1", "-tasks|parity: Length: got -1, want 1 to"},
		{"-tasks parity:Length=1.5", "-tasks|parity|Length"},
		{"-tasks parity;parity", "texts|parity"}, {"-tasks=", `-tasks|""`},
		{"-tasks parity -data x", "-data: not of lab tasks"}, {"-tasks parity -block_size 9", "-block_size: not of " +
			"lab tasks"},
		{"-tasks parity -tokenizer words", "-tokenizer: not of lab tasks"},
	} {
		err := run(
			t.Context(), append([]string{"-quick", "-dir", t.TempDir()}, strings.Fields(tc.args)...), io.Discard,
			io.Discard,
		)
		for w := range strings.SplitSeq(tc.words, "|") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: got %v, want %q in it", tc.args, err, w)
			}
		}
	}
}

// Tasks have six seeds by default, with fewer of which no accuracy is better or worse, and looks from six on.
func TestSeedsOfTasks(t *testing.T) {
	for args, want := range map[string]string{
		"-tasks parity": "6 []", "-tasks parity -seeds 3": "3 []", "-tasks parity -until told": "16 [6 10 16]",
		"": "5 []", "-until told": "16 [4 8 16]",
		"-tasks parity -until told -looks 4,7": "7 [4 7]",
	} {
		o, err := asked(t, strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(o.seeds, o.plan.Looks); got != want {
			t.Errorf("%q: got %s, want %s", args, got, want)
		}
	}
	s := measured(t, "-quick", "-dir", t.TempDir(), "-tasks", "parity:Length=4", "-arms", "n_layer=1", "-seeds", "3")
	if got := s.Tables[0].Rows[1].Difference; !strings.HasPrefix(got.Verdict, "too few seeds (0.050 would need ") &&
		got.Verdict != "equal for every seed" {
		t.Errorf("3 seeds: got %q, want no verdict", got.Verdict)
	}
}
