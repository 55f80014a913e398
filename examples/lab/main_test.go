package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// verses writes a short text and returns its path.
func verses(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "verses.txt")
	put(
		t, path,
		strings.Repeat(
			"MILLER:\nThe wheel goes round, the water pays no rent.\n\nFERRYMAN:\nThen cross with me!\n\n", 9,
		),
	)
	return path
}

// quick returns the arguments of the shortest study.
func quick(t *testing.T, more ...string) []string {
	t.Helper()
	return append([]string{"-quick", "-data", verses(t), "-out_dir", t.TempDir()}, more...)
}

// printed runs the program and returns its output and messages.
func printed(t *testing.T, args ...string) (out, messages string) {
	t.Helper()
	var b, e bytes.Buffer
	if err := run(t.Context(), args, &b, &e); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, e.String())
	}
	return b.String(), e.String()
}

func measured(t *testing.T, args ...string) (s summary) {
	t.Helper()
	out, _ := printed(t, append(args, "-json")...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A study prints its table and writes its files. Requested again it runs nothing, and -report prints the same.
func TestStudy(t *testing.T) {
	args := quick(t, "-arms", "norm=rmsnorm; attention=gqa, n_kv_head=1", "-seeds", "3", "-measures", "memory")
	dir := args[4]
	first, _ := printed(t, args...)
	for _, want := range []string{"\nattention=gqa,n_kv_head=1\n ", " ± 0.0", "bits/byte", "budget: steps=6\n",
		"0 of 9 results reused",
		"-arms 'norm=rmsnorm; attention=gqa, n_kv_head=1'", " MiB\n"} {
		if !strings.Contains(first, want) {
			t.Errorf("want %q in\n%s", want, first)
		}
	}
	for line := range strings.Lines(first) {
		if n := utf8.RuneCountInString(line) - 1; n > widest {
			t.Errorf("got %d columns, want at most %d: %s", n, widest, line)
		}
	}
	results := read(t, dir, "results.jsonl")
	if n := strings.Count(results, "\n"); n != 9 {
		t.Errorf("results.jsonl: got %d lines, want 9", n)
	}
	again, messages := printed(t, args...)
	if want := strings.Replace(first, "0 of 9 results", "9 of 9 results", 1); again != want || messages != "" {
		t.Errorf("again: got %s\n%s", messages, cmp.Diff(want, again))
	}
	events := t.TempDir()
	report, _ := printed(t, append(args, "-report", "-tensorboard", events)...)
	if want := strings.ReplaceAll(again, " "+dir+" ", " "); !strings.HasPrefix(strings.ReplaceAll(report, " "+dir+
		" ", " "), want[:len(want)-200]) {
		t.Errorf("-report: %s", cmp.Diff(again, report))
	}
	if files, err := filepath.Glob(filepath.Join(events, "*", "*", "events.out.tfevents.*")); len(files) != 9 {
		t.Errorf("-tensorboard: got %q, %v, want nine files", files, err)
	}
	if got := read(t, dir, "results.jsonl"); got != results {
		t.Errorf("results.jsonl: %s", cmp.Diff(results, got))
	}
	for name, want := range map[string]int{"timings.jsonl": 9, "results.csv": 10, "report.md": 36} {
		if got := strings.Count(read(t, dir, name), "\n"); got != want {
			t.Errorf("%s: got %d lines, want %d:\n%s", name, got, want, read(t, dir, name))
		}
	}
	for _, name := range []string{"forest.png", "curves.png"} {
		if p, err := png.Decode(strings.NewReader(read(t, dir, name))); err != nil || p.Bounds().Dx() < 500 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if page := read(t, dir, "page.html"); !strings.Contains(page, `"arm":"norm=rmsnorm"`) ||
		strings.Contains(page, "https:") {
		t.Errorf("page.html: got\n%.500s", page)
	}
	s := measured(t, args...)
	for _, r := range s.Tables[0].Rows {
		if !(r.Measures["memory"] > 0) || r.Seeds != 3 || !(r.Loss > 2 && r.Loss < 4) {
			t.Errorf("got %+v", r)
		}
		if d := r.Difference; r.Arm != "baseline" && (d == nil || d.Verdict == "" || !(d.Low <= d.Mean &&
			d.Mean <= d.High)) {
			t.Errorf("%s: got %+v", r.Arm, d)
		}
	}
	more := slices.Clone(args)
	more[slices.Index(more, "-arms")+1] += "; norm=dyt"
	if report, _ := printed(t, append(more, "-report")...); !strings.Contains(report, " not run\n") ||
		strings.Contains(report, "diverged") {
		t.Errorf("-report of an arm that has not run: %s", report)
	}
}

// A report says by itself what was trained, on what, by which program and with which seeds; which verdicts sign flips
// do not confirm; for what the intervals are adjusted; and which arms are larger. Arms of one study have as much work
// as their report says.
func TestReportCanBeCited(t *testing.T) {
	args := quick(t, "-arms", "learning_rate=1e-4; n_inner=90,optimizer=muon", "-seeds", "4", "-max_iters", "40")
	out, _ := printed(t, args...)
	s := measured(t, args...)
	rows := s.Tables[0].Rows
	if d := rows[1].Difference; d.Verdict != "worse (provisional)" || !d.Provisional || !(d.Low > 0) ||
		d.SignFlip != 0.125 {
		t.Errorf("got %+v, want a provisional verdict", d)
	}
	if w := rows[2].Work; !(w.Optimizer > 0) || rows[0].Work.Optimizer != 0 ||
		w.Total()*rows[2].Tokens != rows[2].FLOPs {
		t.Errorf("got %+v and %v FLOPs", w, rows[2].FLOPs)
	}
	sum := sha256.Sum256([]byte(read(t, args[2])))
	want := []string{"worse (provisional)", "provisional: by Student's t, and not confirmed by the p of sign flips, " +
		"which are 0.125 or more with 4 seeds",
		"intervals: 95 %, adjusted as the verdicts are", hex.EncodeToString(sum[:]), "seeds: 1337 to 1340",
		"program: sha256:", "+23.7 % parameters"}
	text := strings.Join(strings.Fields(out), " ")
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("want %q in\n%s", w, out)
		}
	}
	want = append(want, "| learning_rate=1e-4 | learning_rate=0.0001 |",
		"| n_inner=90,optimizer=muon | n_inner=90, optimizer=\"muon\" |", "| baseline | none |",
		`"n_layer":2`, `"learning_rate":0.001`)
	report := read(t, args[4], "report.md")
	for _, w := range want {
		if !strings.Contains(report, w) {
			t.Errorf("report.md: want %q in\n%s", w, report)
		}
	}
	page := read(t, args[4], "page.html")
	for _, w := range []string{
		hex.EncodeToString(sum[:]), "1337 to 1340", "sha256:", `"changes":["n_inner=90","optimizer=\"muon\""]`,
		`"baseline":{`,
	} {
		if !strings.Contains(page, w) {
			t.Errorf("page.html: want %q", w)
		}
	}
	for line := range strings.Lines(read(t, args[4], "results.jsonl")) {
		var trial struct {
			Key      string
			Identity json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &trial); err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(trial.Identity); hex.EncodeToString(sum[:]) != trial.Key {
			t.Errorf("got the key %s of %s", trial.Key, trial.Identity)
		}
	}
}

// -parts all has an arm for every variant of every list, except the baseline's and the variants that it makes
// impossible; measures have values, also those that need time.
func TestParts(t *testing.T) {
	args := quick(t, "-parts", "all")
	o, err := asked(t, args)
	if err != nil {
		t.Fatal(err)
	}
	base := gpt.Shakespeare()
	var want, got []string
	for _, p := range allParts() {
		for _, name := range p.names {
			if v := p.name + "=" + name; v != p.of(&base) && v != "attention=linformer" {
				want = append(want, v)
			}
		}
	}
	for _, a := range o.variants[1:] {
		got = append(got, a.Set[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arms (-want +got):\n%s", diff)
	}
	if len(o.leftOut) != 1 || !strings.HasPrefix(
		o.leftOut[0], "attention=linformer: attention: got linformer, want a causal one",
	) {
		t.Errorf("left out: got %q", o.leftOut)
	}
	s := measured(t, quick(t, "-parts", "rope,head=linear", "-measures", "all", "-contexts", "4,8", "-seeds", "1")...)
	if rows := s.Tables[0].Rows; len(rows) != 3 || rows[1].Arm != "position=rope" || rows[2].Arm != "head=linear" {
		t.Fatalf("got %+v", rows)
	}
	for _, r := range s.Tables[0].Rows {
		for _, name := range []string{"verified", "memory", "decode", "state", "cost at 4", "cost at 8"} {
			if !(r.Measures[name] > 0) {
				t.Errorf("%s: %s: got %v", r.Arm, name, r.Measures[name])
			}
		}
		if worst := r.Measures["verified"]; !(worst <= verify.Suspicion) {
			t.Errorf("%s: verified: got %v, want at most %v", r.Arm, worst, verify.Suspicion)
		}
		// blocks, keys and values, tokens, features
		if want := 4 * 2 * 2 * 16 * 16 / 1024.0; r.Measures["state"] != want {
			t.Errorf("%s: got a state of %v KiB, want %v", r.Arm, r.Measures["state"], want)
		}
		if r.Difference != nil {
			t.Errorf("%s: got %+v from one seed", r.Arm, r.Difference)
		}
	}
}

// Every variant but none is verified by a Case, every Case verifies a variant, and so do the companions. An
// initialization has no equation of its own.
func TestVerified(t *testing.T) {
	cases := inventory.Cases()
	for _, v := range variants() {
		if strings.HasSuffix(v, "=none") || strings.HasPrefix(v, "initialization=") {
			continue
		}
		if !slices.ContainsFunc(cases, func(c verify.Case) bool { return slices.Contains(c.Parts, v) }) {
			t.Errorf("no case verifies %s", v)
		}
	}
	for _, c := range cases {
		for _, v := range c.Parts {
			if !slices.Contains(variants(), v) {
				t.Errorf("%s: got %s, want a variant", c.Name, v)
			}
		}
	}
	for v := range companions(gpt.Shakespeare()) {
		if !slices.Contains(variants(), v) {
			t.Errorf("companion of %s, which is no variant", v)
		}
	}
}

// -cross combines the variants of different parts, each once.
func TestCross(t *testing.T) {
	o, err := asked(t, quick(t, "-arms", "norm=rmsnorm; attention=linear; norm=dyt", "-cross"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range o.variants {
		got = append(got, a.Name)
	}
	want := []string{
		"baseline", "attention=linear", "norm=rmsnorm", "norm=rmsnorm,attention=linear", "norm=dyt",
		"norm=dyt,attention=linear",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arms (-want +got):\n%s", diff)
	}
}

// Tuning gives its choice with a mark at the edge of the grid; a budget of parameters moves a size; a diverged arm, a
// target and the looks are in the table.
func TestTable(t *testing.T) {
	out, _ := printed(t, quick(t, "-arms", "norm=rmsnorm", "-tune", "learning_rate=1e-4,1e-3,1e-2", "-budget",
		"steps=4,parameters=7000",
		"-target", "9")...)
	for _, want := range []string{"; learning_rate=1e-2 (at", "tuned: learning_rate=1e-4,1e-3,1e-2, on 1 other seeds",
		"budget: steps=4,parameters=7000", "0 of 10 results"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	out, _ = printed(
		t,
		quick(t, "-arms", "learning_rate=1e30,decay_lr=false", "-until", "told", "-max_seeds", "3", "-looks", "2,8")...,
	)
	for _, want := range []string{
		"\n  2 of 2 seeds diverged\n", " diverged\n", "looks: 2 (level 0.0", "), 3 (level 0.0", "seeds, by pocock",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

// A study in a file is the study of the same flags, which override it.
func TestStudyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "study.json")
	put(t, file, `{"arms": ["norm=rmsnorm", "activation=relu"], "seeds": 3, "cross": true, "tune": `+
		`["learning_rate=1e-3,1e-2"],
		"measures": ["memory"], "budget": "steps=3", "matters": 0.02, "n_layer": 1}`)
	flags := []string{"-arms", "norm=rmsnorm", "-arms", "activation=relu", "-cross", "-tune", "learning_rate=1e-3,1e-2",
		"-measures", "memory", "-budget", "steps=3", "-matters", "0.02", "-n_layer", "1"}
	a, b := quick(t, "-study", file, "-seeds", "2"), quick(t, append(flags, "-seeds", "2")...)
	one, two := measured(t, a...), measured(t, b...)
	if read(t, a[4], "results.jsonl") != strings.ReplaceAll(read(t, b[4], "results.jsonl"), b[2], a[2]) {
		t.Errorf("got other results:\n%s\nwant\n%s", read(t, a[4], "results.jsonl"), read(t, b[4], "results.jsonl"))
	}
	if got := one.Tables[0].Rows[1].Difference.Verdict; got != two.Tables[0].Rows[1].Difference.Verdict ||
		len(one.Tables[0].Rows) != 4 || one.Tables[0].Rows[0].Seeds != 2 {
		t.Errorf("got %+v, want %+v", one, two)
	}
}

// Flags that mean nothing are refused by name before a text is read, and so is an unusable file of -study.
func TestRefused(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "study.json")
		put(t, path, text)
		return path
	}
	refusals(t, []refusal{
		{"-arms norm=perceptron", `-arms|norm=perceptron|got perceptron`},
		{"-arms attention", `-arms|"attention"|name=value`},
		{"-arms baseline", "-arms|got none"}, {"-arms norm=rmsnorm;norm=rmsnorm", "arms|norm=rmsnorm"},
		{"-arms n_layer=2", "n_layer=2|the same configuration"},
		{"-arms attention=linformer", "attention=linformer|causal"},
		{"-parts perceptron", `parts|"perceptron"|attention=causal`},
		{"-scale 8", `-sizes|"8"`}, {"-scale 8x1,16x1x2", `-sizes: element 2|"16x1x2"`},
		{"-scale 8x1,16x1 -scale_iters 2", "-sizes|got 2"},
		{"-scale 8x1 -arms norm=rmsnorm", "-arms: not of lab scale; ./examples/lab compare has it"},
		{"-scale 8x1 -scale_iters x", `scale_iters|"x"`},
		{"-seeds 0", "seeds|got 0"}, {"-until never", `-until|"never"`}, {"-until told -seeds 3", "-seeds|-max_seeds"},
		{"-max_seeds 3", "-max_seeds|-until"},
		{"-until told -max_seeds 1", "max_seeds|got 1"},
		{"-until told -looks 2,x", `looks|"x"`},
		{"-looks 2,3", "-looks|-until"}, {"-boundary pocock", "-boundary|-until"},
		{"-until told -boundary wald", `-boundary|"wald"`},
		{"-until told -looks 1,4", "looks|got 1"},
		{"-budget steps=3,tokens=300", "budget|2 of steps"},
		{"-budget steps=x", `-budget|"steps=x"`}, {"-budget steps=1.5", `-budget|"steps=1.5"`},
		{"-budget time=3", `-budget|"time=3"`}, {"-budget steps=3,steps=4", "-budget|twice"},
		{"-budget steps=3,vary=n_embd", "-budget|vary"},
		{"-budget parameters=800000,vary=n_layer", `budget|"n_layer"`},
		{"-budget parameters=3", "budget|parameters|got 3"},
		{"-budget steps=3 -max_iters 4", "-max_iters|-budget"},
		{"-budget tokens=1", "budget"}, {"-budget steps=-1", "-budget"},
		{"-tune learning_rate=1", "-tune|two values"}, {"-tune rate=1,2", "tun|rate"}, {"-tune seed=1,2", "tun|seed"},
		{"-tune learning_rate=1,2 -tune learning_rate=3,4", "-tune|twice"},
		{"-tune learning_rate=x,y", "tun|learning_rate"},
		{"-tuning_seeds 0", "tuning_seeds|got 0"}, {"-target x", "target"}, {"-matters 0", "matters|got 0"},
		{"-measures speed", `-measures|"speed"|verified`}, {"-contexts 4", "-contexts|-measures"},
		{"-contexts 4,many -measures cost", `contexts|"many"`},
		{"-tokenizer letters", `-tokenizer|"letters"`}, {"-data no/such/file", "-data|no/such/file"}, {"-dir=",
			"out_dir"},
		{"-name=", "name"},
		{"-jobs 0", "jobs|got 0"}, {"-part 3/2", `-part|"3/2"`}, {"-part 0/2", `-part|"0/2"`}, {"-part x", `-part|"x"`},
		{"-report", "report|no result"}, {"-max_iters 0", "max_iters|got 0"}, {"argument", "argument"},
		{"-block_size 4000", "block_size 4000"},
		{"-window 3", "-window|no arm has an attention that reads it"},
		{"-dropout 2", "dropout"},
		{"-study no/such/file", "-study|no/such/file"},
		{"-study " + file(`{"seedss": 3}`), "-study|seedss|did you mean -seeds?"},
		{"-study " + file(`{"study": "x"}`), "study|no such flag"},
		{"-study " + file(`{"seeds": 3, "seeds": 4}`), "seeds|twice"},
		{"-study " + file(`{"seeds": {}}`), "seeds|map[]"}, {"-study " + file(`{"seeds": "x"}`), `seeds|"x"`},
		{"-study " + file(`[]`), "object"},
		{"-study " + file(`{"seeds": 3} {}`), "more than one"},
		{"-study " + file(`{"seeds": 3`), "EOF"}, {"-study " + file(`{"tune": [3]}`), "-tune"},
	})
}

// asked returns the options of the command that the flags choose.
func asked(t *testing.T, args []string) (*options, error) {
	t.Helper()
	for name, command := range map[string]string{"-tasks": "tasks", "-scale": "scale", "-widths": "transfer"} {
		if slices.Contains(args, name) {
			return parse(command, args, io.Discard)
		}
	}
	return parse("compare", args, io.Discard)
}

// refusal is the arguments of a study that is refused, and the words of its error, with | between them.
type refusal struct{ args, words string }

func refusals(t *testing.T, list []refusal) {
	t.Helper()
	for _, tc := range list {
		err := run(t.Context(), quick(t, strings.Fields(tc.args)...), io.Discard, io.Discard)
		for w := range strings.SplitSeq(tc.words, "|") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: got %v, want %q in it", tc.args, err, w)
			}
		}
	}
}

// An interrupted study says how to continue, and the cause is the error.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	messages := &cancelled{stop: func() { cancel(stop) }}
	err := run(ctx, quick(t, "-max_iters", "400"), io.Discard, messages)
	if !errors.Is(err, stop) || !strings.Contains(messages.String(), "the same command continues") {
		t.Errorf("got %v, %s", err, messages)
	}
}

// cancelled holds messages and calls stop at the first one.
type cancelled struct {
	bytes.Buffer
	stop func()
}

func (c *cancelled) Write(p []byte) (int, error) {
	c.stop()
	return c.Buffer.Write(p)
}

// -help lists the commands, and -help of a command no flag that it does not read.
func TestHelp(t *testing.T) {
	for args, want := range map[string]string{
		"-help": "\n  transfer   learning rates by width", "compare -help all": "\nstudy: the study\n  -",
	} {
		var said bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), io.Discard, &said); err != flag.ErrHelp {
			t.Error(err)
		}
		if strings.Contains(said.String(), "\n  -log_i") || !strings.Contains(said.String(), want) {
			t.Errorf("%s: want %q in it, and not -log_interval:\n%s", args, want, said.String())
		}
	}
}

// The part of the trials follows from the flag, or from the launcher.
func TestPart(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "SLURM_ARRAY_TASK_ID"} {
		t.Setenv(name, "")
	}
	for _, tc := range []struct {
		flag     string
		env      map[string]string
		part, of int
	}{
		{"", nil, 0, 1}, {"2/4", nil, 1, 4},
		{"", map[string]string{"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, 3, 4},
		{"", map[string]string{"PMI_RANK": "0", "PMI_SIZE": "2"}, 0, 2},
		{"", map[string]string{"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, 1, 2},
		{
			"",
			map[string]string{
				"SLURM_ARRAY_TASK_ID": "14", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "8",
				"SLURM_ARRAY_TASK_STEP": "2",
			},
			2, 8,
		},
		{"", map[string]string{"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "4"}, 0, 1},
		{"1/2", map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2"}, 0, 2},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			if part, of, err := share(tc.flag); part != tc.part || of != tc.of || err != nil {
				t.Errorf("%q, %v: got %d of %d, %v, want %d of %d", tc.flag, tc.env, part, of, err, tc.part, tc.of)
			}
		})
	}
}
