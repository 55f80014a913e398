package text

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
	"github.com/pkg/errors"
)

// load does what a program does with a corpus file: it reads, numbers and splits it.
func load(path string, blockSize int) (Corpus, error) {
	s, err := ReadCorpus(path)
	if err != nil {
		return nil, err
	}
	tok, err := NewCharacters(s)
	if err != nil {
		return nil, err
	}
	return NewCorpus(s, tok, blockSize)
}

// TestBadCorpus checks that unusable files are refused with the reason.
func TestBadCorpus(t *testing.T) {
	const blockSize = 7
	for _, c := range []struct {
		name, content string
		reason        []string
	}{
		{"empty", "", []string{"is empty"}},
		{"only a BOM", "\ufeff", []string{"is empty"}},
		{"one byte", "a", []string{`"a" repeated`, "1 token"}},
		{"single distinct character", strings.Repeat("a", 100), []string{`"a" repeated (100 tokens)`}},
		{"shorter than a block", "abcde", []string{"training split", "got 4 tokens", "at least 8"}},
		{
			"validation shorter than a block", strings.Repeat("ab", 35),
			[]string{"validation split", "got 7 tokens", "at least 8"},
		},
		{"not UTF-8", "ab\ncd\ne\xe9f", []string{"not valid UTF-8", "0xe9", "offset 7", "line 3"}},
		{"not UTF-8 after U+FFFD", "\ufffd\xff", []string{"not valid UTF-8", "0xff", "offset 3", "line 1"}},
		{"UTF-16", "\xff\xfea\x00b\x00", []string{"not valid UTF-8", "0xff", "offset 0", "line 1"}},
		{"NUL", "ab\nc\x00d", []string{"NUL", "offset 4", "line 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "input.txt")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := load(path, blockSize)
			wantError(t, err, c.reason...)
			if _, readable := ReadCorpus(path); readable != nil {
				wantError(t, err, path)
			}
		})
	}
}

func TestBadCorpusFile(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadCorpus(dir)
	wantError(t, err, dir, "a directory without files")

	missing := filepath.Join(dir, "missing.txt")
	_, err = ReadCorpus(missing)
	wantError(t, err, missing)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want it to be fs.ErrNotExist", err)
	}

	sparse := filepath.Join(dir, "sparse.txt")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 10_000_000_000); err != nil {
		t.Skip("no sparse files here:", err)
	}
	var before, after = allocated(), uint64(0)
	_, err = ReadCorpus(sparse)
	after = allocated()
	wantError(t, err, sparse, "10000000000 bytes", "at most 1073741824")
	if got := after - before; got > 1<<20 {
		t.Errorf("refusing a file of 10 GB allocated %d bytes", got)
	}
}

// TestReadCorpusNormalises checks that ReadCorpus makes the documented changes and no others.
func TestReadCorpusNormalises(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input.txt")
	for content, want := range map[string]string{
		"plain é\n\n":               "plain é\n\n",
		"\ufeffwith a mark":         "with a mark",
		"a\r\nb\r\n":                "a\nb\n",
		"a\rb\r\r\n":                "a\rb\r\n",
		"\ufeff\ufeffinner\ufeff":   "\ufeffinner\ufeff",
		"a replacement \ufffd mark": "a replacement \ufffd mark",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCorpus(path)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", content, got, err, want)
		}
	}
}

func FuzzCorpus(f *testing.F) {
	for _, s := range []string{
		"", "a", "aaaa", "\ufeffab\r\ncd", "ab\x00", "ab\xff", strings.Repeat("to be or not ", 9),
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, blockSize uint8) {
		var s string
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { s, err = clean(string(data)) })
		if err != nil {
			return
		}
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00") || strings.Contains(s, "\r\n") &&
			!strings.Contains(string(data), "\r\r\n") {
			t.Fatalf("accepted %q", s)
		}
		tok, err := NewCharacters(s)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := tok.Decode(ids); err != nil || back != s {
			t.Fatalf("got %q, %v, want %q", back, err, s)
		}
		T := int(blockSize)
		c, err := NewCorpus(s, tok, T)
		if err != nil {
			return
		}
		train, val := c.Train().Len(), make(Tokens, c.Val().Len())
		if err := c.Val().Read(val, 0); err != nil {
			t.Fatal(err)
		}
		if train+len(val) != len(ids) || train <= T || len(val) <= T {
			t.Fatalf("splits of %d and %d tokens, text %d, block %d", train, len(val), len(ids), T)
		}
		checkSample(t, val, 2, T)
		checkBlocks(t, val, 2, T)
	})
}
