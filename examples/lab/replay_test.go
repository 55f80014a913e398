package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replayed runs lab replay.
func replayed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), append([]string{"-threads", "1"}, args...), &out, io.Discard)
	return out.String(), err
}

// Trials of a study on a text, and of one on tasks, are run again to the bit, some at random or all of a row, and the
// hash is the one of the report.
func TestReplay(t *testing.T) {
	data, dir, tasks := verses(t), t.TempDir(), t.TempDir()
	printed(t, "-quick", "-data", data, "-out_dir", dir, "-arms", "attention=linear", "-measures", "state")
	printed(t, "tasks", "-quick", "-tasks", "repetition:Length=8,Vocabulary=8; parity:Length=6", "-out_dir", tasks,
		"-arms", "attention=linear", "-seeds", "2")
	for _, test := range []struct{ args, want string }{
		{"-replay " + dir + " -n 2", "equal to the last bit: 2 of 4 trials\n"},
		{"-replay " + dir + " -n 0 -trials attention=linear",
			", attention=linear, seed 1338: equal: 2 evaluations, steps, diverged, loss, parameters, chain, state\n"},
		{"replay -replay " + dir + " -data " + data, "equal to the last bit: 4 of 4 trials\n"},
		{"-replay " + tasks + " -n 0 -quick", "equal to the last bit: 8 of 8 trials\n"},
		{"-replay " + tasks + " -n 0 -quick -trials parity", "diverged, loss, parameters, chain, accuracy\n"},
	} {
		out, err := replayed(t, strings.Fields(test.args)...)
		if strings.HasPrefix(test.args, "replay ") {
			var said strings.Builder
			err = run(t.Context(), strings.Fields(test.args), &said, io.Discard)
			out = said.String()
		}
		if err != nil || !strings.Contains(out, test.want) {
			t.Errorf("%s: got %s, %v, want %q", test.args, out, err, test.want)
		}
	}
	out, err := replayed(t, "-replay", dir, "-n", "1")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(out, "results ")
	if report := read(t, dir, "report.md"); len(after) < 64 || !strings.Contains(report, after[:64]) {
		t.Errorf("the report has not the hash of %s", out)
	}
}

// What was edited in a study is named, also if the record was sealed again.
func TestReplayNamesTheEdit(t *testing.T) {
	data := verses(t)
	finished := t.TempDir()
	printed(t, "-quick", "-data", data, "-out_dir", finished, "-arms", "attention=linear", "-seeds", "1")
	study := func() (dir, path string) {
		dir = t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(finished)); err != nil {
			t.Fatal(err)
		}
		paths, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
		if err != nil || len(paths) != 2 {
			t.Fatal(paths, err)
		}
		return dir, paths[0]
	}
	edit := func(path, from, to string) {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(content), from) {
			t.Fatal(path, err)
		}
		put(t, path, strings.Replace(string(content), from, to, 1))
	}
	for want, change := range map[string]func(dir, path string){
		": edited: its sha256":      func(_, path string) { edit(path, `"loss": `, `"loss": 1`) },
		"not equal: repeat: ":       func(_, path string) { seal(t, path, `"loss": `, `"loss": 1`) },
		"chain: got ":               func(_, path string) { seal(t, path, `"chain": "`, `"chain": "0`) },
		"of which 1 have no record": func(_, path string) { os.Remove(path) },
		"study.json":                func(dir, _ string) { os.Remove(filepath.Join(dir, "study.json")) },
		"names no text of sha256": func(dir, _ string) {
			edit(filepath.Join(dir, "study.json"), `.txt": "`, `.txt": "0`)
		},
		"has another sha256 than the study's": func(dir, _ string) {
			edit(filepath.Join(dir, "study.json"), filepath.Base(data), filepath.Base(data)+"x")
			put(t, data+"x", "Another text, which is long enough to train on. "+strings.Repeat("It repeats. ", 40))
		},
	} {
		dir, path := study()
		change(dir, path)
		if out, err := replayed(t, "-replay", dir, "-n", "0"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v, want %q", out, err, want)
		}
	}
	dir, _ := study()
	for args, want := range map[string]string{
		"-n -1":          "-n: got -1",
		"-trials banana": `-trials: got "banana", which is in the name of no trial`,
		"-data nowhere":  "-data",
		"-threads -1":    "-threads: got -1",
	} {
		if _, err := replayed(t, append([]string{"-replay", dir}, strings.Fields(args)...)...); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// seal edits a record and computes its hash again.
func seal(t *testing.T, path, from, to string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), from) {
		t.Fatal(path, err)
	}
	var r struct {
		Key      string          `json:"key"`
		Name     string          `json:"name,omitempty"`
		Identity json.RawMessage `json:"identity"`
		Result   json.RawMessage `json:"result"`
		Timing   json.RawMessage `json:"timing"`
		SHA256   string          `json:"sha256"`
	}
	edited := strings.Replace(string(content), from, to, 1)
	if err := json.Unmarshal([]byte(edited), &r); err != nil {
		t.Fatal(err)
	}
	r.SHA256 = ""
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	r.SHA256 = sha(data)
	if data, err = json.MarshalIndent(r, "", "\t"); err != nil {
		t.Fatal(err)
	}
	put(t, path, string(data)+"\n")
}

// sha returns the SHA-256 in hexadecimal.
func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
