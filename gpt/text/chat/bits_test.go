package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// Of examples the answers count, with the token that ends them, but neither prompts nor padding.
func TestBytesPerTokenOfAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	const lines = `{"prompt": "a long prompt", "completion": "é!"}` + "\n" + `{"prompt": "b", "completion": "§"}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	tok := characters(t, "a long promptb é!§")
	c, err := LoadAnswers(path, tok, Template{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[float64]text.Split{3. / 2: c.Train(), 2: c.Val()} {
		if got, err := text.BytesPerToken(s, tok); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

// A special token that ends an answer counts as a token without bytes. An added token that texts are encoded to has the
// bytes of its text.
func TestBytesPerTokenOfSpecials(t *testing.T) {
	tok, err := bpe.Train("some text to train on", 260, "<|endoftext|>")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"prompt": "a", "completion": "b"}`+
		"\n", 2)), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := LoadAnswers(path, tok, Template{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []text.Split{c.Train(), c.Val()} { // b and the end
		if got, err := text.BytesPerToken(s, tok); err != nil || got != 1./2 {
			t.Errorf("an answer of one byte and its end: got %v, %v, want 1/2", got, err)
		}
	}
	end, _ := tok.Special("<|endoftext|>")
	name, err := tok.Encode("<|endoftext|>")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := text.BytesPerToken(text.Tokens(name), tok); err != nil || got != 13/float64(len(name)) {
		t.Errorf("the name as a text: got %v, %v, want its 13 bytes over %d tokens", got, err, len(name))
	}
	_, err = text.BytesPerToken(text.Tokens{end}, tok)
	if err == nil || !strings.Contains(err.Error(), "1 tokens of 0 bytes") {
		t.Errorf("the end alone: got %v", err)
	}
	data, err := json.Marshal(tok)
	if err != nil {
		t.Fatal(err)
	}
	added := strings.ReplaceAll(
		strings.ReplaceAll(string(data), `\u003c|endoftext|\u003e`, "  "), `"special":true`, `"special":false`,
	)
	if tok, err = bpe.Read([]byte(added)); err != nil {
		t.Fatal(err)
	}
	if ids, err := tok.Encode("  "); err != nil || len(ids) != 1 || ids[0] != end {
		t.Fatalf("two spaces: got %v, %v, want %d", ids, err, end)
	}
	if got, err := text.BytesPerToken(text.Tokens{end}, tok); err != nil || got != 2 {
		t.Errorf("two spaces as a token: got %v, %v, want 2", got, err)
	}
}
