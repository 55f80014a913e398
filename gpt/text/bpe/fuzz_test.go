package bpe

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// Read returns for any file an error, or an encoding from which any text comes back and that is written as it was
// read.
func FuzzRead(f *testing.F) {
	f.Add(tiny(f), "a\xff the\n")
	f.Add(tiny(f, `"o u"`, `["o","u"]`), "round")
	f.Add(tiny(f, `"normalizer":null`, `"normalizer":{"type":"NFC"}`), "e\u0301\xff")
	for _, pattern := range []string{
		deepSeek[2], `(?:a|a)*b`, `(a+)+`, `\s*\s*\s*\s*x`, `[a-z-[aeiou]]`, `(?i:é)++|.`,
	} {
		f.Add(split(f, pattern, `"behavior":"Isolated","invert":false`), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac  \n x é")
	}
	f.Add([]byte(strings.Replace(string(tiny(f)), `"!":0`, `"!":4000`, 1)), "!")
	f.Add(llama(blankNormalizer, "null"), " the ▁ é")
	f.Add(llama("null", metaspaceFirst), "the")
	f.Add(withAdded(f, 7, func(i int) string { return " >"[:1+i%2] + strings.Repeat("a", i) }), "a >aaa >a  ")
	f.Add(
		[]byte(
			strings.Replace(string(llama(blankReplacer, "null")), `{"id":2,`, `{"id":260,"content":"▁▁"},{"id":2,`, 1),
		),
		"a  ▁▁ the",
	)
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]},"pre_tokenizer":{"type":"ByteLevel"}}`), "a")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		var tok *Tokenizer
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { tok, err = Read(data) })
		if err != nil {
			return
		}
		at, end, id := tok.NextSpecial(text)
		if id >= 0 && (at > end || end > len(text)) || id < 0 && at != len(text) {
			t.Fatalf("%q: got the special token %d at %d … %d", text, id, at, end)
		}
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		back, err := tok.Decode(ids)
		if err != nil || !strips(tok) && !comesBack(tok, text, back) {
			t.Fatalf("%q comes back as %q, %v", text, back, err)
		}
		if _, err := tok.EncodeSpecial(text); err != nil {
			t.Fatal(err)
		}
		if written, err := json.Marshal(tok); err != nil || !json.Valid(written) {
			t.Fatal(err)
		}
	})
}

// comesBack reports whether a text comes back: as it is, or as the encoding's form writes it.
func comesBack(tok *Tokenizer, text, back string) bool {
	return back == text || back == " "+text || back == tok.form.before(text, true)
}

// strips reports whether a token that is found in every text takes in white space, or is written with ▁ for a space.
func strips(tok *Tokenizer) bool {
	return slices.ContainsFunc(slices.Concat(tok.named.tokens, tok.normal.tokens),
		func(a added) bool { return !a.special && (a.left || a.right || tok.tokens[a.id] != a.content) })
}

// FuzzReadGPT2 does the same for the two files of GPT-2.
func FuzzReadGPT2(f *testing.F) {
	vocab, merges := files(f, trained(f, 270, "<|endoftext|>"))
	f.Add([]byte(vocab), []byte(merges), "the\xff")
	f.Add([]byte(`{"a":0,"b":1,"ab":2}`), []byte("a b\n"), "ab")
	f.Add([]byte(`{"a":-1}`), []byte("#version: 0.2\na"), "")
	f.Fuzz(func(t *testing.T, vocab, merges []byte, text string) {
		var tok *Tokenizer
		var err error
		fuzzed.Bounded(
			t, fuzzed.Linear(len(vocab)+len(merges)), 10*time.Second, func() { tok, err = ReadGPT2(vocab, merges) },
		)
		if err != nil {
			return
		}
		if len(tok.merges)+len(tok.special) < tok.Size()-256 {
			t.Fatalf("%d merges and %d special tokens make %d tokens", len(tok.merges), len(tok.special), tok.Size())
		}
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := tok.Decode(ids); err != nil || back != text {
			t.Fatalf("%q comes back as %q, %v", text, back, err)
		}
	})
}
