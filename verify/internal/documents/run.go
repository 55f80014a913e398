package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// run runs the commands of the documents, or lists them.
func run(documents []string, limit time.Duration, list bool) error {
	var commands []command
	for _, document := range documents {
		found, err := read(".", document)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%s: got no commands, want at least 1", document)
		}
		commands = append(commands, found...)
	}
	if list {
		for _, c := range commands {
			fmt.Printf("%s:%d: %s\n", c.document, c.line, c.text)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "documents-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := place(dir)
	if err != nil {
		return err
	}
	failed, begin := 0, time.Now()
	for i, c := range commands {
		start := time.Now()
		state, output := p.try(c, limit)
		fmt.Printf("%3d of %d, %4.0fs, %-11s %3.0fs  %s:%d: %s\n", i+1, len(commands),
			time.Since(begin).Seconds(), state, time.Since(start).Seconds(), c.document, c.line, c.text)
		if state == failure {
			failed++
			fmt.Println(last(output, 20))
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d commands failed", failed, len(commands))
	}
	return nil
}

// states of a command that has run.
const (
	success     = "passed"
	failure     = "failed"
	interrupted = "interrupted"
	skipped     = "skipped"
)

// workplace is a clone of the repository with the files that commands want of a user.
type workplace struct {
	dir    string
	values []value
	done   map[string]bool
}

// place clones the repository below dir and writes a user's files into the clone.
func place(dir string) (*workplace, error) {
	p := &workplace{dir: filepath.Join(dir, "clone"), done: map[string]bool{}}
	if out, err := exec.Command("git", "clone", "-q", ".", p.dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git clone: %s", out)
	}
	text := os.Getenv("PEDESTRIAN_TEXT")
	if text == "" {
		text = "README.md"
	}
	data, err := file.Read(text, 1<<30)
	if err != nil {
		return nil, err
	}
	for name, content := range map[string]string{
		"input.txt":     string(data),
		"val.txt":       string(data[len(data)-len(data)/10:]),
		"pairs.tsv":     strings.Repeat("one\tuno\ntwo\tdue\nthree\ttre\n", 40),
		"choices.jsonl": `{"prompt": "The sky is", "choices": [" blue", " loud"], "answer": 0}` + "\n",
		"chosen.jsonl":  strings.Repeat(`{"prompt": "The sky is", "chosen": " blue", "rejected": " loud"}`+"\n", 40),
	} {
		write := func(w io.Writer) error { _, err := io.WriteString(w, content); return err }
		if err := file.Replace(filepath.Join(p.dir, name), write); err != nil {
			return nil, err
		}
	}
	// A folder as others publish them and a file of llama.cpp's form, both with random weights.
	state, output := p.try(command{text: `go run ./examples/gpt2 -tokens 1 &&
		cp -r "$XDG_CACHE_HOME/pedestrian/random-gpt2" model &&
		go run ./examples/gpt2 -model model -export model.gguf -dtype Q8_0`}, time.Minute)
	if state != success {
		return nil, fmt.Errorf("a folder with random weights: %s", output)
	}
	// A run with its certificate, and a study.
	state, output = p.try(command{text: `go run ./examples/tinyshakespeare -data input.txt -max_iters 9 -eval_interval 3 \
		-eval_iters 1 -tokens 0 -out_dir other && cp other/certificate.json . &&
		go run ./examples/lab -quick -data input.txt -out_dir study`}, 5*time.Minute)
	if state != success {
		return nil, fmt.Errorf("a run and a study: %s", output)
	}
	p.values = []value{
		{"-replay out -with other", "-replay other -with other"},
		{"-replay DIR", "-replay study"},
		{"-llama DIR", "-llama " + os.Getenv("PEDESTRIAN_LLAMA")},
		{"-choices FILE.jsonl", "-choices choices.jsonl"},
		{"-dpo FILE.jsonl", "-dpo chosen.jsonl"},
		{"-export FILE.gguf", "-export exported.gguf"},
		{"FILE.gguf", "model.gguf"},
		{"FILE.tsv", "pairs.tsv"},
		{"question.json", "examples/lab/mad.json"},
		{"out,out2", "out,out/linear"},
		{"FILE", "input.txt"}, {"DIR", "model"}, {"D", "tuned"}, {"N", "1"}, {"…", "Once"},
	}
	return p, nil
}

// try runs the command unless it wants something that is missing here, or has run before.
func (p *workplace) try(c command, limit time.Duration) (state, output string) {
	text := c.fill(p.values)
	if p.done[text] || p.wants(text) {
		return skipped, ""
	}
	p.done[text] = true
	cmd := exec.Command("timeout", "--signal=INT", "--kill-after=30", fmt.Sprint(limit.Seconds()),
		"bash", "-c", "set -o pipefail; "+text)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(p.dir), "cache"))
	cmd.Stdin = strings.NewReader("Who are you?\n")
	out, err := cmd.CombinedOutput()
	switch code := cmd.ProcessState.ExitCode(); {
	case err == nil:
		return success, string(out)
	case code == 124:
		return interrupted, string(out)
	default: // 137: killed half a minute after the interrupt
		return failure, fmt.Sprintf("%s%v", out, err)
	}
}

// wants reports whether the command wants what is missing here. The gate and nightly, which run this program, are not
// run by it, nor are descriptions of flags.
func (p *workplace) wants(text string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	for word, program := range map[string]string{
		"mpirun": "mpirun", "-tags mpi": "mpicc", ".ci/machines": "mpirun.mpich", "qemu-aarch64": "qemu-aarch64",
		"| dot ": "dot",
	} {
		if _, err := exec.LookPath(program); has(word) && err != nil {
			return true
		}
	}
	return has(".ci/run", ".ci/nightly", "[-") || has("-llama ") && os.Getenv("PEDESTRIAN_LLAMA") == "" ||
		has("-compare ") && exec.Command("/usr/bin/python3", "-c", "import torch").Run() != nil
}

// last returns the last lines of a text.
func last(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "\t" + strings.Join(lines[max(0, len(lines)-n):], "\n\t")
}
