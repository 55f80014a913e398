package bpe

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// deepSeek holds the patterns of the Split rules of DeepSeek V3, which follow each other.
var deepSeek = []string{
	`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`,
	`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^` + "\r\n" +
		`\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[` + "\r\n" + `]*|\s*[` + "\r\n" + `]+|\s+(?!\S)|\s+`,
}

// section returns the Split of a pattern.
func splitSection(pattern, behavior string) string {
	quoted, _ := json.Marshal(pattern)
	return `{"type":"Split","pattern":{"Regex":` + string(quoted) + `},` + behavior + `}`
}

// split returns the tokenizer.json of an encoding over bytes that is cut by a pattern.
func split(t testing.TB, pattern, behavior string) []byte {
	return tiny(t, byteLevelSection, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[`+
		splitSection(pattern, behavior)+
		`,{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}`)
}

// The pieces of regular expressions, as Hugging Face's libraries document them for the text the-final--countdown.
func TestRegex(t *testing.T) {
	for _, c := range []struct {
		pattern, behavior string
		invert            bool
		text              string
		want              []string
	}{
		{"-", "Isolated", false, "the-final--countdown", []string{"the", "-", "final", "-", "-", "countdown"}},
		{"-", "MergedWithPrevious", false, "the-final--countdown", []string{"the-", "final-", "-", "countdown"}},
		{"-", "MergedWithNext", false, "the-final--countdown", []string{"the", "-final", "-", "-countdown"}},
		{"-", "Contiguous", false, "the-final--countdown", []string{"the", "-", "final", "--", "countdown"}},
		{"[^-]+", "MergedWithNext", true, "the-final--countdown", []string{"the", "-final", "--countdown"}},
		{"-", "Removed", true, "a-b", []string{"a", "-", "b"}},
		{"x*", "Isolated", false, "axxb", []string{"a", "xx", "b"}},
		{`\p{N}{1,3}`, "Isolated", false, "a12345é\xff\xfe6", []string{"a", "123", "45", "é\xff\xfe", "6"}},
		{
			`(?<=a)b|(?i:C)++|^d|e$`, "Isolated", false, "abcCd\nd e\ne",
			[]string{"a", "b", "cC", "d\n", "d", " ", "e", "\n", "e"},
		},
		{`a?+a`, "Isolated", false, "aa", []string{"aa"}},
		{`\x41\u0042`, "Isolated", false, "xAB", []string{"x", "AB"}},
		{`a`, "Isolated", false, "", nil},
	} {
		by, err := newRegex(c.pattern, c.behavior, c.invert)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := piecesOf(c.text, by); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: got %q, want %q", c.pattern, c.behavior, got, c.want)
		}
	}
	var all []cutter
	for _, pattern := range deepSeek {
		by, err := newRegex(pattern, "Isolated", false)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, by)
	}
	got := piecesOf("Hello, x.append(12345) 日本語テスト\r\n\r\n  é́ don't", all...)
	want := []string{
		"Hello", ",", " x", ".append", "(", "123", "45", ")", " ", "日本語テスト", "\r\n\r\n", " ", " é́", " don", "'t",
	}
	if !slices.Equal(got, want) {
		t.Errorf("DeepSeek: got %q, want %q", got, want)
	}
}

// A pattern that other engines read differently, or that may take too long, is refused with the reason.
func TestRegexErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		`(a+)+`: "of what repeats without limit", `(?:a*b?)*`: "of what repeats without limit",
		`((a|b{2,})c)+`: "of what repeats without limit",
		`(?:(?:a*)?)+`:  "of what repeats without limit",
		`[a-z&&[^b]]`:   "in a class of characters", `[a[b]]`: "in a class of characters",
		`[]a]`: "in a class of characters", `[a`: "has no end",
		`\w+`: "not supported", `\bx`: "not supported", `\1`: "not supported", `\x4`: "hexadecimal",
		`\pL`: "want a class", `\p{^L}`: "want a class", `\p{Nothing}`: "Nothing",
		`(?m)a`: "got the group", `(?<n>a)`: "got the group", `(a`: "has no end", `a)`: "without (",
		`a{9999}`: "at most 999", `a{,2}`: "want one such as", `{2}`: "nothing to repeat",
		`*a`: "nothing to repeat", `a**`: "nothing to repeat", `a{2}?`: "after a repetition",
		`a{2}+`: "after a repetition", `a\`: "after a backslash",
		strings.Repeat("(", 200) + strings.Repeat(")", 200): "100 groups",
	} {
		if _, err := Read(split(t, pattern, `"behavior":"Isolated","invert":false`)); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pre_tokenizer: 0: Split: pattern") {
			t.Errorf("%s: got %v, want %s", pattern, err, want)
		}
	}
	for behavior, want := range map[string]string{
		`"behavior":"Removed","invert":false`: "which loses text",
		`"behavior":"Some","invert":false`:    `behavior: got "Some", want Isolated`,
	} {
		if _, err := Read(split(t, "a", behavior)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", behavior, err, want)
		}
	}
}

// A pattern that takes too long for a text is an error.
func TestRegexTakesTooLong(t *testing.T) {
	by, err := newRegex(`(?:a|ab?)*c`, "Isolated", false)
	if err != nil {
		t.Fatal(err)
	}
	by.MatchTimeout = 20 * time.Millisecond
	const want = "takes too long for a text of 40 bytes"
	if err := by.cut(strings.Repeat("a", 40), time.Now().Add(time.Minute), func(string) {}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := by.cut(strings.Repeat("c", 40), time.Now(), func(string) {}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	tok, err := Read(split(t, `(?:a|ab?)*c`, `"behavior":"Isolated","invert":false`))
	if err != nil {
		t.Fatal(err)
	}
	tok.split[0].(*regex).MatchTimeout = 20 * time.Millisecond
	for _, encode := range []func(string) ([]int, error){tok.Encode, tok.EncodeSpecial, tok.EncodeAfter} {
		if ids, err := encode(strings.Repeat("a", 40)); err == nil || ids != nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %s", ids, err, want)
		}
	}
}

// Ids without a token are read as in GPT-4o's file, within limits, and stand for nothing.
func TestHoles(t *testing.T) {
	data := []byte(strings.Replace(string(tiny(t)), `"!":0`, `"!":4000`, 1))
	tok, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode("a!")
	if err != nil || tok.Size() != 4001 || !slices.Contains(ids, 4000) {
		t.Errorf("got %v of %d tokens, %v, want the token 4000 of 4001", ids, tok.Size(), err)
	}
	if s, err := tok.Decode([]int{ids[0], 0, 3999, 4000}); err != nil || s != "a!" {
		t.Errorf("got %q, %v, want a!", s, err)
	}
	if _, err := tok.Decode([]int{4001}); err == nil {
		t.Error("decoded an id outside the vocabulary")
	}
	data = []byte(strings.Replace(string(tiny(t)), `"!":0`, `"!":2147483647`, 1))
	if _, err := Read(data); err == nil || !strings.Contains(err.Error(), `"!": id: got 2147483647, want 0 …`) {
		t.Errorf("got %v", err)
	}
}
