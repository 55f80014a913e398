package text

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// many is longer than a piece of All, and its characters have one to four bytes.
var many = strings.Repeat("Die Möwe 🐦 fliegt über «世界», süß.\n", 300)

// The bytes per token of every kind count the text's bytes, in memory and on disk, also where a piece ends inside a
// character.
func TestBytesPerToken(t *testing.T) {
	for _, k := range Kinds() {
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
