package text

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The limits themselves are allowed: the shortest block, the largest byte and a text that ends at the end of a buffer.
func TestBorders(t *testing.T) {
	checkSample(t, ramp(9), 3, 1)
	checkBlocks(t, ramp(9), 3, 1)
	if c, err := NewCorpus(strings.Repeat("ab", 10), Bytes{}, 1); err != nil || c.Val().Len() != 2 {
		t.Errorf("got %v, %v", c, err)
	}
	if s, err := (Bytes{}).Decode([]int{0, 255}); err != nil || s != "\x00\xff" {
		t.Errorf("got %q, %v", s, err)
	}
	_, err := Bytes{}.Decode([]int{256})
	wantError(t, err, "id 256 at position 0")
	_, err = mustCharacters(t, "ab").Encode("\xffab")
	wantError(t, err, "not valid UTF-8 at byte 0")
	want := ramp(4097)
	var got Tokens
	for id := range All(want) {
		got = append(got, id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d tokens, want %d", len(got), len(want))
	}
}

// repeated is a tokenizer that encodes every text as the token 7, which it cannot decode.
type repeated struct{ Bytes }

func (repeated) Encode(s string) ([]int, error)   { return slices.Repeat([]int{7}, len(s)), nil }
func (repeated) Decode(ids []int) (string, error) { return "", errors.New("unspeakable") }

// An error comes once, without tokens, and ends the sequence.
func TestErrorsComeOnce(t *testing.T) {
	_, err := NewCorpus("abc", repeated{}, 1)
	wantError(t, err, "corpus: unspeakable")
	_, s, _ := shards(t, 300, 50, 20, 7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	x, y := make([]int, 8), make([]int, 8)
	count := 0
	for id, err := range All(s.Train()) {
		if count++; id != 0 || !errors.Is(err, fs.ErrClosed) {
			t.Errorf("got token %d, %v", id, err)
		}
	}
	for _, err := range Blocks(s.Train(), x, y, 4) {
		if count++; !errors.Is(err, fs.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	for _, err := range Blocks(s.Train(), x, y, 3) {
		count++
		wantError(t, err, "the same multiple of block_size 3")
	}
	if count != 3 {
		t.Errorf("got %d errors, want 3", count)
	}
}

// Files are read up to the limit, alone and together; an error names an entry that is not a file, and says why.
func TestReadLimits(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for path, content := range map[string]string{a: "abc", b: "de\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := readFile(a, 3); err != nil || got != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := readFile(a, 2)
	wantError(t, err, a, "got 3 bytes, want at most 2")
	if got, err := readDirectory(dir, 8); err != nil || got != "abc\nde\n" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = readDirectory(dir, 7)
	wantError(t, err, dir, "more than the 7 bytes allowed, with "+b)
	if runtime.GOOS == "linux" { // a file whose size is reported as 0
		const path = "/proc/version"
		content, err := readFile(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(len(content))
		if got, err := readFile(path, n); err != nil || got != content {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
		_, err = readFile(path, n-1)
		wantError(t, err, path, "want at most that")
	}
	if _, err := readDirectory(filepath.Join(dir, "none"), 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	link := filepath.Join(dir, "0")
	for to, want := range map[string]string{
		dir: "is a directory, want a regular file", filepath.Join(dir, "none"): "no such file",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("this system or user may not create symbolic links:", err)
		}
		_, err = ReadCorpus(dir)
		wantError(t, err, link, want)
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(link, []byte("\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ReadCorpus(dir)
	wantError(t, err, "not valid UTF-8")
}

// A shard holds exactly the tokens that the index lists, at least one, in either part; ids below 2¹⁶ fit two bytes.
func TestShardsBorders(t *testing.T) {
	dir, s, _ := shards(t, 1<<16, 50, 20, 1)
	if info, err := os.Stat(filepath.Join(dir, "train-00049.bin")); err != nil || info.Size() != 2 {
		t.Errorf("got %v, %v, want 2 bytes", info, err)
	}
	if err := s.train.shards[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.val.shards[19].Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Close(), "train-00000.bin")

	dir, s, _ = shards(t, 300, 50, 20, 7)
	path := filepath.Join(dir, "val-00000.bin")
	if err := os.WriteFile(path, append([]byte{300 & 255, 300 >> 8}, make([]byte, 12)...), 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Val().Read(make([]int, 7), 0), "val-00000.bin: token 0 is 300, want 0 … 299")
	if err := os.WriteFile(path, make([]byte, 15), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenShards(dir, vocabularyKind())
	wantError(t, err, "val", "got 15 bytes, want 7 tokens of 2 bytes")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Verify(), path, "is a directory")
	index, err := os.ReadFile(filepath.Join(dir, ShardsFile))
	if err != nil {
		t.Fatal(err)
	}
	none := strings.Replace(string(index), `"tokens": 7`, `"tokens": 0`, 1)
	if err := os.WriteFile(filepath.Join(dir, ShardsFile), []byte(none), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "train-00000.bin"), 0); err != nil {
		t.Fatal(err)
	}
	_, err = OpenShards(dir, vocabularyKind())
	wantError(t, err, "train-00000.bin: got 0 bytes, want 0 tokens")
}

// Shards are written into a new directory with the usual permissions; an error stops the sources.
func TestWriteShardsLeaves(t *testing.T) {
	above := t.TempDir()
	dir, like := filepath.Join(above, "new", "shards"), filepath.Join(above, "like")
	if err := WriteShards(dir, sized{V: 3}, 1, each([]int{1, 2}), each([]int{0})); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(like, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(like, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{dir, like}, {filepath.Join(dir, ShardsFile), file}, {filepath.Join(dir, "val-00000.bin"), file},
	} {
		got, err := os.Stat(c[0])
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.Stat(c[1])
		if err != nil {
			t.Fatal(err)
		}
		if got.Mode() != want.Mode() {
			t.Errorf("%s: got %s, want %s", c[0], got.Mode(), want.Mode())
		}
	}
	wantError(
		t, WriteShards(filepath.Join(file, "below"), sized{V: 3}, 1, each([]int{1}), each(nil)), "not a directory",
	)
	ended := false
	endless := func(yield func(int, error) bool) {
		defer func() { ended = true }()
		for yield(3, nil) {
		}
	}
	wantError(t, WriteShards(filepath.Join(above, "other"), sized{V: 3}, 2, endless, each(nil)), "token 0 is 3")
	if !ended {
		t.Error("the source was not stopped")
	}
}

// Files are closed, also after an error.
func TestFilesAreGivenBack(t *testing.T) {
	const own = "/proc/self/fd"
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lists the open files of a process, in", own)
	}
	dir, s, _ := shards(t, 300, 50, 20, 7)
	index, err := os.ReadFile(filepath.Join(dir, ShardsFile))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	// Only files of this test count: the garbage collector may close other tests' files meanwhile.
	open := func() (count int) {
		list, err := os.ReadDir(own)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			name, err := os.Readlink(filepath.Join(own, e.Name()))
			if err == nil && strings.HasPrefix(name, filepath.Dir(other)) {
				count++
			}
		}
		return count
	}
	before := open()
	if _, err := ReadCorpus(filepath.Join(dir, ShardsFile)); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	wantError(t, WriteShards(other, sized{V: 3}, 2, each([]int{3}), each(nil)), "token 0 is 3")
	if err := os.WriteFile(
		filepath.Join(dir, ShardsFile), []byte(strings.Replace(string(index), "val-00000", "val-9", 1)), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	_, err = OpenShards(dir, vocabularyKind())
	wantError(t, err, "val-9")
	if got := open(); got != before {
		t.Errorf("got %d open files, want %d", got, before)
	}
}
