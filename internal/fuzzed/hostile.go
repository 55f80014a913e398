package fuzzed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile is an invalid file. It may claim more bytes than it has.
type hostile struct {
	what string
	data []byte
	size int64 // size of a sparse file; 0 means len(data)
}

// hostiles returns more than 40 hostile variants of a good file, and one for each swap of words. largest is the largest
// number of bytes that are read of a file.
func hostiles(good []byte, largest int, swaps [][2]string) (list []hostile) {
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
		"nothing": "", "a byte": "{", "noise": string(noise),
		"NULs": strings.Repeat("\x00", 1000), "ones": strings.Repeat("\xff", 1000),
		"null": "null", "true": "true", "a number": "1e999", "a string": `"x"`,
		"[]": "[]", "{}": "{}", "[{}]": "[{}]", "BOM": "\ufeff{}",
		"a long string":   `"` + strings.Repeat("a", 7<<20) + `"`,
		"a long key":      `{"` + strings.Repeat("\u202e", 2<<20) + `":1}`,
		"a long number":   `{"step":` + strings.Repeat("9", 5<<20) + `}`,
		"brackets":        strings.Repeat("[", 4<<20),
		"braces":          strings.Repeat(`{"a":`, 1<<20),
		"many numbers":    "[" + strings.Repeat("0,", 2<<20) + "0]",
		"a terminal":      `{"` + strings.Repeat(`\u001b[2J`, 1000) + `":1}`,
		"a raw terminal":  "{\"\x1b[2J\x9b31m\":1}",
		"a key in a case": `{"Type":"character","VOCAB":"ab"}`,
		"another type":    `{"type":"` + strings.Repeat(`\u001b`, 1<<16) + `"}`,
		"words":           `{"type":"word","vocab":[` + strings.Repeat(`"a",`, 1<<19) + `"b"]}`,
		"a vocabulary":    `{"type":"character","vocab":"` + strings.Repeat("ab", 15<<17) + `"}`,
		"too large":       strings.Repeat(" ", largest+1),
		"zeros":           strings.Repeat("\x00", largest),
	} {
		add(what, []byte(text))
	}
	slices.SortFunc(list, func(a, b hostile) int { return strings.Compare(a.what, b.what) })
	add("half", good[:len(good)/2])
	add("less a byte", good[:len(good)-1])
	add("and a byte", append(slices.Clone(good), 7))
	add("twice", append(slices.Clone(good), good...))
	at := []int{0, 1, 7, 8, 9, len(good) / 3, len(good) / 2, len(good) - 2}
	for i := range 18 { // in the header, if there is one
		at = append(at, (i+1)*min(len(good), 1600)/20)
	}
	for _, at := range at {
		changed := slices.Clone(good)
		changed[at] ^= 0x41
		add(fmt.Sprint("byte ", at), changed)
	}
	for _, n := range []int64{int64(len(good)), 100 << 30} { // the good file, then a hole
		list = append(list, hostile{"sparse", good, 1<<30 + n})
		list = append(list, hostile{"nothing, sparse", nil, 1<<30 + n})
	}
	for _, word := range swaps {
		swap(word[0], word[1])
	}
	return list
}

// Planted returns the directory of a checkpoint of step 3 whose manifest matches its files, with other data in the file
// of that name.
func Planted(t *testing.T, contents map[string][]byte, name string, data []byte) string {
	t.Helper()
	return planted(t, contents, name, hostile{data: data})
}

// planted returns the directory of a checkpoint whose manifest matches its files, one of which is hostile.
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
