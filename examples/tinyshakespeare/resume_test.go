package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// verses writes a text and, next to it, the shards of its words.
func verses(t *testing.T) (file, shards string) {
	t.Helper()
	dir := t.TempDir()
	file, shards = filepath.Join(dir, "verses.txt"), filepath.Join(dir, "shards")
	verse := strings.Repeat("The wheel goes round, the water pays no rent.\n", 20)
	if err := os.WriteFile(file, []byte(verse), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := text.NewWords(verse)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(verse, tok, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := text.WriteShards(shards, tok, 100, text.All(data.Train()), text.All(data.Val())); err != nil {
		t.Fatal(err)
	}
	return file, shards
}

// A checkpoint stores its network, tokenizer and text: -resume alone continues to the same bits as an uninterrupted
// run, and -sample_only alone prints the same sample.
func TestTheCheckpointSaysTheRest(t *testing.T) {
	file, shards := verses(t)
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"head": "linear", "max_iters": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"bytes":  {"-data", file, "-tokenizer", "byte", "-n_layer", "2", "-seed", "5", "-threads", "1"},
		"words":  {"-data", file, "-tokenizer", "word", "-position", "alibi", "-recompute", "-config", settings},
		"shards": {"-data", shards, "-block", "post", "-learning_rate", "0.01"},
	} {
		if testing.Short() && name != "words" {
			continue
		}
		whole, halves := t.TempDir(), t.TempDir()
		args = append([]string{"-eval_interval", "3", "-prompt", "The wheel"}, args...)
		written := mustDo(t, small(t, whole, append(args, "-max_iters", "6")...)...)
		mustDo(t, small(t, halves, append(args, "-max_iters", "3")...)...)
		resumed := mustDo(t, "-resume", "-max_iters", "6", "-out_dir", halves, "-prompt", "The wheel", "-tokens", "20")
		sameRun(t, halves, whole)
		_, want, _ := strings.Cut(written, "\nThe wheel")
		_, got, _ := strings.Cut(resumed, "\nThe wheel")
		alone := mustDo(t, "-sample_only", "-out_dir", halves, "-prompt", "The wheel", "-tokens", "20")
		_, sampled, _ := strings.Cut(alone, "\nThe wheel")
		for what, text := range map[string]string{"-resume": got, "-sample_only": sampled} {
			text, _, _ = strings.Cut(text, "\n\n20 ")
			if !strings.HasPrefix(want, text) || len(text) < 20 {
				t.Errorf("%s: %s alone writes %q, want %q", name, what, text, want)
			}
		}
		if again := mustDo(
			t, "-sample_only", "-out_dir", halves, "-prompt", "The wheel", "-tokens", "20", "-seed", "77",
		); strings.HasPrefix(again, alone[:40]) {
			t.Errorf("%s: another seed writes the same: %q", name, again)
		}
	}
}

// A flag that contradicts the saved value is an error with both values, for every use of the checkpoint.
func TestGivenOtherwise(t *testing.T) {
	file, shards := verses(t)
	dir := t.TempDir()
	mustDo(t, small(t, dir, "-data", file, "-tokenizer", "word", "-max_iters", "2", "-tokens", "0")...)
	other := filepath.Join(t.TempDir(), "other.txt")
	copied := filepath.Join(t.TempDir(), "copied.txt")
	settings := filepath.Join(t.TempDir(), "settings.json")
	verse, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{other: string(verse) +
		"!", copied: string(verse), settings: `{"n_head": 4}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args  []string
		words []string
	}{
		{[]string{"-resume", "-n_embd", "16"}, []string{"step-00000002: resume: n_embd: got 16, want 8 as saved"}},
		{
			[]string{"-resume", "-n_layer", "3", "-dropout", "0"},
			[]string{"n_layer: got 3, want 1 as saved", "dropout: got 0, want 0.1 as saved"},
		},
		{[]string{"-resume", "-config", settings}, []string{"n_head: got 4, want 2 as saved"}},
		{[]string{"-resume", "-tokenizer", "character"}, []string{`-tokenizer: got character, want "word" as saved`}},
		{
			[]string{"-resume", "-data", other},
			[]string{"another text", strconv.Quote(file), strconv.Quote(other), "set -data"},
		},
		{[]string{"-resume", "-data", shards}, []string{"another text", strconv.Quote(file), strconv.Quote(shards)}},
		{[]string{"-sample_only", "-n_embd", "16"}, []string{"n_embd: got 16, want 8 as saved"}},
		{[]string{"-sample_only", "-tokenizer", "byte"}, []string{`-tokenizer: got byte, want "word" as saved`}},
	} {
		_, _, err := do(t.Context(), append(tc.args, "-out_dir", dir)...)
		for _, w := range tc.words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: got %v, want %q in it", tc.args, err, w)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	args := []string{"-resume", "-out_dir", dir, "-max_iters", "3", "-tokens", "0"}
	if _, _, err := do(t.Context(), args...); err == nil || !strings.Contains(err.Error(), "set -data to") ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("the text is gone: got %v", err)
	}
	mustDo(t, append(args, "-data", copied)...)
	if cp, err := checkpoint.Load(dir); err != nil || cp.Step != 3 {
		t.Errorf("the same text elsewhere: %v (%v), want step 3", cp, err)
	}
}

// A finished run prints how to continue it, in one line, and is not changed; one that was killed before the last line
// of its metrics is finished first.
func TestFinished(t *testing.T) {
	dir := t.TempDir()
	mustDo(t, small(t, dir)...)
	path := filepath.Join(dir, "metrics.jsonl")
	metrics, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"-max_iters", "5"}, {"-vocab_size", "0"}, small(t, dir)[:2]} {
		out := mustDo(t, append([]string{"-resume", "-out_dir", dir}, args...)...)
		if strings.Count(out, "\n") != 1 || !strings.Contains(out, dir+": finished at step 6 of max_iters ") ||
			!strings.Contains(out, "-resume -max_iters 12 continues it, -sample_only writes") {
			t.Errorf("%q: got %q", args, out)
		}
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(metrics) {
		t.Errorf("the metrics have changed (%v):\n%s", err, now)
	}
	cut := strings.Index(string(metrics), `{"val_loss_full"`)
	if err := os.WriteFile(path, metrics[:cut+9], 0o600); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	if out := mustDo(
		t, "-resume", "-out_dir", dir, "-tokens", "0",
	); !strings.Contains(out, "val loss over the entire split") {
		t.Errorf("not finished: got %q", out)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(metrics) {
		t.Errorf("finished by now: %v\n%s", err, now)
	}
}

// Wrong flags are reported before the network is used and before a text is read.
func TestFlagsBeforeTheText(t *testing.T) {
	taken, asked := t.TempDir(), atomic.Int64{}
	mustDo(t, small(t, taken, "-max_iters", "1", "-tokens", "0")...)
	proxy := httptest.NewUnstartedServer(http.NotFoundHandler())
	proxy.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			asked.Add(1)
		}
	}
	proxy.Start()
	defer proxy.Close()
	cache := t.TempDir()
	env := []string{
		"XDG_CACHE_HOME=" + cache, "HOME=" + cache, "HTTPS_PROXY=" + proxy.URL, "https_proxy=" + proxy.URL, "NO_PROXY=",
		"no_proxy=",
	}
	empty := filepath.Join(t.TempDir(), "none")
	for _, tc := range []struct {
		args []string
		want string
		text bool // is asked for
	}{
		{[]string{"-n_head", "3"}, "n_head: 3 heads do not divide n_embd 128", false},
		{[]string{"-n_head", "3", "-data", empty}, "n_head: 3 heads", false},
		{[]string{"-lora_r", "2", "-lora_targets", "x"}, "lora_targets", false},
		{[]string{"-attention", "best"}, "attention: got best", false},
		{[]string{"-log_interval", "0"}, "log_interval: got 0", false},
		{[]string{"-tokenizer", "bpe9"}, "-tokenizer", false},
		{[]string{"-prompt", ""}, "-prompt: empty", false},
		{[]string{"-temperature", "-1"}, "temperature", false},
		{[]string{"-n_layers", "2"}, "flag -n_layers: not of tinyshakespeare", false},
		{[]string{"-out_dir", taken}, "holds a checkpoint of step 1; -resume", false},
		{[]string{"-resume"}, "no checkpoint", false},
		{[]string{"-prompt", "ü"}, "-prompt", true},
	} {
		before := asked.Load()
		cmd, out, complaint := start(t, env, append([]string{"-out_dir", empty}, tc.args...)...)
		io.Copy(io.Discard, out)
		cmd.Wait()
		said := complaint.String()
		if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(said, tc.want) ||
			strings.Count(said, "\n") > 2 {
			t.Errorf("%q: exit status %d, said %q, want 1 and %q", tc.args, got, said, tc.want)
		}
		if got := asked.Load() > before; got != tc.text {
			t.Errorf("%q: asked the network: %v, want %v", tc.args, got, tc.text)
		}
	}
}

// Without a terminal a run of any length prints about sixty lines, with every evaluation, or the requested number.
func TestSixtyLines(t *testing.T) {
	for _, tc := range []struct {
		args               []string
		steps, evaluations int
		firstStep, last    string
	}{
		{[]string{"-max_iters", "200", "-eval_interval", "100"}, 40, 3, "step 5/200 | ", "step 200/200 | "},
		{
			[]string{"-max_iters", "60", "-eval_interval", "60", "-log_interval", "30"}, 2, 2, "step 30/60 | ",
			"step 60/60 | ",
		},
	} {
		out := mustDo(
			t, small(t, t.TempDir(), append(tc.args, "-lr_decay_iters", "200", "-tokens", "0", "-threads", "1")...)...,
		)
		var steps []string
		evaluations, all := 0, 0
		for line := range strings.Lines(out) {
			switch {
			case strings.Contains(line, ": train loss "):
				evaluations++
			case strings.HasPrefix(line, "step "):
				steps = append(steps, line)
			}
			all++
		}
		if len(steps) != tc.steps || evaluations != tc.evaluations || all > 65 ||
			!strings.HasPrefix(steps[0], tc.firstStep) || !strings.HasPrefix(steps[len(steps)-1], tc.last) {
			t.Errorf("%q: got %d steps, %d evaluations, %d lines:\n%s", tc.args, len(steps), evaluations, all, out)
		}
		if got := strings.Count(out, " | eta "); got != len(steps) {
			t.Errorf("%q: %d etas in %d lines", tc.args, got, len(steps))
		}
	}
}
