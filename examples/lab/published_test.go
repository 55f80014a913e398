package main

import (
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
)

// The ranks of x and y are 1.5 1.5 3 4 and 2 1 4 3: by hand, their correlation is 3.5/√(4.5·5).
func TestSpearman(t *testing.T) {
	x, y := []float64{0.1, 0.1, 5, 70}, []float64{3, -2, 9, 8}
	if got := ranks(x); !slices.Equal(got, []float64{1.5, 1.5, 3, 4}) {
		t.Errorf("got ranks %v, want 1.5 1.5 3 4", got)
	}
	if got, want := spearman(x, y), 3.5/math.Sqrt(4.5*5); !(math.Abs(got-want) <= 1e-15) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := spearman([]float64{2, 2, 2}, []float64{1, 2, 3}); got != 0 {
		t.Errorf("got %v for equal numbers, want 0", got)
	}
}

// A study of tasks reports how its ranks agree with a table: with its own scores wholly, and with their negatives not
// at all.
func TestPublished(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-quick", "-dir", dir, "-arms", "attention=linear;norm=rmsnorm;activation=relu", "-seeds", "1",
		"-tasks", "parity:Length=5,TestLength=9;compression:Length=4"}
	study := measured(t, args...)
	sign := map[bool]float64{}
	for _, opposite := range []bool{false, true} {
		table := "# a comment, with a comma\narm,parity,parity se,compression,dyck\n"
		for i, r := range study.Tables[0].Rows {
			line := []float64{r.Outcome.Value, study.Tables[1].Rows[i].Outcome.Value}
			if opposite {
				line[0], line[1] = -line[0], -line[1]
			}
			table += strings.Join([]string{r.Arm, digits(line[0]), "0.5", digits(line[1]), "7"}, ",") + "\n"
		}
		path := filepath.Join(t.TempDir(), "scores.csv")
		put(t, path, table)
		got := measured(t, append(args, "-published", path)...).Ranked
		if got == nil || got.Scores != 8 || len(got.Arms) != 4 || len(got.Tasks) != 2 {
			t.Fatalf("got %+v, want 8 scores of 4 arms on 2 tasks", got)
		}
		sign[opposite] = got.All
	}
	if sign[false] != 1 || !(sign[true] < 0) {
		t.Errorf(
			"got %v with its own scores and %v with their negatives, want 1 and less than 0", sign[false], sign[true],
		)
	}
	own, _ := printed(t, append(args, "-published", filepath.Join(dir, "scores.csv"))...)
	if want := "Spearman's ρ 1.00 with scores.csv over 8 scores of 4 arms"; !strings.Contains(own, want) {
		t.Errorf("want %q in\n%s", want, own)
	}
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// A table that cannot be compared is refused by its name.
func TestPublishedRefused(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string][2]string{
		"none.csv":  {"", "got no scores"},
		"one.csv":   {"arm,parity\nbaseline,1\nnorm=rmsnorm,2\n", "has 2 of the arms, want at least 3"},
		"word.csv":  {"arm,parity\nbaseline,high\n", `baseline, parity: got "high"`},
		"twice.csv": {"arm,parity\nbaseline,1\nbaseline,2\n", "baseline, parity: got it twice"},
		"long.csv":  {"arm,parity\nbaseline,1,2\n", "wrong number of fields"},
	} {
		path := filepath.Join(dir, name)
		put(t, path, tc[0])
		err := run(t.Context(), []string{"-quick", "-dir", t.TempDir(), "-arms", "norm=rmsnorm;activation=relu",
			"-tasks", "parity:Length=5", "-published", path}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "-published") || !strings.Contains(err.Error(), tc[1]) {
			t.Errorf("%s: got %v, want -published and %s", name, err, tc[1])
		}
	}
	err := run(
		t.Context(), []string{"-quick", "-dir", dir, "-published", filepath.Join(dir, "one.csv")}, io.Discard,
		io.Discard,
	)
	if err == nil || !strings.Contains(err.Error(), "-published: not of lab compare; ./examples/lab tasks has it") {
		t.Errorf("got %v without tasks, want that lab tasks has it", err)
	}
}

// The study of the six tasks in a file has eight arms.
func TestMADStudy(t *testing.T) {
	args := studied([]string{"-study", "mad.json"})
	if args[0] != "tasks" {
		t.Fatalf("got %q, want the command tasks, which the file needs", args)
	}
	o, err := parse(args[0], args[1:], io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := o.taskTexts()
	if err != nil || len(texts) != mad || len(o.variants) != 8 {
		t.Errorf("got %d tasks and %d arms (%v), want %d and 8", len(texts), len(o.variants), err, mad)
	}
}

// The table of the six tasks names arms and tasks that exist.
func TestMADTable(t *testing.T) {
	s, err := readScores("mad.csv")
	if err != nil {
		t.Fatal(err)
	}
	for at, x := range s.of {
		known := slices.Contains(tasks.Names()[:mad], at[1])
		if !known || !(0 <= x && x <= 100) {
			t.Errorf("%v: got %v, want a task of MAD and a percentage", at, x)
		}
	}
}
