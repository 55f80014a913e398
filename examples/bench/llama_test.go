package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A GGUF file is read and written in, and says how fast. Flags that it would ignore are refused.
func TestFile(t *testing.T) {
	c := gpt.GPT2()
	c.NLayer, c.NHead, c.NEmbd, c.VocabSize = 1, 2, 32, 300
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := filler(300)
	if err != nil || tok.Size() != 300 {
		t.Fatalf("got %v, want 300 tokens", err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := published.Export(t.Context(), path, m, tok, "Q8_0", chat.Template{}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"-shape", path, "-threads", "1", "-steps", "5"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var line readingLine
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.PromptTokens != 512 || line.Tokens != 5 ||
		!(line.PromptTokPerS > 0 && line.DecodeTokPerS > 0 && line.WeightsMiB > 0) {
		t.Errorf("got %q (%v)", out.String(), err)
	}
	for args, want := range map[string]string{
		"-threads 1,2": "want one number of threads", "-steps 512": "1 to 511 tokens",
		"-weights int8":  "a file is read as it is",
		"-kernels=false": "a file is read as it is", "-precision bf16": "a file is read as it is",
	} {
		if err := run(append([]string{"-shape", path}, strings.Fields(args)...), io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// A row has the medians of the rounds, and of the ratios of each round.
func TestLlamaRow(t *testing.T) {
	speeds := func(prompt, decode float64) measurement {
		return measurement{"prompt_tok_per_s": prompt, "decode_tok_per_s": decode}
	}
	ours := []measurement{speeds(100, 30), speeds(120, 20), speeds(80, 10)}
	theirs := []measurement{speeds(50, 30), speeds(100, 10), speeds(100, 20)}
	want := "| gpt2, F32, 2 | 100.0 | 100.0 | 1.20 | 20.0 | 20.0 | 1.00 |"
	if got := (llamaRow{"gpt2", "F32", 2}).line(ours, theirs); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// llama.cpp runs as a process of node in its folder, with the file and the numbers as arguments; what it complains of
// is in the error.
func TestLlamaStep(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot run the shell script that takes the place of node in this test")
	}
	bin, dir := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\n[ -z \"$5\" ] && { echo no library >&2; exit 1; }\n" +
		`echo "{\"release\": \"$1 $2 $4 $5 $6 $7 $8 $(pwd)\", \"decode_tok_per_s\": 7}"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "node"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	line, err := llama(dir).step("m.gguf", 2, 64)
	if want := "--input-type=module -e -- m.gguf 2 512 64 " + dir; err != nil || line["release"] != want ||
		line.number("decode_tok_per_s") != 7 {
		t.Errorf("got %v (%v), want %q", line, err, want)
	}
	err = run([]string{"-compare", "1", "-llama", dir}, io.Discard, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "-llama: ") ||
		!strings.HasSuffix(err.Error(), "no library: exit status 1") {
		t.Errorf("got %v", err)
	}
}

// A row beside GoMLX has the medians of the rounds, and no step where the peer takes none. Another loss is an error,
// and so is a folder that is no program of Go.
func TestGoMLXRow(t *testing.T) {
	line := func(step, alone, first float64) measurement {
		return measurement{"ms_median": step, "loss_ms_median": alone, "loss_first": first}
	}
	ours := []measurement{line(2, 1, 4.25), line(4, 2, 4.25), line(3, 1, 4.25)}
	theirs := []measurement{line(20, 4, 4.25005), line(60, 2, 4.25005), line(30, 3, 4.25005)}
	for steps, want := range map[int]string{
		1: "| char, 2 | 3.0 | 30.0 | 10.0 | 1.0 | 3.0 | 3.0 | 4.25000 | 4.25005 |",
		0: "| char, 2 | 3.0 | | | 1.0 | 3.0 | 3.0 | 4.25000 | 4.25005 |",
	} {
		if got, err := (row{"char", 2, steps}).besideGoMLX(ours, theirs); err != nil || got != want {
			t.Errorf("got %q (%v), want %q", got, err, want)
		}
	}
	theirs[0]["loss_first"] = 4.2502
	if _, err := (row{"char", 2, 1}).besideGoMLX(ours, theirs); err == nil ||
		!strings.Contains(err.Error(), "got loss 4.2502 of GoMLX, want 4.25") {
		t.Errorf("got error %v", err)
	}
	for want, args := range map[string][]string{
		"-gomlx: go build in":                       {"-compare", "1", "-gomlx", t.TempDir()},
		"-gomlx: compares with GoMLX alone":         {"-compare", "1", "-gomlx", "a", "-llama", "b"},
		"-gomlx: read by -compare alone; give both": {"-gomlx", "a"},
	} {
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

// The loss of the first batch follows from the weights: about ln V of random weights.
func TestFirstLoss(t *testing.T) {
	c := shapes()["char"]
	c.NLayer, c.BatchSize = 1, 2
	var weights bytes.Buffer
	loss, ms, err := firstLoss(c, &weights)
	if err != nil || !(math.Abs(loss-math.Log(65)) < 0.2) || !(ms > 0) {
		t.Errorf("got %v in %v ms (%v), want about %v", loss, ms, err, math.Log(65))
	}
	if weights.Len() < 1<<19 {
		t.Errorf("got %d bytes, want the weights", weights.Len())
	}
}
