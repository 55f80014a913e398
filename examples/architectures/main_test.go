package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// quick returns the flags of the shortest run.
func quick(t *testing.T, more ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "verses.txt")
	verses := strings.Repeat("MILLER:\nThe wheel goes round, the water pays no rent.\n\nFERRYMAN:\nThen cross with me!\n\n", 9)
	if err := os.WriteFile(path, []byte(verses), 0o644); err != nil {
		t.Fatal(err)
	}
	return append([]string{"-quick", "-data", path}, more...)
}

func measured(t *testing.T, args []string) (r results) {
	t.Helper()
	var out, complaint bytes.Buffer
	if err := run(t.Context(), append(args, "-json"), &out, &complaint); err != nil {
		t.Fatalf("%v\n%s", err, complaint.String())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Every variant of every list has a row, and every row has its values.
func TestRows(t *testing.T) {
	r := measured(t, quick(t))
	var got, want []string
	refused := map[string]bool{"attention=linformer": true} // looks ahead
	for _, row := range r.Rows {
		got = append(got, row.Variant)
		seeds := 1
		if slices.Contains(words(headline), row.Variant) {
			seeds = 2
		}
		if (row.Error != "") != refused[row.Variant] {
			t.Errorf("%s: %s", row.Variant, row.Error)
		}
		if row.Error != "" {
			continue
		}
		if len(row.Losses) != seeds || !(row.Losses[0] > 2 && row.Losses[0] < 4) || !(row.Ms > 0) || !(row.MiB > 0) || !(row.DecodeTokS > 0) || row.Parameters < 1000 {
			t.Errorf("got %+v, want %d seeds", row, seeds)
		}
		if worst, err := strconv.ParseFloat(row.Checked, 64); row.Variant != "position=none" && !(err == nil && worst > 0 && worst <= verify.Suspicion) {
			t.Errorf("%s: its gradients are %q", row.Variant, row.Checked)
		}
	}
	base := gpt.Shakespeare()
	want = append(want, "baseline")
	for _, p := range allParts() {
		for _, name := range p.names {
			if name != p.of(&base) {
				want = append(want, p.name+"="+name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for _, c := range r.Costs {
		if c.Error != "" || len(c.Ns) != 2 || !(c.Ns[0] > 0) || c.Growth != c.Ns[1]/c.Ns[0] {
			t.Errorf("got %+v", c)
		}
	}
	if len(r.Costs) != 1+len(parts.Attentions())-2+1 { // one is the baseline's, one refused; and elman
		t.Errorf("got costs of %d variants", len(r.Costs))
	}
}

// A row's result does not depend on the rows that are trained with it.
func TestRowsAreIndependent(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: trains six models, which under the race detector takes most of the time of this package")
	}
	one := measured(t, quick(t, "-only", "relu", "-seeds", "1", "-contexts", ""))
	two := measured(t, quick(t, "-only", "gelu_tanh,relu,head", "-contexts", "", "-rounds", "3"))
	if len(one.Rows) != 2 || len(two.Rows) != 4 {
		t.Fatalf("got %d and %d rows", len(one.Rows), len(two.Rows))
	}
	for _, a := range one.Rows {
		for _, b := range two.Rows {
			if a.Variant == b.Variant && a.Losses[0] != b.Losses[0] {
				t.Errorf("%s: loss %v alone, %v in company", a.Variant, a.Losses[0], b.Losses[0])
			}
		}
	}
}

// Every variant is verified by a Case, and every Case verifies a variant.
func TestVerified(t *testing.T) {
	cases := inventory.Cases()
	for _, p := range allParts() {
		for _, name := range p.names {
			if variant := p.name + "=" + name; !verified(cases, variant) {
				t.Errorf("no case verifies %s", variant)
			}
		}
	}
	for _, c := range cases {
		if err := known("cases", c.Parts); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	for variant := range companions() {
		if err := known("companions", []string{variant}); err != nil {
			t.Error(err)
		}
	}
}

// A row that is impossible or diverges shows its error in the table; the others are measured.
func TestErrorsInRows(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), quick(t, "-position", "rope", "-only", "attention=linear,relu", "-contexts", "16"), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| attention=linear | | see below | |") || !strings.Contains(out.String(), "attention=linear. position: got rope") || !strings.Contains(out.String(), "| activation=relu | 6,768 |") {
		t.Errorf("got\n%s", out.String())
	}
	columns := 0
	for line := range strings.Lines(out.String()) {
		switch n := strings.Count(line, "|"); {
		case n == 0:
			columns = 0
		case columns > 0 && n != columns:
			t.Errorf("got %d columns after %d: %s", n, columns, line)
		default:
			columns = n
		}
	}
	r := measured(t, quick(t, "-learning_rate", "1e30", "-decay_lr=false", "-only", "relu", "-contexts", ""))
	for _, row := range r.Rows {
		if !strings.Contains(row.Error, "step ") || len(row.Losses) > 0 {
			t.Errorf("got %+v, want an error that names the step", row)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		words []string
	}{
		{quick(t, "-only", "perceptron"), []string{"only", `"perceptron"`, "attention=causal"}},
		{quick(t, "-headline", "perceptron"), []string{"headline", `"perceptron"`}},
		{quick(t, "-seeds", "0"), []string{"seeds", "got 0"}},
		{quick(t, "-rounds", "0"), []string{"rounds", "got 0"}},
		{quick(t, "-max_iters", "1"), []string{"max_iters", "got 1"}},
		{quick(t, "-contexts", "16,many"), []string{"contexts", `"many"`}},
		{quick(t, "argument"), []string{"argument"}},
		{quick(t, "-block_size", "4000"), []string{"block_size 4000"}},
		{quick(t, "-window", "3", "-only", "relu"), []string{"-window: no row has an attention that reads it"}},
	} {
		err := run(t.Context(), tc.args, io.Discard, io.Discard)
		for _, w := range tc.words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: got %v, want %q in it", tc.args[3:], err, w)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, quick(t), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("interrupted: got %v", err)
	}
}

func TestMeanAndDeviation(t *testing.T) {
	r := row{Losses: []float64{1, 2, 3}}
	if got, want := r.loss(), "2.000 ± 1.000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// -help lists only the program's own flags; wrong flags are reported before a text is read.
func TestFlags(t *testing.T) {
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, io.Discard, &said); err != flag.ErrHelp {
		t.Error(err)
	}
	for _, flag := range []string{"eval_i", "log_i", "out_dir"} {
		if strings.Contains(said.String(), "\n  -"+flag) {
			t.Errorf("-%s is not read, and is listed", flag)
		}
	}
	for _, heading := range []string{"The rows and the tables"} {
		if !strings.Contains(said.String(), "\n\n"+heading+":\n  -") {
			t.Errorf("%q is not in\n%s", heading, said.String())
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for word, args := range map[string][]string{"dropout": {"-dropout", "2"}, "only": {"-only", "perceptron"}, "-out_dir": {"-out_dir", none}} {
		err := run(t.Context(), append(args, "-data", none), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: got %v", args, err)
		}
	}
}
