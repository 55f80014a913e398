package bpe

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// alternatives holds the patterns for Go's regexp, with "ahead" in place of \s+(?!\S), which regexp cannot express.
var alternatives = map[string][]string{
	"GPT-2": {`'s|'t|'re|'ve|'m|'ll|'d`, ` ?\p{L}+`, ` ?\p{N}+`, ` ?[^\s\p{L}\p{N}]+`, "ahead", `\s+`},
	"Llama 3": {`(?i:'s|'t|'re|'ve|'m|'ll|'d)`, `[^\r\n\p{L}\p{N}]?\p{L}+`, `\p{N}{1,3}`, ` ?[^\s\p{L}\p{N}]+[\r\n]*`,
		`\s*[\r\n]+`, "ahead", `\s+`},
	"gpt-oss": {capitalWords + `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`, capitalEnds + `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`,
		`\p{N}{1,3}`,
		` ?[^\s\p{L}\p{N}]+[\r\n/]*`, `\s*[\r\n]+`, "ahead", `\s+`},
	"Tekken": {capitalWords, capitalEnds, `\p{N}`, ` ?[^\s\p{L}\p{N}]+[\r\n/]*`, `\s*[\r\n]+`, "ahead", `\s+`},
	"Qwen 2": {`(?i:'s|'t|'re|'ve|'m|'ll|'d)`, `[^\r\n\p{L}\p{N}]?\p{L}+`, `\p{N}`, ` ?[^\s\p{L}\p{N}]+[\r\n]*`,
		`\s*[\r\n]+`, "ahead", `\s+`},
}

// The words of gpt-oss and Tekken.
const (
	capitalWords = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	capitalEnds  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
)

// spelled returns a splitter that tries the alternatives in order.
func spelled(list []string) splitter {
	space := `[\t\n\v\f\r \x{85}\p{Z}]`
	var tries []func(s string) int
	for _, a := range list {
		if a == "ahead" {
			all := regexp.MustCompile(`^` + space + `+`)
			tries = append(tries, func(s string) int {
				end := len(all.FindString(s))
				if end == len(s) || end == 0 {
					return end
				}
				_, n := utf8.DecodeLastRuneInString(s[:end])
				return end - n
			})
			continue
		}
		a = strings.NewReplacer(`[^\s\p{L}\p{N}]`, `[^\t\n\v\f\r \x{85}\p{Z}\p{L}\p{N}]`, `\s`, space).Replace(a)
		re := regexp.MustCompile(`^(?:` + a + `)`)
		tries = append(tries, func(s string) int { return len(re.FindString(s)) })
	}
	return func(s string) int {
		for _, try := range tries {
			if n := try(s); n > 0 {
				return n
			}
		}
		return 1
	}
}

func piecesOf(s string, by ...cutter) (list []string) {
	err := pieces(s, by, time.Now().Add(time.Minute), func(piece string) { list = append(list, piece) })
	if err != nil {
		return []string{err.Error()}
	}
	return list
}

// Each splitter cuts as its regular expression does, for any combination of characters.
func TestSplitters(t *testing.T) {
	splitters := map[string]splitter{"GPT-2": splitGPT2, "Llama 3": splitNumbers(3), "Qwen 2": splitNumbers(1),
		"gpt-oss": splitCapitals(3, true), "Tekken": splitCapitals(1, false)}
	atoms := []string{
		"a", "Zé", "日本", "12345", "7", "²", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "'s", "'S",
		"'ll", "'LL", "'", "!", "?!", "🙂", "e\u0301", "_", "\u0301", "AB", "ǅ", "ʰ", "/",
	}
	texts := []string{
		"", "it's I'll we've DON'T", "    def f(x):\n        return x", "1,234.5 is 12345678", " \n \n x", "x \n\n",
		"a\u00a0b  c", "a\rb \rc\n\rd\x0ee", "don't I'm he'd we're I've 'tis 'Twas I'M HE'D WE'RE I'VE 'u 'n 'e 'c",
	}
	for _, a := range atoms {
		for _, b := range atoms {
			for _, c := range atoms {
				texts = append(texts, a+b+c, a+b+c+"x")
			}
		}
	}
	for name, by := range splitters {
		want := spelled(alternatives[name])
		for _, text := range texts {
			if got, want := piecesOf(text, by), piecesOf(text, want); !slices.Equal(got, want) {
				t.Fatalf("%s: %q: got %q, want %q", name, text, got, want)
			}
		}
	}
	for pattern, by := range patterns {
		engine, err := newRegex(pattern, "Isolated", false)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if i%31 > 0 { // the engine takes its time
				continue
			}
			if got, want := piecesOf(text, by), piecesOf(text, engine); !slices.Equal(got, want) {
				t.Fatalf("%s: %q: got %q, want %q of the engine", pattern, text, got, want)
			}
		}
	}
}

// Digits are cut off first, each separately; the text between them is cut as if it were alone.
func TestDigits(t *testing.T) {
	got := piecesOf("abc 123 x'9s", splitter(splitDigits), splitter(splitGPT2))
	want := []string{"abc", " ", "1", "2", "3", " x", "'", "9", "s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
