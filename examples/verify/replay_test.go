package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// finishedRun trains a small model for twelve steps, with a checkpoint after every third and metrics, and returns the
// directory and the path of the text.
func finishedRun(t *testing.T, change func(c *gpt.Config)) (dir, data string) {
	t.Helper()
	dir = t.TempDir()
	verses := strings.Repeat("Who weighs us both and tells if we shall float?\nThe boat will tell.\n", 20)
	data = filepath.Join(t.TempDir(), "verses.txt")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(data, []byte(verses), 0o644))
	c := small()
	c.VocabSize, c.MaxIters, c.WarmupIters, c.LRDecayIters, c.Dropout = 0, 12, 1, 12, 0.1
	change(&c)
	tok, err := text.NewCharacters(verses)
	must(err)
	source := corpus.Source{Name: data, Text: verses}
	encoded, err := source.Encode(tok, c.BlockSize)
	must(err)
	trainer, err := gpt.NewTrainer(c, encoded, tok)
	must(err)
	metrics, err := program.OpenMetrics(dir, 0)
	must(err)
	saved, err := checkpoint.Open(dir)
	must(err)
	saved.Keep = 2
	for {
		if trainer.Done%3 == 0 {
			files, err := trainer.Files()
			must(err)
			must(saved.Save(trainer.Done, append(files, source.Stamp(encoded))))
		}
		if trainer.Done == c.MaxIters {
			break
		}
		p, err := trainer.Step()
		must(err)
		must(metrics.Add(program.StepLine{Step: p.Step, Loss: p.Loss, Norm: p.Norm}))
	}
	must(metrics.Close())
	must(saved.Close())
	return dir, data
}

// A run is done again in whole, from its directory or from its certificate alone, and by stretches between checkpoints.
func TestReplay(t *testing.T) {
	dir, data := finishedRun(t, func(*gpt.Config) {})
	for _, test := range []struct{ args, want string }{
		{"-replay " + dir, "equal to the last bit: 12 steps, 12 links, 5 checkpoints\n"},
		{"-replay " + dir + "/certificate.json -data " + data,
			"equal to the last bit: 12 steps, 12 links, 5 checkpoints\n"},
		{"-replay " + dir + " -segments 3 -data " + data, "equal to the last bit: "},
		{"-replay " + dir + " -segments 99", "only 12 stretches begin at a checkpoint at hand\n"},
		{"-replay " + dir, "metrics.jsonl: the losses and norms of 12 steps agree with the certificate\n"},
		{"-replay " + dir, "step 6: the checkpoint has the hashes of the certificate\n"},
		{"-replay " + dir + " -with " + dir, "equal to the last bit in 13 links\n"},
	} {
		status, out, complaint := do(strings.Fields(test.args)...)
		if status != 0 || !strings.Contains(out, test.want) {
			t.Errorf("%s: got status %d, %s%s, want %q", test.args, status, out, complaint, test.want)
		}
	}
	for args, want := range map[string]string{
		"-replay nowhere": "-replay: stat nowhere",
		"-replay " + dir + "/certificate.json -segments 2":         "-segments: got a certificate alone",
		"-replay " + dir + " -segments -1":                         "-segments: got -1",
		"-replay " + dir + " -n_layer 2":                           "-n_layer: -replay does a run again with its own",
		"-segments 3":                                              "-segments: without -replay",
		"-replay " + t.TempDir():                                   "no certificate.json",
		"-replay " + dir + " -with " + data:                        "-with: certificate",
		"-replay " + dir + "/certificate.json -data replay.go":     "text: \"replay.go\" has sha256",
		"-replay " + dir + "/metrics.jsonl":                        "-replay: certificate",
		"-replay " + dir + " -all":                                 "-all: -replay does a run again",
		"-replay " + dir + " -model " + dir:                        "-model: -replay does a run again",
		"-replay " + dir + " -with " + filepath.Dir(dir) + "/none": "-with: stat",
	} {
		if status, out, complaint := do(strings.Fields(args)...); status == 0 || !strings.Contains(complaint, want) {
			t.Errorf("%s: got status %d, %s%s, want %q", args, status, out, complaint, want)
		}
	}
}

// Everything that was edited beside or in a certificate is named, even if the sums were computed again.
func TestReplayNamesTheEdit(t *testing.T) {
	finished, data := finishedRun(t, func(*gpt.Config) {})
	verses, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	for want, edit := range map[string]func(dir, data string) error{
		"verify: metrics.jsonl, which was edited, or is of another run: step 5: loss: ": func(dir, _ string) error {
			return replace(filepath.Join(dir, "metrics.jsonl"), `{"step":5,"loss":`, `{"step":5,"loss":1`)
		},
		"not equal: step 5: loss: ": func(dir, _ string) error {
			os.Remove(filepath.Join(dir, "metrics.jsonl"))
			return forge(dir, func(c *certificate.Certificate) { c.Links[5].Loss++ })
		},
		"not equal: step 7: norm of the gradient: ": func(dir, _ string) error {
			os.Remove(filepath.Join(dir, "metrics.jsonl"))
			return forge(dir, func(c *certificate.Certificate) { c.Links[7].Norm++ })
		},
		"not equal: step 3: weights: sha256 0000": func(dir, _ string) error {
			return forge(dir, func(c *certificate.Certificate) { c.Links[3].Weights = strings.Repeat("0", 64) })
		},
		"not equal: step 0: moments: sha256 0000": func(dir, _ string) error {
			return forge(dir, func(c *certificate.Certificate) { c.Links[0].Moments = strings.Repeat("0", 64) })
		},
		"the builds differ: go: \"go1": func(dir, _ string) error {
			os.Remove(filepath.Join(dir, "metrics.jsonl"))
			return forge(dir, func(c *certificate.Certificate) { c.Links[5].Loss++; c.Builds[0].Go = "go1.3" })
		},
		"the builds agree in version": func(dir, _ string) error {
			os.Remove(filepath.Join(dir, "metrics.jsonl"))
			return forge(dir, func(c *certificate.Certificate) { c.Links[5].Loss++ })
		},
		"link of step 9: got model.safetensors with sha256": func(dir, _ string) error {
			return forge(dir, func(c *certificate.Certificate) { c.Links[9].Weights = strings.Repeat("0", 64) })
		},
		"config: edited": func(dir, _ string) error {
			return replace(filepath.Join(dir, "certificate.json"), `"n_layer":`, `"n_layer":1`)
		},
		"config of the certificate: n_layers": func(dir, _ string) error {
			return forge(dir, func(c *certificate.Certificate) {
				c.Config = bytes.Replace(c.Config, []byte("n_layer"), []byte("n_layers"), 1)
			})
		},
		"link of step 4: edited": func(dir, _ string) error {
			return replace(filepath.Join(dir, "certificate.json"), `{"step":4,"loss":`, `{"step":4,"loss":1`)
		},
		"has sha256": func(_, data string) error {
			return replace(data, "float", "drown")
		},
		"model.safetensors: got SHA-256": func(dir, _ string) error {
			path := filepath.Join(dir, "step-00000009", "model.safetensors")
			content, err := os.ReadFile(path)
			content[len(content)-2] ^= 1
			return first(err, os.WriteFile(path, content, 0o644))
		},
	} {
		dir := t.TempDir()
		if err := first(os.CopyFS(dir, os.DirFS(finished)), os.WriteFile(data, verses, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := edit(dir, data); err != nil {
			t.Fatal(err)
		}
		if status, out, complaint := do("-replay", dir); status != 1 || !strings.Contains(complaint, want) {
			t.Errorf("got status %d, %s%s, want %q", status, out, complaint, want)
		}
	}
}

// Another seed is another run; a run with code of its own cannot be done again, and says so. Certificates of another
// commit are replayed if that is asked for.
func TestReplayOfAnotherRun(t *testing.T) {
	dir, _ := finishedRun(t, func(*gpt.Config) {})
	second, _ := finishedRun(t, func(c *gpt.Config) { c.Seed++ })
	unchanged := func(int, []train.Named) error { return nil }
	hooked, _ := finishedRun(t, func(c *gpt.Config) { c.Hooks.Gradients = unchanged })
	a := audit{Certificate: &certificate.Certificate{Builds: []certificate.Build{{Module: "v1", Commit: "c1"}}}}
	build := certificate.Build{Module: "v1", Commit: "c2"}
	want := `other sources, whose numbers may differ: commit: "c2" here, "c1" there`
	if err := a.sources(build); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if a.commit = true; a.sources(build) != nil || a.sources(a.Builds[0]) != nil {
		t.Error("refused although -other_commit was given")
	}
	if a.commit = false; a.sources(a.Builds[0]) != nil || a.sources(certificate.Build{Module: "devel"}) != nil {
		t.Error("the same commit, or an unknown one, was refused")
	}
	for args, want := range map[string]string{
		"-replay " + dir + " -with " + second:         `compare: config: got "seed 2", want "seed 1"`,
		"-replay " + hooked:                           `code: "hook gradients" is not the library's`,
		"-replay " + dir + " -other_commit":           "equal to the last bit: 12 steps",
		"-replay " + hooked + " -segments 1":          `not covered: "hook gradients"`,
		"-replay " + second + "/step-00000009":        "equal to the last bit: 9 steps",
		"-replay " + hooked + " -with " + hooked + "": "equal to the last bit in 13 links",
	} {
		if _, out, complaint := do(strings.Fields(args)...); !strings.Contains(out+complaint, want) {
			t.Errorf("%s: got %s%s, want %q", args, out, complaint, want)
		}
	}
}

// replace replaces a text in a file.
func replace(path, from, to string) error {
	content, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(content, []byte(from)) {
		return fmt.Errorf("%s: no %q: %v", path, from, err)
	}
	return os.WriteFile(path, bytes.ReplaceAll(content, []byte(from), []byte(to)), 0o644)
}

// forge changes the certificate in dir, and computes its sums again.
func forge(dir string, change func(c *certificate.Certificate)) error {
	path := filepath.Join(dir, certificate.File)
	c, err := certificate.Open(path)
	if err != nil {
		return err
	}
	change(c)
	data, err := c.Encode()
	return first(err, os.WriteFile(path, data, 0o644))
}

// first returns the first error.
func first(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}
