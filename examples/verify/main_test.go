package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}

func do(args ...string) (status int, stdout, stderr string) {
	var out, complaint bytes.Buffer
	if err := run(context.Background(), args, &out, &complaint); err != nil && err != flag.ErrHelp {
		status = 1
		fmt.Fprintln(&complaint, "verify:", err)
	}
	return status, out.String(), complaint.String()
}

func TestTable(t *testing.T) {
	status, out, complaint := do("-block", "post", "-activation", "relu", "-n_layer", "1", "-loss", "sum")
	if status != 0 || complaint != "" {
		t.Fatalf("status %d: %s", status, complaint)
	}
	for _, want := range []string{
		"h.0.attn.c_attn.bias k", "≡ 0", "complex step", "every gradient by hand equals autodiff",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant %q in it", out, want)
		}
	}
}

func TestJSON(t *testing.T) {
	status, out, complaint := do("-json", "-n_layer", "1", "-head", "tied")
	var r verify.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("status %d: %v %s", status, err, complaint)
	}
	if !r.OK() || len(r.Rows) != 2+16+2 || !(r.Worst <= verify.Suspicion) || !(r.Worst > 0) {
		t.Errorf("got %d rows, worst %.1e, failures %v", len(r.Rows), r.Worst, r.Failures)
	}
}

// Every entry has a row for each Case, with its types, and no gradient disagrees. TestCases runs every Case, so by day
// one entry of 29 is run here; the README's command runs all, as does NIGHTLY=1.
func TestAll(t *testing.T) {
	entries := inventory.Entries()
	if os.Getenv("NIGHTLY") == "" {
		i := 0
		entries = slices.DeleteFunc(entries, func(verify.Entry) bool { i++; return i%29 > 0 })
	}
	var b strings.Builder
	if err := layers(t.Context(), &b, entries); err != nil {
		t.Fatal(err)
	}
	out, lines, both := b.String(), 0, 0
	for _, e := range entries {
		lines += max(1, len(e.Cases))
		for _, c := range e.Cases {
			if c.Bidirectional {
				both++
			}
			if row := strings.Join(c.Types, ", "); !strings.Contains(out, row) {
				t.Errorf("%s: want %q in\n%s", e.ID, row, out)
			}
		}
	}
	if got, want := strings.Count(out, "\n"), 5+lines; got != want ||
		!strings.Contains(out, fmt.Sprintf("no token sees a later one except in %d cases", both)) {
		t.Errorf("got %d lines, want %d:\n%s", got, want, out)
	}
}

// The README lists the entries that -all runs, and the row of every other entry states that it is not run.
func TestNotRun(t *testing.T) {
	entries := inventory.Entries()
	entries = slices.DeleteFunc(entries, func(e verify.Entry) bool { return len(e.Cases) > 0 })
	var out bytes.Buffer
	if err := layers(t.Context(), &out, entries); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "not run here; tests: Test"); got != len(entries) || len(entries) == 0 {
		t.Errorf("got %d rows that say that they are not run, want %d:\n%s", got, len(entries), out.String())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("names the tests of %d claims", len(entries)); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q", want)
	}
}

// A disagreeing gradient means status 1, and the message names the place.
func TestBroken(t *testing.T) {
	e := inventory.Entries()[slices.IndexFunc(inventory.Entries(), func(e verify.Entry) bool { return e.ID == "I10" })]
	c := &e.Cases[0]
	backward := c.Backward
	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		g := backward(p, delta)
		g[slices.IndexFunc(g, func(e hand.Gradient[float64]) bool { return e.Name == "weight" })].Value.Data[14] += 1e-6
		return g
	}
	var out bytes.Buffer
	err := layers(t.Context(), &out, []verify.Entry{e})
	if err != errDisagree || !strings.Contains(out.String(), "FAIL linear: weight: autodiff") ||
		!strings.Contains(out.String(), "weight, row 1, column 1: autodiff has") {
		t.Errorf("got error %v\n%s", err, out.String())
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		out.Reset()
		if err := show(&out, r, asJSON); err != errDisagree ||
			!strings.Contains(out.String(), "the first wrong gradient") {
			t.Errorf("got error %v\n%s", err, out.String())
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-loss", "median"}, `-loss: got "median", want mean or sum`},
		{[]string{"-n_layer", "many"}, "many"},
		{[]string{"-activation", "swish"}, "swish"},
		{[]string{"-checkpoint", "nowhere"}, "nowhere"},
		{[]string{"foo"}, `unexpected argument "foo"`},
		{[]string{"-all", "-json"}, "-json: -all checks every layer on its own"},
		{[]string{"-all", "-n_layer", "1"}, "-n_layer: -all checks"},
		{[]string{"-model", "nowhere", "-attention", "bigbird"}, "-attention: -model has the network"},
		{[]string{"-data", "input.txt"}, "-data: without -model"},
		{[]string{"-page", "x.html", "-exact"}, "-exact: -page writes a page about the papers and takes no other flag"},
	} {
		if status, _, complaint := do(test.args...); status != 1 || !strings.Contains(complaint, test.want) {
			t.Errorf("%v: got status %d: %s; want 1: %s", test.args, status, complaint, test.want)
		}
	}
	if status, out, complaint := do("-h"); status != 0 || out != "" || !strings.Contains(complaint, "-model") {
		t.Errorf("-h: got status %d, %q, %q; want the flags", status, out, complaint)
	}
}

// An interrupted check ends with the reason and prints no table.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupt")
	cancel(reason)
	for _, args := range [][]string{nil, {"-all"}} {
		var out bytes.Buffer
		if err := run(ctx, args, &out, io.Discard); err != reason || out.Len() > 0 {
			t.Errorf("%v: got error %v\n%s", args, err, out.String())
		}
	}
}

// The weights of a model that has been trained for some steps.
func TestCheckpoint(t *testing.T) {
	verses := strings.Repeat("Who weighs us both and tells if we shall float?\nThe boat will tell.\n", 20)
	data := filepath.Join(t.TempDir(), "verses.txt")
	if err := os.WriteFile(data, []byte(verses), 0o644); err != nil {
		t.Fatal(err)
	}
	c := small()
	c.VocabSize, c.MaxIters, c.WarmupIters, c.LRDecayIters, c.LearningRate, c.Dropout = 0, 5, 1, 5, 1e-2, 0.1
	dir := filepath.Join(t.TempDir(), "out")
	trainSome(t, c, verses, dir)

	status, out, complaint := do("-checkpoint", dir, "-data", data, "-json")
	var r verify.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("status %d: %v %s", status, err, complaint)
	}
	if !r.OK() || len(r.Rows) != 38 || !(r.Worst <= verify.Suspicion) || !(r.Worst > 0) {
		t.Errorf(
			"got %d rows, worst %.1e, failures %v; want 38, ≤ %.0e, none", len(r.Rows), r.Worst, r.Failures,
			verify.Suspicion,
		)
	}
	if !(r.Loss > 1 && r.Loss < 4) {
		t.Errorf("got loss %v, want one of a model that has begun to learn", r.Loss)
	}
	if want := "parameters, 2 sequences of 6 tokens\n"; !strings.Contains(complaint, dir) ||
		!strings.Contains(complaint, want) {
		t.Errorf("got %q, want the checkpoint and %q", complaint, want)
	}
	if status, _, complaint := do("-checkpoint", dir, "-data", "absent.txt"); status != 1 ||
		!strings.Contains(complaint, "absent.txt") {
		t.Errorf("absent text: got status %d: %s", status, complaint)
	}
}

func trainSome(t *testing.T, c gpt.Config, verses, dir string) {
	t.Helper()
	tok, err := text.NewCharacters(verses)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	for range c.MaxIters {
		if _, err := trainer.Step(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := trainer.Files()
	if err != nil {
		t.Fatal(err)
	}
	d, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Save(trainer.Done, files); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// -help lists the flags of the network and of the verification, but none of training.
func TestHelp(t *testing.T) {
	_, _, help := do("-help")
	for flag, want := range map[string]bool{
		"-model": true, "-n_layer": true, "-batch_size": true, "-learning_rate": false, "-out_dir": false,
	} {
		if strings.Contains(help, "  "+flag+" ") != want {
			t.Errorf("%s: got %t in\n%s", flag, !want, help)
		}
	}
	if status, _, complaint := do("-learning_rate", "1"); status == 0 || !strings.Contains(complaint, "learning_rate") {
		t.Errorf("got status %d, %q, want an error that names the flag", status, complaint)
	}
}
