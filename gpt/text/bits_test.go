package text

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// many is longer than a piece of All, and its characters have one to four bytes.
var many = strings.Repeat("Die Möwe 🐦 fliegt über «世界», süß.\n", 300)

// The bytes per token of every kind are those of the text, in memory and on disk, also where a piece ends inside a
// character.
func TestBytesPerToken(t *testing.T) {
	for _, k := range append(Kinds(), pairs(300)) {
		tok, err := k.New(many)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(many)
		if err != nil {
			t.Fatal(err)
		}
		want := float64(len(many)) / float64(len(ids))
		dir := filepath.Join(t.TempDir(), "shards")
		if err := WriteShards(dir, tok, 1001, All(Tokens(ids)), All(Tokens(ids[:1]))); err != nil {
			t.Fatal(err)
		}
		shards, err := OpenShards(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer shards.Close()
		for name, s := range map[string]Split{"in memory": pack(ids), "on disk": shards.Train()} {
			if got, err := BytesPerToken(s, tok); err != nil || got != want {
				t.Errorf("%s %s: got %v, %v, want %v", k.Name, name, got, err, want)
			}
		}
	}
}

// Of examples the answers count, with the token that ends them, but neither prompts nor padding.
func TestBytesPerTokenOfAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	const lines = `{"prompt": "a long prompt", "completion": "é!"}` + "\n" + `{"prompt": "b", "completion": "§"}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	tok := mustCharacters(t, "a long promptb é!§")
	c, err := LoadAnswers(path, tok, Template{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[float64]Split{3. / 2: c.Train(), 2: c.Val()} {
		if got, err := BytesPerToken(s, tok); err != nil || got != want {
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
	for _, s := range []Split{c.Train(), c.Val()} { // b and the end
		if got, err := BytesPerToken(s, tok); err != nil || got != 1./2 {
			t.Errorf("an answer of one byte and its end: got %v, %v, want 1/2", got, err)
		}
	}
	end, _ := tok.Special("<|endoftext|>")
	name, err := tok.Encode("<|endoftext|>")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := BytesPerToken(Tokens(name), tok); err != nil || got != 13/float64(len(name)) {
		t.Errorf("the name as a text: got %v, %v, want its 13 bytes over %d tokens", got, err, len(name))
	}
	if _, err := BytesPerToken(Tokens{end}, tok); err == nil || !strings.Contains(err.Error(), "1 tokens of 0 bytes") {
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
	if got, err := BytesPerToken(Tokens{end}, tok); err != nil || got != 2 {
		t.Errorf("two spaces as a token: got %v, %v, want 2", got, err)
	}
}

func TestBytesPerTokenRefuses(t *testing.T) {
	_, err := BytesPerToken(Tokens{0}, nil)
	wantError(t, err, "the tokenizer is nil")
	_, err = BytesPerToken(nil, Bytes{})
	wantError(t, err, "the split is nil")
	_, err = BytesPerToken(Tokens{}, Bytes{})
	wantError(t, err, "0 tokens of 0 bytes")
	_, err = BytesPerToken(Tokens{65, 256}, Bytes{})
	wantError(t, err, "bytes per token", "256")
}

// A loss of ln 256 nats per byte is 8 bits; a token of two bytes halves them.
func TestBitsPerByte(t *testing.T) {
	for bytes, want := range map[float64]float64{1: 8, 2: 4} {
		if got := BitsPerByte(math.Log(256), bytes); math.Abs(got-want) > 1e-15 {
			t.Errorf("%v bytes a token: got %v bits, want %v", bytes, got, want)
		}
	}
}
