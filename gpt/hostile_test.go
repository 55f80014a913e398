package gpt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// hostile is a file that is not what it should be; it may claim more bytes than it has.
type hostile struct {
	what string
	data []byte
	size int64 // where it is not len(data): a sparse file
}

// hostiles makes 60 out of one that is good.
func hostiles(good []byte) (list []hostile) {
	add := func(what string, data []byte) { list = append(list, hostile{what: what, data: data}) }
	swap := func(old, new string) {
		add(fmt.Sprintf("%.20q for %.20q", new, old), bytes.Replace(good, []byte(old), []byte(new), 1))
	}
	rng := rand.New(rand.NewPCG(6, 0))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for what, text := range map[string]string{
		"nothing": "", "a byte": "{", "NULs": strings.Repeat("\x00", 1000), "ones": strings.Repeat("\xff", 1000), "noise": string(noise),
		"null": "null", "true": "true", "a number": "1e999", "a string": `"x"`, "[]": "[]", "{}": "{}", "[{}]": "[{}]", "BOM": "\ufeff{}",
		"a long string": `"` + strings.Repeat("a", 7<<20) + `"`, "a long key": `{"` + strings.Repeat("\u202e", 2<<20) + `":1}`,
		"a long number": `{"step":` + strings.Repeat("9", 5<<20) + `}`,
		"brackets":      strings.Repeat("[", 4<<20), "braces": strings.Repeat(`{"a":`, 1<<20),
		"many numbers": "[" + strings.Repeat("0,", 2<<20) + "0]", "a terminal": `{"` + strings.Repeat(`\u001b[2J`, 1000) + `":1}`,
		"a raw terminal":  "{\"\x1b[2J\x9b31m\":1}",
		"a key in a case": `{"Type":"character","VOCAB":"ab"}`, "another type": `{"type":"` + strings.Repeat(`\u001b`, 1<<16) + `"}`,
		"words": `{"type":"word","vocab":[` + strings.Repeat(`"a",`, 1<<19) + `"b"]}`, "a vocabulary": `{"type":"character","vocab":"` + strings.Repeat("ab", 15<<17) + `"}`,
		"too large": strings.Repeat(" ", checkpoint.MaxFile+1), "zeros": strings.Repeat("\x00", checkpoint.MaxFile),
	} {
		add(what, []byte(text))
	}
	slices.SortFunc(list, func(a, b hostile) int { return strings.Compare(a.what, b.what) })
	add("half", good[:len(good)/2])
	add("less a byte", good[:len(good)-1])
	add("and a byte", append(slices.Clone(good), 7))
	add("twice", append(slices.Clone(good), good...))
	at := []int{0, 1, 7, 8, 9, len(good) / 3, len(good) / 2, len(good) - 2}
	for i := range 18 { // in the header, where there is one
		at = append(at, (i+1)*min(len(good), 1600)/20)
	}
	for _, at := range at {
		changed := slices.Clone(good)
		changed[at] ^= 0x41
		add(fmt.Sprint("byte ", at), changed)
	}
	for _, n := range []int64{int64(len(good)), 100 << 30} { // the good one's beginning, then nothing on the disk
		list = append(list, hostile{"sparse", good, 1<<30 + n})
		list = append(list, hostile{"nothing, sparse", nil, 1<<30 + n})
	}
	for _, word := range [][2]string{
		{`"F32"`, `"F64"`}, {`"F32"`, `"I8"`}, {`[41,16]`, `[41,1099511627776]`}, {`[41,16]`, `[-41,16]`}, {`"shape":[`, `"shape":[0,`}, {"wte", "w\x1be"},
		{`"step": 3`, `"step": -3`}, {`"step": 3`, `"step": 4611686018427387904`}, {`"n_layer": 2`, `"n_layer": 134217728`}, {`"n_embd": 16`, `"n_embd": 268435456`},
		{`"vocab_size": 41`, `"vocab_size": 268435456`}, {`"block_size": 8`, `"block_size": 90000`}, {`"n_head": 2`, `"n_head": 0`}, {`"seed": 7`, `"seed": 1e400`},
		{`"attention": "causal"`, `"attention": "\u001b[2J"`}, {`"batches": "`, `"batches": "` + strings.Repeat("AAAA", 1<<20)}, {`"vocab": "`, `"vocab": "\u0000`},
	} {
		swap(word[0], word[1])
	}
	return list
}

// planted is the directory of a checkpoint whose manifest fits its files, one of them hostile.
func planted(t *testing.T, contents map[string][]byte, name string, h hostile) string {
	t.Helper()
	type entry struct {
		Name   string `json:"name"`
		Size   int64  `json:"size"`
		SHA256 string `json:"sha256"`
	}
	var m struct {
		Format string  `json:"format"`
		Files  []entry `json:"files"`
	}
	m.Format = "pedestrian checkpoint 1"
	path := t.TempDir()
	dir := filepath.Join(path, "step-00000003")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, data := range contents {
		if file == name {
			data = h.data
		}
		sum := sha256.Sum256(data)
		e := entry{file, int64(len(data)), hex.EncodeToString(sum[:])}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if file == name && h.size > 0 {
			e.Size = h.size
			if err := os.Truncate(filepath.Join(dir, file), h.size); err != nil {
				t.Skip("this file system has no sparse files: ", err)
			}
		}
		m.Files = append(m.Files, e)
	}
	slices.SortFunc(m.Files, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if name == "manifest.json" {
		text = h.data
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// useAll does with a checkpoint all that there is to be done, until the first error.
func useAll(trainer *Trainer, path string) error {
	cp, err := checkpoint.Load(path, Fits())
	if err != nil {
		return err
	}
	defer cp.Close()
	if _, err := LoadModel(emptyGraph(), cp); err != nil {
		return err
	}
	if _, err := LoadTokenizer(cp); err != nil {
		return err
	}
	_, err = Resume(trainer.Config(), trainer.Corpus, trainer.Tokenizer, cp)
	return err
}

// TestHostileCheckpoint replaces each file of a checkpoint by each of 60 that are hostile, and whole for the manifest: no
// panic, at most 64 MB beyond what the model itself needs, and a message of one line that a terminal merely shows. What
// claims a gigabyte is refused before it is hashed.
func TestHostileCheckpoint(t *testing.T) {
	trainer := newTrainer(t, tiny())
	steps(t, trainer, 3)
	contents := map[string][]byte{}
	for _, f := range files(t, trainer) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = b.Bytes()
	}
	allocated := func(path string) (n uint64, err error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = useAll(trainer, path)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, err
	}
	own, err := allocated(planted(t, contents, "", hostile{}))
	if err != nil {
		t.Fatal(err)
	}
	every := 4 // of them all is tried
	switch {
	case testing.Short():
		every = 16
	case os.Getenv("NIGHTLY") != "":
		every = 1
	}
	var worst uint64
	tried := 0
	for _, name := range []string{train.WeightsFile, train.OptimizerFile, train.StateFile, tokenizerFile, configFile, "manifest.json"} {
		around := contents
		if name == configFile { // which is not read where there is a state
			around = map[string][]byte{train.WeightsFile: contents[train.WeightsFile], configFile: contents[configFile]}
		}
		good := around[name]
		if name == "manifest.json" {
			good = []byte(`{"format": "pedestrian checkpoint 1", "files": [{"name": "a", "size": 3}]}`)
		}
		list := hostiles(good)
		if len(list) < 60 {
			t.Fatalf("%d hostile files, want 60", len(list))
		}
		for i, h := range list {
			if (i+len(name))%every != 0 || bytes.Equal(h.data, good) && h.size == 0 || name == "manifest.json" && h.size > 0 {
				continue
			}
			tried++
			n, err := allocated(planted(t, around, name, h))
			what := name + ", " + h.what
			if n > own+64<<20 {
				t.Errorf("%s: %d MB allocated, the model's own need is %d MB", what, n>>20, own>>20)
			}
			worst = max(worst, n)
			if err == nil {
				if !strings.HasPrefix(h.what, "byte ") && h.what != "less a byte" { // another number, or no line feed
					t.Errorf("%s: accepted", what)
				}
				continue
			}
			message := err.Error()
			if len(message) > 4000 || strings.ContainsFunc(message, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("%s: a message of %d bytes, %.300q", what, len(message), message)
			}
			if h.size > 0 && strings.Contains(message, "SHA-256") {
				t.Errorf("%s: hashed before it is refused: %v", what, err)
			}
		}
	}
	t.Logf("%d tried, at most %d MB allocated, %d of a whole one", tried, worst>>20, own>>20)
}
