package corpus

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lower returns the first of words as the parser compares it: capitals do not depend on choices.
func lower(words ...string) string { return strings.ToLower(words[0]) }

// first returns the set of words that the expansion of symbol can begin with.
func first(g grammar, symbol string) map[string]bool {
	set := make(map[string]bool)
	d := newDialogue()
	switch alternatives, ok := g[symbol]; {
	case ok:
		for _, c := range alternatives {
			for w := range first(g, c.symbols[0]) {
				set[w] = true
			}
		}
	case symbol == "[listener]":
		for _, name := range d.names {
			set[lower(strings.Fields(name)...)] = true
		}
	case symbol == "[phrase]":
		for _, phrase := range d.phrases {
			set[lower(strings.Fields(phrase)...)] = true
		}
	default:
		set[lower(symbol)] = true
	}
	return set
}

// TestGrammarIsUnambiguous checks that every alternative has a symbol, every category is defined and used, every
// terminal is a plain word or a mark, and no two alternatives of a category can begin with the same word. So the next
// word always determines the choice.
func TestGrammarIsUnambiguous(t *testing.T) {
	g := read(speeches)
	word := regexp.MustCompile(`^([A-Za-z]+|[.,;:!?/$]|\[(listener|phrase)\])$`)
	used := map[string]bool{"<speech>": true}
	for category, alternatives := range g {
		began := make(map[string]int)
		for i, c := range alternatives {
			if c.weight < 1 || len(c.symbols) == 0 {
				t.Fatalf("%s: alternative %d: %v", category, i, c)
			}
			for _, s := range c.symbols {
				used[s] = true
				if _, ok := g[s]; !ok && !word.MatchString(s) {
					t.Errorf("%s: %q is neither a category nor a word", category, s)
				}
			}
			for w := range first(g, c.symbols[0]) {
				if j, ok := began[w]; ok {
					t.Errorf("%s: alternatives %d and %d both begin with %q", category, j, i, w)
				}
				began[w] = i
			}
		}
	}
	for category := range g {
		if !used[category] && !used[category+"s"] && !used[strings.TrimSuffix(category, "s")] {
			t.Errorf("%s is never used", category)
		}
	}
}

// parser recovers the choices that produced a text.
type parser struct {
	t      *testing.T
	g      grammar
	first  map[string]map[string]bool
	turns  dialogue
	tokens []string
	nats   float64
	counts map[string][]int // number of times that each alternative was chosen
}

// take reads one token.
func (p *parser) take(want string) {
	if len(p.tokens) == 0 || p.tokens[0] != want {
		p.t.Fatalf("at %.10q: want %q", p.tokens, want)
	}
	p.tokens = p.tokens[1:]
}

// pay records a choice.
func (p *parser) pay(category string, alternatives []choice, i int) {
	total := 0
	for _, c := range alternatives {
		total += c.weight
	}
	p.nats += math.Log(float64(total)) - math.Log(float64(alternatives[i].weight))
	if p.counts[category] == nil {
		p.counts[category] = make([]int, len(alternatives))
	}
	p.counts[category][i]++
}

// parse reads the expansion of symbol.
func (p *parser) parse(symbol string) {
	alternatives, ok := p.g[symbol]
	if !ok {
		words := []string{symbol}
		if strings.HasPrefix(symbol, "[") {
			words = p.turns.name(symbol)
		}
		for _, w := range words {
			p.take(lower(w))
		}
		return
	}
	i := slices.IndexFunc(alternatives, func(c choice) bool {
		s := c.symbols[0]
		if p.first[s] == nil {
			p.first[s] = first(p.g, s)
		}
		return p.first[s][p.tokens[0]]
	})
	if i < 0 {
		p.t.Fatalf("%s: no alternative begins with %.10q", symbol, p.tokens)
	}
	p.pay(symbol, alternatives, i)
	for _, s := range alternatives[i].symbols {
		p.parse(s)
	}
}

// read parses an entire text.
func (p *parser) read(text string) {
	token := regexp.MustCompile(`[A-Za-z'-]+|[.,;:!?]|\n`)
	for _, speech := range strings.Split(strings.TrimSuffix(text, "\n"), "\n\n") {
		header, verses, _ := strings.Cut(speech, ":\n")
		turns := p.turns.choices()
		i := slices.IndexFunc(turns, func(c choice) bool { return c.symbols[0] == header })
		if i < 0 {
			p.t.Fatalf("%q cannot speak after %q", header, p.turns.speaker)
		}
		p.pay("turns", turns, i)
		p.turns.next(header)
		for _, s := range token.FindAllString(verses, -1) {
			p.tokens = append(p.tokens, strings.ReplaceAll(lower(s), "\n", "/"))
		}
		p.tokens = append(p.tokens, "$")
		p.parse("<speech>")
		if len(p.tokens) > 0 {
			p.t.Fatalf("left over: %.10q", p.tokens)
		}
	}
}

// newParser returns a parser at the beginning of a text.
func newParser(t *testing.T) *parser {
	return &parser{
		t: t, g: read(speeches), turns: newDialogue(),
		first: make(map[string]map[string]bool), counts: make(map[string][]int),
	}
}

// TestFloor checks that the parser finds the code length that the generator reports.
func TestFloor(t *testing.T) {
	for seed, size := range map[uint64]int{standinSeed: standinSize, 2: 20_000, 3: 1} {
		text, floor := Standin(seed, size)
		p := newParser(t)
		p.read(text)
		got := p.nats / float64(len(text))
		if !(math.Abs(got-floor) <= 1e-9*floor) || !(floor > 0.1) {
			t.Errorf("seed %d: the generator returns %v nats per character, the parser %v", seed, floor, got)
		}
	}
}

// TestChoicesFollowWeights checks that the frequencies are those that the floor assumes.
func TestChoicesFollowWeights(t *testing.T) {
	text, _ := Standin(standinSeed, standinSize)
	p := newParser(t)
	p.read(text)
	checked := 0
	for category, alternatives := range p.g {
		total, n := 0, 0
		for i, c := range p.counts[category] {
			total += alternatives[i].weight
			n += c
		}
		for i, c := range p.counts[category] {
			share := float64(alternatives[i].weight) / float64(total)
			mean, sigma := float64(n)*share, math.Sqrt(float64(n)*share*(1-share))
			if mean < 50 {
				continue
			}
			checked++
			if !(math.Abs(float64(c)-mean) <= 5*sigma) {
				t.Errorf("%s %v: got %d times, want %.0f ± %.0f", category, alternatives[i].symbols, c, mean, sigma)
			}
		}
	}
	if checked < 500 {
		t.Errorf("checked %d alternatives, want at least 500", checked)
	}
}

// TestStandin checks that the text is the same everywhere, with the documented size and layout.
func TestStandin(t *testing.T) {
	text, floor := Standin(standinSeed, standinSize)
	const want = "64b4d4b7c88421fe91b93201f1a9b3a769a22b3fc2f75df87e64f649ade45e26"
	if got := checksum(text); got != want {
		t.Errorf("sha256: got %s, want %s", got, want)
	}
	if other, _ := Standin(standinSeed+1, 10_000); strings.HasPrefix(text, other) {
		t.Error("another seed gives the same text")
	}
	if d := math.Abs(float64(len(text)-standinSize)) / standinSize; !(d <= 0.01) {
		t.Errorf("got %d characters, want %d within 1 %%", len(text), standinSize)
	}
	if !(floor > 0.7 && floor < 1.3) {
		t.Errorf("floor: got %v nats per character, want a natural 0.7 to 1.3", floor)
	}
	speech := regexp.MustCompile(`^[A-Z][A-Za-z ]*:(\n[A-Z][A-Za-z' -]*([,;:] ?[A-Za-z -]+)*[.,;:!?])+$`)
	for _, s := range strings.Split(strings.TrimSuffix(text, "\n"), "\n\n") {
		if !speech.MatchString(s) {
			t.Fatalf("not a name and verses: %q", s)
		}
		for _, verse := range strings.Split(s, "\n") {
			if len(verse) > 72 {
				t.Errorf("a verse of %d characters: %q", len(verse), verse)
			}
		}
	}
	seen := make(map[rune]bool)
	for _, c := range text {
		seen[c] = true
	}
	if len(seen) < 55 || len(seen) > 65 {
		t.Errorf("got %d distinct characters, want about 60", len(seen))
	}
}

// TestEnglish checks that there is no "a" before a vowel, and no plural or verb that a plain s makes wrong.
func TestEnglish(t *testing.T) {
	text, _ := Standin(standinSeed, standinSize)
	if bad := regexp.MustCompile(`\b[Aa] [aeiou]\w*`).FindString(text); bad != "" {
		t.Errorf("%q", bad)
	}
	g := read(speeches)
	irregular := regexp.MustCompile(`(s|x|z|sh|ch|[^aeiou]y|man)s$`)
	for _, category := range strings.Fields(
		"<person>s <beast>s <thing>s <do>s <go>s <blow>s <bark>s <stand>s <rule>s",
	) {
		for _, c := range g[category] {
			if w := c.symbols[0]; irregular.MatchString(w) {
				t.Errorf("%s: %s", category, w)
			}
		}
	}
}

func BenchmarkStandin(b *testing.B) {
	for b.Loop() {
		text, _ := Standin(standinSeed, standinSize)
		b.SetBytes(int64(len(text)))
	}
}
