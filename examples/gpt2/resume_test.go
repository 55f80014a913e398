package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// programVariable makes the binary of the tests run the program, so that a test can kill it.
const programVariable = "GPT2_TEST_PROGRAM"

// process starts the program as a process of its own.
func process(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), programVariable+"=1")
	return c
}

// trained returns what a training has written, without times and the names of directories.
func trained(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir)
		switch {
		case err != nil || d.IsDir() || slices.Contains([]string{".lock", "state.json", "manifest.json"}, d.Name()):
			return err
		case strings.Contains(name, "step-") && !strings.Contains(name, "step-00000007"): // it depends on the time
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && d.Name() == certificate.File { // the links of checkpoints depend on when they were saved
			c, err := certificate.Decode(data)
			if err != nil {
				return err
			}
			last := c.Last()
			last.Sum = ""
			data = fmt.Append(nil, last, c.Run, c.Builds, c.From)
		}
		data = regexp.MustCompile(`,"(ms|tok_per_s|gflops|eta_s)":[\d.e+-]+`).ReplaceAll(data, nil)
		files[name] = string(bytes.ReplaceAll(data, []byte(dir), []byte("DIR")))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(files, "/loss.png") // its points may be drawn again
	return files
}

// trainings returns the arguments of a training of every kind, on top of a model.
func trainings(t *testing.T, model string) map[string][]string {
	t.Helper()
	hens := written(t, strings.Repeat("the hen has a nest\n", 60))
	lines := func(line string) string { return written(t, strings.Repeat(line+"\n", 12)) }
	small := []string{"-max_iters", "7", "-batch_size", "2", "-gradient_accumulation_steps", "2", "-block_size", "16",
		"-learning_rate", "0.02",
		"-eval_interval", "3", "-ema", "0.5", "-dropout", "0.1"}
	return map[string][]string{
		"train": append(
			small, "-train", hens, "-tokenizer", "train:270", "-n_embd", "16", "-n_layer", "1", "-n_head", "2",
			"-patience", "5", "-eval_iters", "2",
		),
		"tune": append(small, "-model", model, "-tune", hens, "-lora_r", "2", "-patience", "5", "-eval_iters", "2"),
		"full": append(small, "-model", model, "-tune", hens, "-full"),
		"dpo": append(small, "-model", model, "-dpo",
			lines(`{"prompt": "the hen", "chosen": " has a nest", "rejected": " has"}`),
			"-lora_r", "2", "-template", "chatml"),
		"grpo": append(slices.DeleteFunc(slices.Clone(small), func(a string) bool {
			return a == "-dropout" ||
				a == "0.1"
		}), "-model", model,
			"-grpo", lines(`{"prompt": "the hen", "answer": "a"}`), "-group", "2", "-length", "3", "-updates", "3",
			"-score", "contains", "-full"),
	}
}

// A training of any kind that is killed at random times, and is begun again or resumed each time, ends in the bits of
// one that is not interrupted: its result, its checkpoint, its averages and its metrics.
func TestKilledTrainingsResume(t *testing.T) {
	model := made(t)
	packed := filepath.Join(t.TempDir(), "packed.gguf")
	called(t, "-model", model, "-export", packed, "-dtype", "Q8_0")
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	kinds, tried := trainings(t, model), 2
	if os.Getenv("NIGHTLY") != "" {
		tried = len(kinds)
	}
	names := slices.Sorted(maps.Keys(kinds))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:tried] {
		t.Run(name, func(t *testing.T) {
			args := kinds[name]
			straight, killed := filepath.Join(t.TempDir(), "straight"), filepath.Join(t.TempDir(), "killed")
			if i := slices.Index(args, "-model"); name == "tune" && rng.IntN(2) == 0 {
				args[i+1] = packed
			}
			start := time.Now()
			if out, err := process(t, append(args, "-out_dir", straight)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			took := time.Since(start)
			kills := 1
			if os.Getenv("NIGHTLY") != "" {
				kills = 10
			}
			for ; ; kills-- {
				again := append(args, "-out_dir", killed)
				if cp, err := checkpoint.Load(filepath.Join(killed, checkpointsDir)); err == nil {
					cp.Close()
					again = []string{"-resume", "-out_dir", killed}
				}
				var out bytes.Buffer
				c := process(t, again)
				c.Stdout, c.Stderr = &out, &out
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				if kills > 0 {
					time.AfterFunc(took/4+time.Duration(rng.Int64N(int64(took/2))), func() { c.Process.Kill() })
				}
				if err := c.Wait(); err == nil {
					break
				} else if kills <= 0 {
					t.Fatalf("%v\n%s", err, out.String())
				}
			}
			if diff := cmp.Diff(trained(t, straight), trained(t, killed)); diff != "" {
				t.Errorf("%q: -straight +killed:\n%.4000s", args, diff)
			}
		})
	}
}

// A training of any kind that Ctrl-C ends, at any point, goes on where it was and ends in the same bits.
func TestInterruptedTrainingsResume(t *testing.T) {
	model := made(t)
	for name, args := range trainings(t, model) {
		t.Run(name, func(t *testing.T) {
			straight, broken := filepath.Join(t.TempDir(), "straight"), filepath.Join(t.TempDir(), "broken")
			called(t, append(args, "-out_dir", straight)...)
			looks, more := 60, 120
			if os.Getenv("NIGHTLY") != "" {
				looks, more = 30, 7
			}
			err := error(nil)
			for again := append(args, "-out_dir", broken); ; again = []string{"-resume", "-out_dir", broken} {
				for { // an interrupt before the first step leaves nothing
					err = run(&ending{t.Context(), looks}, again, io.Discard, io.Discard)
					if cp, none := checkpoint.Load(filepath.Join(broken, checkpointsDir)); err == nil || none == nil {
						cp.Close()
						break
					}
					looks += 20
				}
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				looks += more
			}
			if diff := cmp.Diff(trained(t, straight), trained(t, broken)); diff != "" {
				t.Errorf("-straight +broken:\n%.4000s", diff)
			}
		})
	}
}

// A training goes on after its directory was moved, from another directory, and with a larger max_iters. Another model,
// another text and other settings are refused by name; without a checkpoint there is nothing to resume, and a
// directory with one takes no new training.
func TestResumeRefuses(t *testing.T) {
	model, hens, other := made(t), written(
		t, strings.Repeat("the hen has a nest\n", 60),
	), written(t, strings.Repeat("the cow has a barn\n", 60))
	dir := filepath.Join(t.TempDir(), "a")
	args := []string{"-model", model, "-tune", hens, "-lora_r", "2", "-max_iters", "2", "-batch_size", "2",
		"-gradient_accumulation_steps", "1",
		"-block_size", "16", "-out_dir", dir}
	called(t, args...)
	moved := filepath.Join(t.TempDir(), "b")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if out := called(t, "-resume", "-out_dir", moved); !strings.Contains(
		out, "finished at step 2 of max_iters 2; -resume -max_iters 4 continues it",
	) {
		t.Errorf("got %q", out)
	}
	if out := called(
		t, "-resume", "-out_dir", moved, "-max_iters", "3",
	); !strings.Contains(out, "resumed at step 2\nstep 3: val loss") {
		t.Errorf("got %q", out)
	}
	for want, args := range map[string][]string{
		"-full: got true, want false as saved":         {"tune", "-full"},
		`-template: got "chatml", want "" as saved`:    {"tune", "-template", "chatml"},
		"flag -dpo: not of gpt2 tune; it is a command": {"-dpo", hens},
		"learning_rate":                   {"-learning_rate", "0.5"},
		"lora_r":                          {"-lora_r", "3"},
		"trained on the text with sha256": {"-tune", other},
		"the run began with the model " + model + ", whose weig": {"-model", another(t, model)},
	} {
		err := run(t.Context(), append(args, "-resume", "-out_dir", moved, "-max_iters", "5"), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	for want, args := range map[string][]string{
		"no checkpoint":        {"-resume", "-out_dir", t.TempDir()},
		"-resume continues it": append(args[:len(args)-1], moved),
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

// another returns a folder with the same network as a model's, and other weights.
func another(t *testing.T, model string) string {
	t.Helper()
	m, tok, err := published.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	m.Params()[0].Tensor().Set(0, 7)
	dir := filepath.Join(t.TempDir(), "another")
	if err := published.Export(t.Context(), dir, m, tok, "F32", chat.Template{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A training on messages writes them by -template, and the tuned folder has the template.
func TestTemplateOfMessages(t *testing.T) {
	model, dir := made(t), filepath.Join(t.TempDir(), "tuned")
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	line := `{"messages": [{"role": "user", "content": "the hen"}, {"role": "assistant", "content": "has a nest"}]}` +
		"\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-model", model, "-tune", path, "-full", "-max_iters", "1", "-batch_size", "1",
		"-gradient_accumulation_steps", "1",
		"-block_size", "64", "-out_dir", dir}
	if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "template") {
		t.Errorf("without a template: got %v", err)
	}
	called(t, append(args, "-template", "chatml")...)
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	if template, err := published.LoadTemplate(cp); err != nil || template.Chat != chat.ChatML {
		t.Errorf("got %q (%v), want ChatML", template.Chat, err)
	}
}

// What a training leaves that is killed before its first checkpoint does not stand in the way of another one.
func TestKilledBeforeACheckpoint(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".metrics.jsonl-123", ".loss.png-4", "metrics.jsonl"} {
		write(name)
	}
	if err := vacantForRun(dir); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".metrics.jsonl-x", ".other-1"} {
		write(name)
		if err := vacantForRun(dir); err == nil || !strings.Contains(err.Error(), "holds "+name+" already") {
			t.Errorf("%s: got error %v", name, err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
