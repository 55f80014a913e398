package bpe

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A special token may contain characters that stand for no byte; writing and reading an encoding preserves it.
func TestSpecialOfAnyCharacters(t *testing.T) {
	const end = "<｜end▁日本｜>"
	tok := trained(t, 300, end)
	data, err := json.Marshal(tok)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"special":true`) {
		t.Error("the file does not mark the special token")
	}
	again, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*Tokenizer{tok, again} {
		ids, err := tok.EncodeSpecial("the" + end)
		back, wrong := tok.Decode(ids)
		if id, ok := tok.Special(end); err != nil || wrong != nil || !ok || ids[len(ids)-1] != id || back != "the"+end {
			t.Errorf("got %v, %v, of %q, %v", ids, err, back, wrong)
		}
	}
}

// A file is written exactly as it was read, and one that cannot be read leaves the encoding unchanged.
func TestKept(t *testing.T) {
	data := tiny(t, `"version":"1.0"`, `"version":"1.0","of another program":[1,2]`)
	var tok Tokenizer
	if err := json.Unmarshal(data, &tok); err != nil {
		t.Fatal(err)
	}
	if err := tok.UnmarshalJSON([]byte(`{"model":{"type":"other"}}`)); err == nil || tok.Size() != 270 {
		t.Errorf("got error %v and %d tokens, want an error and 270", err, tok.Size())
	}
	if again, err := tok.MarshalJSON(); err != nil || string(again) != string(data) {
		t.Errorf("the written file differs from the one read: %v", err)
	}
}

// Read accepts files that omit parts or write them in another way.
func TestReadOtherwise(t *testing.T) {
	for what, data := range map[string][]byte{
		"no type": tiny(t, `"type":"BPE",`, ``),
		"a field of ByteLevel": tiny(t, byteLevelSection, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[`+
			`{"type":"Digits","individual_digits":true,"add_prefix_space":true},{"type":"ByteLevel"}]}`),
		"U+FFFD": tiny(t, `"version":"1.0"`, `"version":"�"`),
		"parts of no Sequence": tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"ByteLevel","pretokenizers":[{"type":"Digits"}]}`,
		),
		"a Sequence of one": tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"}]}`,
		),
		"white space in vocab": tiny(t, `"vocab":{"!":0`, `"vocab":{ "!" : 0 `),
	} {
		if tok, err := Read(data); err != nil || tok.Size() != 270 {
			t.Errorf("%s: got %v", what, err)
		}
	}
	vocab, merges := files(t, trained(t, 260, "<|endoftext|>"))
	for want, with := range map[string][2]string{
		`line 5: got "#version: 3 4", want two tokens`: {vocab, merges + "#version: 3 4\n"},
		`line 5: got " x", want two tokens`:            {vocab, merges + " x\n"},
		`line 5: got "x ", want two tokens`:            {vocab, merges + "x \n"},
		`merges: "zz o" at 3: "zz" is not in the vocabulary`: {
			strings.Replace(vocab, `{`, `{"zzo":260,`, 1), merges + "zz o\n",
		},
		`merges: "o zz" at 3: "zz" is not in the vocabulary`: {
			strings.Replace(vocab, `{`, `{"ozz":260,`, 1), merges + "o zz\n",
		},
		`merges: "z z" at 3: "zz" is not in the vocabulary of 260 tokens`: {vocab, merges + "z z\n"},
	} {
		if _, err := ReadGPT2([]byte(with[0]), []byte(with[1])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, ok := bytesOf("\u0144"); ok { // the first character after the alphabet
		t.Error("U+0144 stands for a byte")
	}
	if _, err := trained(t, 300).Decode([]int{-1}); err == nil {
		t.Error("token -1 was decoded")
	}
}

// With byte_fallback, normalizers other than LLaMA's are refused.
func TestOtherNormalizers(t *testing.T) {
	for _, n := range []string{
		`{"type":"Replace","pattern":{"String":"x"},"content":"▁"}`,
		`{"type":"Replace","pattern":{"String":" "},"content":"_"}`,
		`{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"}]}`,
		`{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"NFC"}]}`,
		`{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` + blankReplacer + `,{"type":"NFC"}]}`,
		`{"type":"Strip","pattern":{"String":" "},"content":"▁"}`,
		`{"type":"Strip","normalizers":[{"type":"Prepend","prepend":"▁"},` + blankReplacer + `]}`,
		`{"type":"Sequence","normalizers":[{"type":"Strip","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]}`,
		`{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"x"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]}`,
	} {
		if _, err := Read(llama(n, "null")); err == nil ||
			!strings.Contains(err.Error(), "want Prepend ▁ and Replace the space by ▁") {
			t.Errorf("%s: got %v", n, err)
		}
	}
}

// Spaces begin a piece; byte tokens have one form; a byte that is not a character is not a letter.
func TestPiecesAndBytes(t *testing.T) {
	if got, want := piecesOf(
		"a b  c!", splitter(splitBlanks),
	), []string{"a", " b", " ", " c!"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for token, want := range map[string]int{
		"<0x0A>": 10, "<0xFF>": 255, "<0x0a>": -1, "<0x0A]": -1, "<0xG0>": -1, "<1x0A>": -1, "0x0A": -1,
	} {
		if b, ok := byteToken(token); ok != (want >= 0) || ok && int(b) != want {
			t.Errorf("%s: got %d, %t, want %d", token, b, ok, want)
		}
	}
	if of, n := first("\xff"); of != other || n != 1 {
		t.Errorf("a byte that is not a character: got class %d of %d bytes", of, n)
	}
}

// Texts are cut into chunks only after ASCII letters; texts with other letters, and bytes that are no character, are
// trained on correctly.
func TestChunksOfOtherLetters(t *testing.T) {
	before := runtime.GOMAXPROCS(5)
	defer runtime.GOMAXPROCS(before)
	for _, word := range []string{"café", "caf\x80"} {
		if tok, err := Train(strings.Repeat(word+"\n", 40), 270); err != nil || tok.Size() < 258 {
			t.Errorf("%q: got %d tokens, %v", word, tok.Size(), err)
		}
	}
}
