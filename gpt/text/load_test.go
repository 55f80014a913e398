package text

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Load does the same as ReadCorpus, the kind's New and NewCorpus.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "verse.txt")
	verse := strings.Repeat("The wheel goes round. ", 9)
	if err := os.WriteFile(path, []byte(verse), 0o644); err != nil {
		t.Fatal(err)
	}
	c, tok, err := Load(path, "word", 3)
	if err != nil {
		t.Fatal(err)
	}
	// four words, a full stop, spaces
	if words, is := tok.(*Words); !is || words.Size() != 6 || c.Train().Len()+c.Val().Len() != 9*9 {
		t.Errorf("got %T of %d tokens, %d and %d", tok, tok.Size(), c.Train().Len(), c.Val().Len())
	}
	mine := Kind{Name: "mine", New: func(string) (Tokenizer, error) { return Bytes{}, nil }}
	if _, tok, err := Load(path, "mine", 3, mine); err != nil || tok.Size() != 256 {
		t.Errorf("got %v (%v), want mine", tok, err)
	}
	for want, load := range map[string]func() (Corpus, Tokenizer, error){
		"want one of mine, character":  func() (Corpus, Tokenizer, error) { return Load(path, "yours", 3, mine) },
		"no such file":                 func() (Corpus, Tokenizer, error) { return Load(path+"x", "byte", 3) },
		"corpus: training split: got ": func() (Corpus, Tokenizer, error) { return Load(path, "byte", 900) },
	} {
		if c, tok, err := load(); err == nil || !strings.Contains(err.Error(), want) || c != nil && tok != nil {
			t.Errorf("got %v, %v and error %v, want %q", c, tok, err, want)
		}
	}
}
