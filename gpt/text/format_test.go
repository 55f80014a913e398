package text

import (
	"path/filepath"
	"testing"
)

// Every format has a file in testdata, named text and the format's ending, which holds this text.
func TestFormats(t *testing.T) {
	const want = "It's a \"déjà-vu\":\n\n\t世界 — \\ \U0001F600!\n"
	for _, f := range formats() {
		if got, err := ReadCorpus(filepath.Join("testdata", "text"+f.ending)); err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", f.ending, got, err, want)
		}
	}
	if got := formatOf("a.b").ending; got != ".txt" {
		t.Errorf("a name with an unknown ending: got %s, want .txt", got)
	}
}
