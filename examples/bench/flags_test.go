package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // then no run measures two processors, which others use as well
	unseen := map[string]string{
		"kernels":   "the same but for rounding, TestSettings",
		"recompute": "the same bits",
		"compare":   "minutes",
		"llama":     "minutes, and wants another program",
		"gomlx":     "minutes, and wants another program",
	}
	p := flagtest.Program{
		Run:  unmeasured,
		Name: "bench",
		Args: func(string) []string { return []string{"-steps", "2", "-threads", "1", "-block_size", "8"} },
		Values: map[string]string{"preset": "modern", "shape": "decode", "threads": "2", "precision": "bf16",
			"weights": "int8",
			"python":  "python3",
			"arms": "activation=relu with " +
				"-steps 10", "baseline": "norm=rmsnorm with -steps 10 -arms activation=relu"},
		Unseen: unseen,
	}
	p.Check(t)
	p.Refuse(t)
	p.Help(t)
	p.Unread(t)
	if os.Getenv("NIGHTLY") == "" {
		return // every run measures the machine
	}
	decode := p
	decode.Args = func(string) []string {
		return []string{"-steps", "20", "-threads", "1", "-block_size", "8", "-shape", "decode"}
	}
	decode.Values = flagtest.With(p.Values, map[string]string{
		"shape": "char", "arms": "activation=relu with -steps 64",
		"baseline": "norm=rmsnorm with -steps 64 -arms activation=relu",
	})
	decode.Unseen = maps.Clone(unseen)
	delete(decode.Unseen, "recompute") // is refused
	decode.Check(t)
}

// Arms of a shape for decoding are timed by tokens, beside the baseline that is asked for.
func TestDecodedArms(t *testing.T) {
	var out bytes.Buffer
	err := run(
		strings.Fields(
			"-shape decode -steps 64 -block_size 8 -threads 1 -baseline norm=rmsnorm -arms mlp=moe;mlp=swiglu",
		),
		&out, io.Discard,
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"arm", "|---|---:|---:|\n", "norm=rmsnorm", "mlp=moe", "mlp=swiglu"}
	if got := rows(out.String()); !slices.Equal(got, want) {
		t.Errorf("got the rows %q of\n%s, want %q", got, &out, want)
	}
	if !strings.Contains(out.String(), "ms/token") {
		t.Errorf("got %s, want milliseconds of a token", &out)
	}
}

// rows returns the first column of a table.
func rows(table string) (names []string) {
	for line := range strings.Lines(table) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		names = append(names, name)
	}
	return names
}

// unmeasured is run without the numbers that differ from run to run.
func unmeasured(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var out bytes.Buffer
	if err := run(args, &out, stderr); err != nil {
		return err
	}
	if strings.HasPrefix(out.String(), "| arm |") {
		_, err := fmt.Fprintln(stdout, rows(out.String()))
		return err
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		return err
	}
	maps.DeleteFunc(line, func(name string, _ any) bool {
		return !slices.Contains([]string{"shape", "threads", "block_size", "batch_size", "params", "precision", "steps",
			"loss_last",
			"planned_mib", "weights", "weights_mib", "tokens"}, name)
	})
	return json.NewEncoder(stdout).Encode(line)
}

// What a mode does not read is refused by name, before anything is timed.
func TestModes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-quick", "-quick: read by -compare alone"},
		{"-python python3", "-python: read by -compare alone"},
		{"-llama dir", "-llama: read by -compare alone"},
		{"-compare 1 -shape baby", "-shape: not read by -compare"},
		{"-compare 1 -quick -kernels=false", "-kernels: not read by -compare"},
		{"-shape decode -recompute", "-recompute: got true with -shape decode"},
		{"-shape decode -threads 1,2", "-threads: got 1,2 with -shape decode, want one number"},
		{"-shape giant -threads 1,2", `-shape: got "giant"`},
		{
			"-arms activation=relu -shape decode -steps 63",
			"-steps: got 63 with -arms, want 64 or more: every arm has turns of 32 tokens",
		},
		{"-arms activation=relu -threads 1,2", `-arms: got "activation=relu" with -threads 1,2`},
		{"-baseline activation=relu", `-baseline: got "activation=relu" without -arms`},
		{"-baseline activation=rleu -arms norm=rmsnorm -steps 10", "-baseline: activation=rleu: "},
		{"-arms activation=relu -steps 3", "-steps: got 3 with -arms, want 10 or more"},
		{"-arms activation=rleu -steps 10", "-arms: activation=rleu: "},
		{"char", `unexpected argument "char"`},
	} {
		var out bytes.Buffer
		if err := run(strings.Fields(c.args), &out, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) ||
			out.Len() > 0 {
			t.Errorf("%s: got error %v and %q, want %q", c.args, err, out.String(), c.want)
		}
	}
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: unmeasured}.Mistakes(t, [][2]string{
		{"-shape decod", "did you mean decode?"},
		{"-threads 1,two", `element 2: got "two"`},
		{"-arms qk_norm=heads", "did you mean head?"},
		{"-preset gtp2", "did you mean gpt2?"},
	})
}
