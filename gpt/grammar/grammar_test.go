package grammar

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// bytesAnd returns a vocabulary of all bytes and some texts. Token 0 has no text and ends a text.
func bytesAnd(texts ...string) *Vocabulary {
	all := []string{""}
	for b := range 256 {
		all = append(all, string([]byte{byte(b)}))
	}
	return NewVocabulary(append(all, texts...))
}

func pairs() *Vocabulary {
	return bytesAnd(`{"`, `":`, `": `, `", "`, `"}`, "}}", "},{", `["`, "true", "fal", "se", "12", "00", "0.", "é",
		"\n  ", "abc",
		`\u`, `\ud`, "é\"", " \"a", "a\":", "[[", "[]", "{}", "{}}", "-1", "e+", "5}", "\",\"", "€", "€\xf0\x9f",
		"\x99\x82")
}

// written lets a matcher write a text with random tokens, and returns it, with its tokens and whether it is complete.
func write(t *testing.T, m *Matcher, rng *rand.Rand, tokens int) (text string, drawn int, complete bool) {
	t.Helper()
	for drawn < tokens {
		logits := make([]float64, len(m.vocabulary.texts))
		err := m.Apply(logits)
		if errors.Is(err, search.ErrEnd) {
			break
		}
		if err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		var some []int
		for id, z := range logits {
			if !math.IsInf(z, -1) {
				some = append(some, id)
			}
		}
		id := some[rng.IntN(len(some))]
		if err := m.Drawn(id); err != nil {
			t.Fatalf("after %q: token %d, which was permitted: %v", text, id, err)
		}
		if drawn++; id == 0 {
			break
		}
		text += m.vocabulary.texts[id]
	}
	return text, drawn, m.Complete()
}

func matcher(t *testing.T, g *Grammar, v *Vocabulary, tokens int) *Matcher {
	t.Helper()
	m, err := g.Matcher(v, tokens, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Whatever is drawn, a text is an object of JSON that ends in time, if an empty object fits; otherwise it begins like
// one.
func TestJSONEndsInTime(t *testing.T) {
	g, v, rng := JSON(), pairs(), rand.New(rand.NewPCG(1, 2))
	long := 0
	for i := range 200 {
		tokens := 2 + i%60
		text, drawn, complete := write(t, matcher(t, g, v, tokens), rng, tokens)
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil || !complete || drawn > tokens ||
			!utf8.ValidString(text) {
			t.Fatalf("%d of %d tokens: got %q (%v), complete: %v", drawn, tokens, text, err, complete)
		}
		if len(text) > 20 {
			long++
		}
	}
	if long < 50 {
		t.Errorf("%d of 200 texts have more than 20 bytes, want 50", long)
	}
	if text, drawn, complete := write(t, matcher(t, g, bytesAnd(), 1), rng, 1); complete || drawn != 1 ||
		text[0] != '{' {
		t.Errorf("one token: got %q, complete: %v", text, complete)
	}
}

// reads reports whether a text is in a grammar, byte by byte.
func reads(g *Grammar, text string) bool {
	m, err := g.Matcher(bytesAnd(), 1<<20)
	if err != nil {
		return false
	}
	for _, b := range []byte(text) {
		if m.Drawn(int(b)+1) != nil {
			return false
		}
	}
	return m.Complete()
}

// Texts of JSON are in the grammar and others are not.
func TestJSON(t *testing.T) {
	g := JSON()
	for _, text := range []string{
		`{}`, `{ }`, `{"a":1}`, "{\n  \"a\": [1, 2.5e-3, -0, 1E9],\n  \"b\": {\"c\": null}\n}",
		`{"é\n\"\\\/\u00e9\uFFFF":true}`,
		`{"a":"€🙂"}`, `{"":[[],{},[{}]]}`, `{"a":-12.50}`,
		`{"a":` + strings.Repeat(`[`, 31) + strings.Repeat(`]`, 31) + `}`, strings.Repeat(`{"a":`, 31) + `{}` +
			strings.Repeat(`}`, 31),
	} {
		if !json.Valid([]byte(text)) || !reads(g, text) {
			t.Errorf("%s is not in the grammar", text)
		}
	}
	for _, text := range []string{
		``, `[]`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`,
		`{"a":1e}`,
		`{"a":tru}`, `{"a":"b}`, "{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\ud800"}`,
		"{\"a\":\"\xff\"}", "{\"\xc0\x80\":1}",
		"{\"\xed\xa0\x80\":1}", `{}}`, `{} `, `{"a":1}{`, "{\"\xf4\x90\x80\x80\":1}", `{"a":1e999}`, `{"a":[1,]}`,
		`{,}`,
		strings.Repeat(`{"a":`, 33) + `1` + strings.Repeat(`}`, 33),
		`{"a":` + strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32) + `}`, `{"a":[,1]}`,
	} {
		if reads(g, text) {
			t.Errorf("%q is in the grammar", text)
		}
	}
}

// A grammar between two texts has these.
func TestBetween(t *testing.T) {
	g, err := JSON().Between("<call>", "</call>")
	if err != nil {
		t.Fatal(err)
	}
	if g, err = g.Between("(", ")"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"(<call>{}</call>)": true, "{}": false, "(<call>{}</call>": false, "<call>{}</call>": false,
	} {
		if reads(g, text) != want {
			t.Errorf("%s: in the grammar: %v, want %v", text, !want, want)
		}
	}
	other, err := JSON().Between("[", "]")
	if err != nil {
		t.Fatal(err)
	}
	either, err := Either(g, other)
	if err != nil || !reads(either, "[{}]") || !reads(either, "(<call>{}</call>)") || reads(either, "(<call>{}]") {
		t.Errorf("either: got %v and %v", either, err)
	}
	if _, err := Either(); err == nil || !strings.Contains(err.Error(), "got 0 alternatives") {
		t.Errorf("none: got error %v", err)
	}
	m, rng := matcher(t, g, pairs(), 18), rand.New(rand.NewPCG(1, 2))
	if text, _, complete := write(t, m, rng, 18); !complete {
		t.Errorf("17 bytes in 18 tokens: got %q, which is not complete", text)
	}
}

// What a matcher cannot follow is an error, and a vocabulary without a needed byte is refused by it.
func TestMatcherRefuses(t *testing.T) {
	mustContain := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	_, err := JSON().Matcher(NewVocabulary([]string{"{", "}", "\"", "a"}), 5)
	mustContain(err, "no token for")
	tagged, err := JSON().Between("<", ">")
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"[", "<"} {
		var texts []string
		for b := range 256 {
			if text := string([]byte{byte(b)}); text != missing {
				texts = append(texts, text)
			}
		}
		_, err = tagged.Matcher(NewVocabulary(texts), 5)
		mustContain(err, "no token for '"+missing+"'")
	}
	_, err = JSON().Matcher(nil, 5)
	mustContain(err, "vocabulary: got nil")
	_, err = JSON().Matcher(bytesAnd(), -1)
	mustContain(err, "tokens: got -1")
	_, err = (*Grammar)(nil).Matcher(bytesAnd(), 1)
	mustContain(err, "grammar: got nil")
	_, err = new(Grammar).Between("", "")
	mustContain(err, "got nil")
	m := matcher(t, JSON(), bytesAnd(), 9)
	mustContain(m.Drawn(0), "no text")
	mustContain(m.Drawn(400), "no text")
	mustContain(m.Drawn('['+1), "leaves the grammar")
	mustContain((*Matcher)(nil).Drawn(1), "got nil")
	mustContain(new(Matcher).Apply(nil), "got nil")
	mustContain(m.Apply(nil), "no token goes on")
}

// With a large vocabulary, masks are kept.
func TestLargeVocabulary(t *testing.T) {
	rng, texts := rand.New(rand.NewPCG(1, 2)), []string{""}
	for b := range 256 {
		texts = append(texts, string([]byte{byte(b)}))
	}
	for len(texts) < 30_000 {
		var b strings.Builder
		for range 2 + rng.IntN(8) {
			b.WriteByte("abcdefghijklmnopqrstuvwxyz ABC\",:{}[]0123456789.\n"[rng.IntN(49)])
		}
		texts = append(texts, b.String())
	}
	v := NewVocabulary(texts)
	m := matcher(t, JSON(), v, 40)
	start := time.Now()
	text, drawn, complete := write(t, m, rng, 40)
	took := time.Since(start) / time.Duration(drawn)
	t.Logf("%v a token, %d masks", took, len(m.masks))
	if !complete || len(m.masks) == 0 {
		t.Errorf("got %q, complete: %v, %d masks", text, complete, len(m.masks))
	}
}
