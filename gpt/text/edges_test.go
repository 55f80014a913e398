package text

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// All yields a split that is longer than its buffer, up to its last token or to the first error.
func TestAll(t *testing.T) {
	want := ramp(2*4096 + 5)
	var got Tokens
	for id, err := range All(want) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d tokens, want %d", len(got), len(want))
	}
	n := 0
	for id := range All(want) {
		if n++; id == want[5000] {
			break
		}
	}
	if n != slices.Index(want, want[5000])+1 {
		t.Errorf("%d tokens until the one at 5000", n)
	}
	_, s, _ := shards(t, 300, 50, 20, 7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range All(s.Train()) {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("got error %v", err)
		}
	}
	if err := s.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed twice: got error %v", err)
	}
}

// OpenShards fails if there are no shards and if a file name leads to another directory.
func TestOpenShardsElsewhere(t *testing.T) {
	if _, err := OpenShards(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
	dir, _, _ := shards(t, 300, 50, 20, 7)
	index, err := os.ReadFile(filepath.Join(dir, ShardsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(
		filepath.Join(dir, "train-00001.bin"), filepath.Join(dir, "below", "train-00001.bin"),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"below/train-00001.bin", ".."} {
		changed := strings.Replace(string(index), "train-00001.bin", name, 1)
		if err := os.WriteFile(filepath.Join(dir, ShardsFile), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = OpenShards(dir, vocabularyKind())
		wantError(t, err, "want a name without a directory")
	}
}

// unwritable is a tokenizer that has no JSON encoding.
type unwritable struct{ Bytes }

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New("cannot be written") }

// A tokenizer that cannot be encoded matches nothing and writes no shards; nor can one without characters be encoded.
func TestUnwritableTokenizer(t *testing.T) {
	data, err := json.Marshal(Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, Match(unwritable{}, data), "cannot be written")
	wantError(t, Match(Bytes{}, data[1:]), "tokenizer")
	dir := filepath.Join(t.TempDir(), "new")
	wantError(t, WriteShards(dir, unwritable{}, 2, each([]int{1}), each(nil)), "cannot be written")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a directory was created")
	}
	_, err = new(Characters).MarshalJSON()
	wantError(t, err, "the vocabulary is empty")
}

// A NUL is found even at the beginning of a text.
func TestNULAtTheBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("\x00abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadCorpus(path)
	wantError(t, err, "NUL byte at offset 0, line 1")
}

// A directory's own name may begin with a dot; a file that cannot be read is an error, and so is a split.
func TestUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".hidden")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadCorpus(dir); err != nil || got != "text\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if runtime.GOOS == "linux" { // a regular file whose first byte cannot be read
		_, err := ReadCorpus("/proc/self/mem")
		wantError(t, err, "input/output error")
	}
	_, s, _ := shards(t, 300, 50, 20, 7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ids := make([]int, 8)
	if err := Sample(s.Train(), rand.New(rand.NewPCG(1, 1)), ids, make([]int, 8), 4); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("sampled from closed files: got error %v", err)
	}
	for _, err := range Blocks(s.Train(), ids, make([]int, 8), 4) {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("blocks of closed files: got error %v", err)
		}
	}
}

// Words require valid text, and their JSON must have the type word.
func TestWordsRefuse(t *testing.T) {
	for _, s := range []string{"\xffabc", "abc\xff"} {
		_, err := NewWords(s)
		wantError(t, err, "not valid UTF-8 at byte")
	}
	tok, err := NewWords("a b")
	if err != nil {
		t.Fatal(err)
	}
	data, err := tok.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var w Words
	if err := w.UnmarshalJSON(data); err != nil || w.Size() != tok.Size() {
		t.Errorf("got %d tokens, %v", w.Size(), err)
	}
	wantError(
		t, w.UnmarshalJSON([]byte(strings.Replace(string(data), "word", "byte", 1))), `type: got "byte", want "word"`,
	)
}
