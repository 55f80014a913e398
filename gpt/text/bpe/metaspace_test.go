package bpe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// llama returns the tokenizer.json of a small encoding over characters like LLaMA's: bytes, ▁, letters and a few
// merges.
func llama(normalizer, preTokenizer string) []byte {
	vocab := map[string]int{"<unk>": 0, "<s>": 1, "</s>": 2}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = len(vocab)
	}
	for _, token := range strings.Split("▁ t h e n é th ▁th ▁the ▁▁ he en \ufffd", " ") {
		vocab[token] = len(vocab)
	}
	ids, _ := json.Marshal(vocab)
	return []byte(`{"version":"1.0","truncation":null,"padding":null,"post_processor":null,"decoder":null,"added_tokens":[{"id":0,"content":"<unk>"},{"id":1,"content":"<s>"},{"id":2,"content":"</s>"}],"normalizer":` +
		normalizer + `,"pre_tokenizer":` + preTokenizer +
		`,"model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,"unk_token":"<unk>",` +
		`"vocab":` + string(ids) + `,"merges":["t h","▁ th","▁th e","▁ ▁","h e","e n"]}}`)
}

const (
	blankNormalizer = `{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]}`
	blankReplacer   = `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`
	metaspaceFirst  = `{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}`
)

// Characters are single tokens if they have one, also U+FFFD, otherwise bytes. Decode keeps the space that was put in
// front.
func TestMetaspace(t *testing.T) {
	for _, c := range []struct {
		normalizer, preTokenizer, text string
		tokens                         []string
	}{
		{blankNormalizer, "null", "the then", []string{"▁the", "▁the", "n"}},
		{blankNormalizer, "null", " é x", []string{"▁▁", "é", "▁", "<0x78>"}},
		{blankNormalizer, "null", "", nil},
		{blankReplacer, "null", "the", []string{"th", "e"}},
		{"null", metaspaceFirst, "the  then", []string{"▁the", "▁", "▁the", "n"}},
		{"null", metaspaceFirst, " the", []string{"▁the"}},
		{"null", metaspaceFirst, "the  en", []string{"▁the", "▁", "▁", "en"}},
		{
			"null", `{"type":"Metaspace","replacement":"▁","add_prefix_space":true,"split":false}`, "the  en",
			[]string{"▁the", "▁▁", "en"},
		},
		{
			"null", `{"type":"Metaspace","replacement":"▁","prepend_scheme":"never"}`, "the en",
			[]string{"th", "e", "▁", "en"},
		},
		{
			"null", `{"type":"Metaspace","replacement":"▁","add_prefix_space":false}`, "the en",
			[]string{"th", "e", "▁", "en"},
		},
		{blankNormalizer, "null", "▁\ufffd\xff", []string{"▁▁", "\ufffd", "<0xFF>"}},
		{blankReplacer, "null", "▁the▁", []string{"▁the", "▁"}},
		{"null", metaspaceFirst, "▁the▁then", []string{"▁the", "▁the", "n"}},
		{`{"type":"Sequence","normalizers":[{"type":"NFKC"},` + blankReplacer +
			`]}`, "null", "ｔｈｅ\u00a0\u2002e\u0301", []string{"th", "e", "▁▁", "é"}},
		{`{"type":"NFC"}`, metaspaceFirst, "e\u0301", []string{"▁", "é"}},
	} {
		tok, err := Read(llama(c.normalizer, c.preTokenizer))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var f fileJSON
		if err := json.Unmarshal(tok.source, &f); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range ids {
			var all vocabulary
			if err := json.Unmarshal(f.Model.Vocab, &all); err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				if e.id == id {
					got = append(got, e.token)
				}
			}
		}
		if !slices.Equal(got, c.tokens) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.tokens)
		}
		if back, err := tok.Decode(ids); err != nil || back != tok.form.before(c.text, true) {
			t.Errorf("%q comes back as %q, %v", c.text, back, err)
		}
	}
}

// Any bytes come back, after a space, but ▁ as a space.
func TestMetaspaceRoundTrip(t *testing.T) {
	tok, err := Read(llama(blankNormalizer, "null"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts(300) {
		ids, err := tok.Encode(text)
		if err != nil || !slices.Equal(ids, encodeOneByOne(tok, text)) {
			t.Fatalf("%q: got %v, %v", text, ids, err)
		}
		if back, err := tok.Decode(ids); err != nil || back != " "+strings.ReplaceAll(text, "▁", " ") && text != "" {
			t.Fatalf("%q comes back as %q, %v", text, back, err)
		}
	}
}

func TestMetaspaceErrors(t *testing.T) {
	for want, data := range map[string][]byte{
		`normalizer: got {"type":"Lowercase"`:                llama(`{"type":"Lowercase"}`, "null"),
		"got neither with byte_fallback":                     llama(`{"type":"NFC"}`, "null"),
		`got "ByteLevel" with byte_fallback, want Metaspace`: llama("null", `{"type":"ByteLevel"}`),
		`got "Metaspace" with byte_fallback`:                 llama(blankNormalizer, metaspaceFirst),
		`replacement: got "_", want "▁"`:                     llama("null", `{"type":"Metaspace","replacement":"_"}`),
		`prepend_scheme: got "last", want always, first or never`: llama(
			"null", `{"type":"Metaspace","replacement":"▁","prepend_scheme":"last"}`,
		),
		"got 255 of the tokens <0x00> … <0xFF>, want all 256": []byte(
			strings.Replace(string(llama(blankNormalizer, "null")), `"\u003c0x0A\u003e"`, `"<0x0a>"`, 1),
		),
	} {
		if _, err := Read(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
