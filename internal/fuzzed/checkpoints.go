package fuzzed

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode"
)

// Manifest is the name of the manifest of a checkpoint.
const Manifest = "manifest.json"

// Checkpoints replaces files of checkpoints, including the manifest, with hostile ones.
type Checkpoints struct {
	Largest int                     // largest number of bytes that are read of a file
	Swaps   [][2]string             // words of the good files, and their replacements
	Every   int                     // one of this number of files is tried; NIGHTLY=1 tries all
	Use     func(path string) error // uses a checkpoint in every way until the first error

	Around map[string]map[string][]byte // for a file that is not read with all the others: a checkpoint that reads it
}

// Check calls Use with a checkpoint of step 3 in which one of the named files is replaced with each hostile one. It
// fails after a panic, more than 64 MB beyond the need of the good checkpoint, or a message that is not one printable
// line. A file that claims a gigabyte must be refused before it is hashed.
func (c Checkpoints) Check(t *testing.T, contents map[string][]byte, names ...string) {
	t.Helper()
	own, err := c.allocated(Planted(t, contents, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	every := c.Every
	if os.Getenv("NIGHTLY") != "" {
		every = 1
	}
	var worst uint64
	tried := 0
	for _, name := range names {
		around, other := c.Around[name]
		if !other {
			around = contents
		}
		good := around[name]
		if name == Manifest {
			good = []byte(`{"format": "pedestrian checkpoint 1", "files": [{"name": "a", "size": 3}]}`)
		}
		list := hostiles(good, c.Largest, c.Swaps)
		if len(list) < 60 {
			t.Fatalf("%d hostile files, want 60", len(list))
		}
		for i, h := range list {
			if (i+len(name))%every != 0 || bytes.Equal(h.data, good) && h.size == 0 || name == Manifest && h.size > 0 {
				continue
			}
			tried++
			n, err := c.allocated(planted(t, around, name, h))
			what := name + ", " + h.what
			if n > own+64<<20 {
				t.Errorf("%s: %d MB allocated, the model's own need is %d MB", what, n>>20, own>>20)
			}
			worst = max(worst, n)
			h.judge(t, what, err)
		}
	}
	t.Logf("%d tried, at most %d MB allocated, %d by the good one", tried, worst>>20, own>>20)
}

func (c Checkpoints) allocated(path string) (n uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = c.Use(path)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// judge fails if the error is nil, or unsuitable for a terminal.
func (h hostile) judge(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		if !strings.HasPrefix(h.what, "byte ") && h.what != "less a byte" { // another number, or no line feed
			t.Errorf("%s: accepted", what)
		}
		return
	}
	message := err.Error()
	Plain(t, what, err)
	if len(message) > 4000 || strings.ContainsFunc(message, func(c rune) bool { return !unicode.IsPrint(c) }) {
		t.Errorf("%s: a message of %d bytes, %.300q", what, len(message), message)
	}
	if h.size > 0 && strings.Contains(message, "SHA-256") {
		t.Errorf("%s: hashed before it is refused: %v", what, err)
	}
}
