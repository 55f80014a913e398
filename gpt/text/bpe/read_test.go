package bpe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// files returns an encoding as the two files of GPT-2.
func files(t testing.TB, tok *Tokenizer) (vocab, merges string) {
	t.Helper()
	data, err := json.Marshal(tok)
	if err != nil {
		t.Fatal(err)
	}
	var f fileJSON
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	var m strings.Builder
	m.WriteString("#version: 0.2\n")
	for _, pair := range f.Model.Merges {
		fmt.Fprintf(&m, "%s %s\n", pair[0], pair[1])
	}
	return string(f.Model.Vocab), m.String()
}

// The two old files give the same encoding as the new file, also with Windows line ends, without the first line and
// with empty ones.
func TestReadGPT2(t *testing.T) {
	tok := trained(t, 300, "<|endoftext|>")
	vocab, merges := files(t, tok)
	for _, merges := range []string{
		merges, strings.ReplaceAll(merges, "\n", "\r\n"), strings.TrimPrefix(merges, "#version: 0.2\n"),
		merges + "\n\n",
	} {
		got, err := ReadGPT2([]byte(vocab), []byte(merges))
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := got.Special("<|endoftext|>"); !ok || id != 299 {
			t.Errorf("<|endoftext|> is %d, %t, want 299", id, ok)
		}
		for _, text := range texts(50) {
			a, _ := tok.EncodeSpecial(text)
			if b, err := got.EncodeSpecial(text); err != nil || !slices.Equal(a, b) {
				t.Fatalf("%q: got %v, %v, want %v", text, b, err, a)
			}
		}
	}
}

func TestReadGPT2Errors(t *testing.T) {
	vocab, merges := files(t, trained(t, 260, "<|endoftext|>"))
	for want, with := range map[string][2]string{
		"vocab.json: ": {"{", merges},
		`vocab: "!": id: got 700, want 0 … 259 of 260 tokens`: {strings.Replace(vocab, `"!":0`, `"!":700`, 1), merges},
		`vocab: id 1: got "!" and "\"", want one token`:       {strings.Replace(vocab, `"!":0`, `"!":1`, 1), merges},
		`byte 0x21, '!', is no token`:                         {strings.Replace(vocab, `"!":0`, `"!!":0`, 1), merges},
		`merges: "x y" at 3: "xy" is not in the vocabulary`:   {vocab, merges + "x y\n"},
		`merges.txt: line 5: got "x", want two tokens`:        {vocab, merges + "x\n"},
		`merges.txt: line 5: got "x y z", want two tokens`:    {vocab, merges + "x y z\n"},
		`is there already at 0`:                               {vocab, merges + strings.Split(merges, "\n")[1] + "\n"},
		`vocab: "\n": id: got "\"1\"", want a whole number`:   {`{"\n":"1"}`, ""},
		`vocab: got "[1]", want an object of tokens`:          {"[1]", ""},
		`vocab: "!": got ids 0 and 260, want one`:             {strings.Replace(vocab, `"!":0`, `"!":0,"!":260`, 1), merges},
		"vocab: got 0 tokens, want 1 or more":                 {"{}", ""},
	} {
		if _, err := ReadGPT2([]byte(with[0]), []byte(with[1])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// tiny returns the tokenizer.json of an encoding over bytes with the given replacements.
func tiny(t testing.TB, change ...string) []byte {
	t.Helper()
	data, err := json.Marshal(trained(t, 270, "<|endoftext|>"))
	if err != nil {
		t.Fatal(err)
	}
	s := string(data)
	for i := 0; i+1 < len(change); i += 2 {
		if !strings.Contains(s, change[i]) {
			t.Fatalf("no %s in %s", change[i], s)
		}
		s = strings.Replace(s, change[i], change[i+1], 1)
	}
	return []byte(s)
}

const byteLevelSection = `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`

// preTokenizers returns the pre-tokenizers of published models, and how they cut "a 1234'S".
func preTokenizers() map[string][]string {
	regex := func(pattern string) string {
		quoted, _ := json.Marshal(pattern)
		return `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":` +
			string(quoted) +
			`},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}`
	}
	const rest = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	llama := `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	return map[string][]string{
		byteLevelSection: {"a", " 1234", "'", "S"},
		`"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}`: {"a", " 1234", "'", "S"},
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel"}]}`: {
			"a", " ", "1", "2", "3", "4", "'", "S"},
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel","use_regex":false}]}`: {
			"a ", "1", "2", "3", "4", "'S"},
		regex(llama): {"a", " ", "123", "4", "'S"},
		strings.Replace(
			regex(llama), `"Isolated","invert":false`, `"Removed","invert":true`, 1,
		): {"a", " ", "123", "4", "'S"},
		regex(
			capitalWords + `(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` + capitalEnds +
				`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}` + rest,
		): {"a", " ", "123", "4", "'S"},
		regex(capitalWords + `|` + capitalEnds + `|\p{N}` + rest): {"a", " ", "1", "2", "3", "4", "'S"},
		regex(strings.Replace(llama, "{1,3}", "", 1)):             {"a", " ", "1", "2", "3", "4", "'S"},
	}
}

// The pre-tokenizers of published models are read and cut as documented.
func TestPreTokenizers(t *testing.T) {
	for section, want := range preTokenizers() {
		tok, err := Read(tiny(t, byteLevelSection, section))
		if err != nil {
			t.Errorf("%s: %v", section, err)
		} else if got := piecesOf("a 1234'S", tok.split...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", section, got, want)
		}
	}
}

// Merges are strings or pairs; with ignore_merges a piece that is a token is not merged.
func TestReadModel(t *testing.T) {
	tok, err := Read(tiny(t, `"o u"`, `["o","u"]`))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := trained(t, 270, "<|endoftext|>").Encode(rhyme)
	if b, err := tok.Encode(rhyme); err != nil || !slices.Equal(a, b) {
		t.Errorf("merges as pairs: got %v, %v, want %v", b, err, a)
	}
	for ignore, want := range map[string]int{"false": 2, "true": 1} {
		tok, err := Read(
			tiny(t, `"vocab":{`, `"vocab":{"qz":270,`, `"type":"BPE"`, `"type":"BPE","ignore_merges":`+ignore),
		)
		if err != nil {
			t.Fatal(err)
		}
		if ids, err := tok.Encode("qz"); err != nil || len(ids) != want {
			t.Errorf("ignore_merges %s: got %v, %v, want %d tokens", ignore, ids, err, want)
		}
	}
}

// Text is brought into form C if the file requires it, after the special tokens were found, and Decode returns that
// form.
func TestFormC(t *testing.T) {
	tok, err := Read(tiny(t, `"normalizer":null`, `"normalizer":{"type":"NFC"}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"e\u0301 \uac00": "é \uac00", "\u1100\u1161\xff": "\uac00\xff", "the": "the",
	} {
		ids, err := tok.Encode(text)
		direct, _ := tok.Encode(want)
		if back, _ := tok.Decode(ids); err != nil || back != want || !slices.Equal(ids, direct) {
			t.Errorf("%q: got %v, %v, of %q, want %q", text, ids, err, back, want)
		}
	}
	plain, err := Read(tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	if ids, _ := plain.Encode("e\u0301"); len(ids) != 3 {
		t.Errorf("without a normalizer: got %v, want a token for each byte", ids)
	}
	ids, err := tok.EncodeSpecial("e\u0301<|endoftext|>")
	if want, _ := tok.Encode("é"); err != nil || !slices.Equal(ids, append(want, 269)) {
		t.Errorf("with a special token: got %v, %v", ids, err)
	}
}

func TestReadErrors(t *testing.T) {
	for want, data := range map[string][]byte{
		"line 1, column 1: unexpected end of JSON input": []byte("{"),
		`model: type: got "WordPiece", want BPE`:         tiny(t, `"type":"BPE"`, `"type":"WordPiece"`),
		`model: vocab: got nothing, want an object`:      []byte(`{"model":{"type":"BPE","merges":["a b"]}}`),
		`model: type: got "", want BPE`:                  []byte("{}"),
		"model: dropout: got 0.1, want none":             tiny(t, `"dropout":null`, `"dropout":0.1`),
		`continuing_subword_prefix: got "##", want none`: tiny(
			t, `"continuing_subword_prefix":""`, `"continuing_subword_prefix":"##"`,
		),
		`end_of_word_suffix: got "</w>", want none`: tiny(t, `"end_of_word_suffix":""`, `"end_of_word_suffix":"</w>"`),
		`normalizer: got "Lowercase", want one of`:  tiny(t, `"normalizer":null`, `"normalizer":{"type":"Lowercase"}`),
		"pre_tokenizer: got none, want ByteLevel":   tiny(t, byteLevelSection, `"pre_tokenizer":null`),
		"add_prefix_space: got true, want false": tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true}`,
		),
		`type: got "Whitespace", want ByteLevel, Digits`: tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Whitespace"}`,
		),
		`got "Digits", want ByteLevel, by itself or as the`: tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Digits","individual_digits":true}`,
		),
		"individual_digits: got false, want true": tiny(t, byteLevelSection, `"pre_tokenizer":{"type":"Digits"}`),
		`Split: pattern "\\w+": got "\\w", which is not supported`: tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\w+"}}`,
		),
		`behavior: got Removed, and invert false`: tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Split","behavior":"Removed"}`,
		),
		`pattern: got none, want a Regex or a String`: tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Split","behavior":"Isolated","invert":true}`,
		),
		"0: got a Sequence in a Sequence": tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Sequence"}]}`,
		),
		`0: 0: type: got "Whitespace", want ByteLevel`: tiny(
			t, byteLevelSection,
			`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Sequence","pretokenizers":[{"type":"Whitespace"}]}]}`,
		),
		`vocab: byte 0x21, '!', is no token`: tiny(
			t, `"normalizer":null`, `"normalizer":{"type":"NFC"}`, `"vocab":{"!":0`, `"vocab":{"!!":0`,
		),
		`added_tokens: "<|endoftext|>": id: got 7, want the`: tiny(
			t, `"added_tokens":[{"id":269`, `"added_tokens":[{"id":7`,
		),
		`added_tokens: id 269: got no content`:                 tiny(t, `"content":"\u003c|endoftext|\u003e"`, `"content":""`),
		`vocab: "a b" has a character that stands for no byte`: tiny(t, `"vocab":{`, `"vocab":{"a b":270,`),
		`got "Sequence", want ByteLevel, by itself`: tiny(
			t, byteLevelSection, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[]}`,
		),
		`vocab: "日本" has a character that stands for no byte`: tiny(t, `"vocab":{`, `"vocab":{"日本":270,`),
		"merges: 1: got 3 tokens, want 2":                     tiny(t, `"o u"`, `["o","u","n"]`),
		"got neither with byte_fallback": tiny(
			t, byteLevelSection, `"pre_tokenizer":null`, `"byte_fallback":false`, `"byte_fallback":true`,
		),
	} {
		if _, err := Read(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A truncated merges.txt with its complete vocab.json is refused, unless only the last line end is missing.
func TestReadGPT2Cut(t *testing.T) {
	vocab, merges := files(t, trained(t, 300, "<|endoftext|>", "<|endoftext|>!", "<pad>"))
	for n := range len(merges) + 1 {
		tok, err := ReadGPT2([]byte(vocab), []byte(merges[:n]))
		if n < len(merges)-1 && err == nil {
			t.Errorf("%d of %d bytes, ending in %q: got no error", n, len(merges), merges[max(0, n-20):n])
		}
		if n >= len(merges)-1 && (err != nil || len(tok.special) != 3) {
			t.Errorf("%d of %d bytes: got %v", n, len(merges), err)
		}
	}
	lines := strings.SplitAfter(merges, "\n")
	for what, merges := range map[string]string{
		"empty":                 "",
		"no first merge":        strings.Join(lines[2:], ""),
		"no line in the middle": strings.Join(slices.Delete(slices.Clone(lines), 20, 21), ""),
	} {
		_, err := ReadGPT2([]byte(vocab), []byte(merges))
		if want := "none of which makes token"; err == nil || !strings.Contains(err.Error(), want) &&
			!strings.Contains(err.Error(), "vocabulary") {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
}

// A dropout of 0 is none.
func TestReadNoDropout(t *testing.T) {
	if _, err := Read(tiny(t, `"dropout":null`, `"dropout":0.0`)); err != nil {
		t.Error(err)
	}
}
