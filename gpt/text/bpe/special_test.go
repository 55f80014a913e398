package bpe

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// firstSpecial is finder.next by definition: the leftmost place, and there the longest token.
func firstSpecial(special map[string]int32, text string) (at, end int) {
	for at = range len(text) {
		for content := range special {
			if strings.HasPrefix(text[at:], content) {
				end = max(end, at+len(content))
			}
		}
		if end > 0 {
			return at, end
		}
	}
	return len(text), len(text)
}

// addedOf returns special tokens.
func addedOf(special map[string]int32) (list []added) {
	for content, id := range special {
		list = append(list, added{content: content, id: id, special: true})
	}
	return list
}

// Special tokens that begin with one another, with various first bytes or one, are found where the definition finds
// them.
func TestFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	letters := [][]string{{"a", "b"}, {"<", "|", ">"}, {"a", "é", "日", "\x00", "\x7f"}, {"a"}}
	for range 2000 {
		of := letters[rng.IntN(len(letters))]
		word := func(most int) string {
			var s strings.Builder
			for range 1 + rng.IntN(most) {
				s.WriteString(of[rng.IntN(len(of))])
			}
			return s.String()
		}
		special := map[string]int32{}
		for range rng.IntN(9) {
			special[word(6)] = int32(len(special))
		}
		f, err := newFinder(addedOf(special))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{word(20), word(9) + "x\xff" + word(9), "", "\xff", "x"} {
			at, end, _ := f.next(text, true)
			if a, e := firstSpecial(special, text); at != a || end != e {
				t.Fatalf("%q in %q: got %d … %d, want %d … %d", special, text, at, end, a, e)
			}
		}
	}
	if at, end, _ := (finder{}).next("abc", true); at != 3 || end != 3 {
		t.Errorf("no tokens: got %d … %d, want 3 … 3", at, end)
	}
}

// withAdded returns the tokenizer.json of an encoding over bytes with n more added tokens, with ids from 270 on.
func withAdded(t testing.TB, n int, content func(i int) string) []byte {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"content":"%s","special":%t},`, 270+i, content(i), i%3 > 0)
	}
	return tiny(t, `"added_tokens":[`, `"added_tokens":[`+b.String())
}

// Special tokens at the limits are accepted, and those beyond them are refused with the limit that they exceed.
func TestSpecialLimits(t *testing.T) {
	numbered := func(n, width int) map[string]int32 {
		special := make(map[string]int32, n)
		for i := range n {
			special[fmt.Sprintf("%0*d", width, i)] = int32(i)
		}
		return special
	}
	many := numbered(maxSpecials, 6)
	if _, err := newFinder(addedOf(many)); err != nil {
		t.Error(err)
	}
	many["one more"] = 0
	long := numbered(maxSpecialBytes/maxSpecial, maxSpecial)
	long["x"] = 0
	for want, special := range map[string]map[string]int32{
		"":                                       numbered(maxSpecialBytes/maxSpecial, maxSpecial),
		`special tokens: "00000000`:              numbered(1, maxSpecial+1),
		"got 1025 bytes, want at most 1024":      numbered(1, maxSpecial+1),
		"got 8388609 bytes in 8193 tokens, want": long,
		"special tokens: got 262145, want at":    many,
	} {
		_, err := newFinder(addedOf(special))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Read(withAdded(t, 1, func(int) string { return strings.Repeat("x", maxSpecial+1) })); err == nil {
		t.Error("a file with a special token beyond the limit was read")
	}
}

// Special tokens that are empty or not UTF-8 are refused by every function.
func TestSpecialRefused(t *testing.T) {
	vocab, merges := files(t, trained(t, 260, "<s>"))
	for want, read := range map[string]func() (*Tokenizer, error){
		`special tokens: "\xff\xfe": not valid UTF-8`: func() (*Tokenizer, error) {
			return Train("ab", 300, "\xff\xfe")
		},
		`special token "": is empty`: func() (*Tokenizer, error) { return Train("ab", 300, "") },
		"not valid UTF-8 at byte 3":  func() (*Tokenizer, error) { return Read([]byte("{\"a\xff\":1}")) },
		"not valid UTF-8 at byte 2":  func() (*Tokenizer, error) { return Read([]byte("{}\xff")) },
		"not valid UTF-8 at byte 0":  func() (*Tokenizer, error) { return Read([]byte("\xff{}")) },
		"vocab.json: not valid UTF-8 at byte 2": func() (*Tokenizer, error) {
			return ReadGPT2([]byte("{\"\xff\xfe\":0}"), nil)
		},
		"special tokens: id 260: got no content": func() (*Tokenizer, error) {
			return ReadGPT2([]byte(strings.Replace(vocab, "{", `{"":260,`, 1)), []byte(merges))
		},
		"added_tokens: id 270: got no content": func() (*Tokenizer, error) {
			return Read(
				withAdded(t, 1, func(int) string { return "" }),
			)
		},
	} {
		if _, err := read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Encode finds the added tokens that the file does not call special in every text, also if ordinary tokens spell them,
// and leaves the special ones alone.
func TestNonSpecial(t *testing.T) {
	data := withAdded(t, 7, func(i int) string { return fmt.Sprintf("%d>", i) })
	tok, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	var again Tokenizer
	if err := again.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*Tokenizer{tok, &again} {
		for text, want := range map[string][2]int{
			"3>": {1, 1}, "4>": {2, 1}, "3>4>3>": {4, 3}, "<|endoftext|>": {12, 1},
		} {
			ids, err := tok.Encode(text)
			special, wrong := tok.EncodeSpecial(text)
			if err != nil || wrong != nil || len(ids) != want[0] || len(special) != want[1] {
				t.Errorf("%s: got %v and %v (%v, %v), want %d tokens", text, ids, special, err, wrong, want)
			}
			if back, err := tok.Decode(ids); err != nil || back != text {
				t.Errorf("%s comes back as %q, %v", text, back, err)
			}
		}
	}
	for text, want := range map[string][3]int{
		"a4>": {1, 3, 274}, "a3>4>": {1, 3, 273}, "4>3>": {0, 2, 274}, "a": {1, 1, -1}, "": {0, 0, -1},
	} {
		if at, end, id := tok.NextSpecial(text); [3]int{at, end, id} != want {
			t.Errorf("%q: got token %d at %d … %d, want %v", text, id, at, end, want)
		}
	}
	if at, end, id := (*Tokenizer)(nil).NextSpecial("3>"); at != 2 || end != 2 || id != -1 {
		t.Errorf("no tokenizer: got token %d at %d … %d", id, at, end)
	}
}

// Added tokens take in white space where the file says so, and those that are normalized are found in normalized text.
func TestAddedAttributes(t *testing.T) {
	tok, err := Read(tiny(t, `"normalizer":null`, `"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"}]}`,
		`"added_tokens":[`, `"added_tokens":[`+
			`{"id":270,"content":"<r>","special":true,"rstrip":true},{"id":271,"content":"<l>","special":true,"lstrip":true,"normalized":false},`+
			`{"id":272,"content":"e\u0301","normalized":true},{"id":273,"content":"o\u0301","normalized":false},`+
			`{"id":273,"content":"o\u0301","normalized":false},`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a<r> \n\u00a0b": "a 270 b", "a \n<l> b": "a 271 b", " <l><r> <l>": "271 270 271", "<r>": "270",
		"x\u00e9x": "x 272 x", "e\u0301": "272",
		"o\u0301": "273", "\u00f3": "ó",
	} {
		ids, err := tok.EncodeSpecial(text)
		if err != nil {
			t.Fatal(err)
		}
		var expected []int
		for _, word := range strings.Fields(want) {
			if id, err := strconv.Atoi(word); err == nil {
				expected = append(expected, id)
				continue
			}
			if word == "b" && strings.Contains(text, "<l> b") {
				word = " b"
			}
			plain, _ := tok.EncodeAfter(word)
			expected = append(expected, plain...)
		}
		if !slices.Equal(ids, expected) {
			t.Errorf("%q: got %v, want %v", text, ids, expected)
		}
	}
	for want, added := range map[string]string{
		`added_tokens: "x": single_word: got true, want false`: `{"id":270,"content":"x","single_word":true},`,
		`added_tokens: "x": got ids 270 and 271, want one`:     `{"id":270,"content":"x"},{"id":271,"content":"x"},`,
	} {
		if _, err := Read(tiny(t, `"added_tokens":[`, `"added_tokens":[`+added)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The post-processor says which token begins a text.
func TestBegin(t *testing.T) {
	template := `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A"}}]}`
	for processor, want := range map[string]string{
		`null`: "", `{"type":"ByteLevel"}`: "", template: "<s>",
		`{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}}]}`:         "",
		`{"type":"Sequence","processors":[{"type":"ByteLevel"},` + template + `]}`: "<s>",
	} {
		if got, err := Begin([]byte(`{"post_processor":` + processor + `}`)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", processor, got, err, want)
		}
	}
	for processor, want := range map[string]string{
		`{"type":"Other"}`: `post_processor: type: got "Other", want ByteLevel, TemplateProcessing or a Sequence of these`,
		`{"type":"Sequence","processors":[` + template + `,` + template +
			`]}`: `post_processor: 1: got "<s>" and "<s>" before a text, want one token`,
		`3`: `line 1, column 19: post_processor: got a number, want an object`,
	} {
		if _, err := Begin([]byte(`{"post_processor":` + processor + `}`)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", processor, err, want)
		}
	}
}

// perByte is the largest number of bytes that reading may allocate for each byte of the files.
const perByte = 24

// Reading allocates memory proportional to the files, whether they consist of added tokens, tokens or merges.
func TestReadMemory(t *testing.T) {
	n := 20_000
	if os.Getenv("NIGHTLY") != "" {
		n = 250_000
	}
	some := withAdded(t, n, func(i int) string { return fmt.Sprintf("%x", i+1<<20) })
	long := withAdded(t, min(n/20, maxSpecialBytes/1000), func(i int) string { return fmt.Sprintf("%0*d", 900, i) })
	var tokens strings.Builder
	for i := range n {
		fmt.Fprintf(&tokens, `"%x":%d,`, i+1<<20, 270+i)
	}
	many := tiny(t, `"vocab":{`, `"vocab":{`+tokens.String())
	merges := tiny(t, `"merges":[`, `"merges":[`+strings.Repeat(`"a b",`, n))
	numbers := tiny(t, `"merges":[`, `"merges":[`+strings.Repeat(`1,`, n))
	for what, data := range map[string][]byte{
		"added tokens": some, "long ones": long, "tokens": many, "merges": merges, "numbers": numbers,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(data)
		runtime.ReadMemStats(&after)
		got := int(after.TotalAlloc - before.TotalAlloc)
		t.Logf(
			"%s: %d bytes, %d allocated, %.1f each, error %v", what, len(data), got, float64(got)/float64(len(data)),
			err,
		)
		if got > 1<<20+perByte*len(data) {
			t.Errorf("%s: got %d bytes allocated for %d, want at most %d each", what, got, len(data), perByte)
		}
		if (err != nil) != (what == "merges" || what == "numbers") {
			t.Errorf("%s: got error %v", what, err)
		}
	}
}
