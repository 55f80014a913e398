package grammar

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// A mask permits exactly the tokens that stay in the grammar byte by byte, and after which the text can end in time:
// within texts and numbers, near their limits and far from them, with many tokens left and with few.
func TestMaskByteByByte(t *testing.T) {
	texts := joins(700)
	v := NewVocabulary(append(texts, "ab", "ab", `{"`, `":`, `","`, strings.Repeat("a", 40), "€€", "é\"}"))
	rng := rand.New(rand.NewPCG(5, 6))
	compared := 0
	for _, schema := range []string{
		`{"type":"string"}`, `{"type":"string","maxLength":7}`, `{"type":"string","minLength":30,"maxLength":90}`,
		`{"type":"string","minLength":5}`, `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":5}`,
		`{"type":"array","items":{"type":"string","maxLength":44},"maxItems":3}`, `{"type":"object"}`, `true`,
		`{"pattern":"^[a-z ]{3,}é*$"}`, `{"format":"date-time"}`,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":60},"b":{"type":"number","minimum":-3}}}`,
	} {
		g, err := Schema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, tokens := range []int{14, 60, 1000} {
			m, err := g.Matcher(v, tokens)
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				logits := make([]float64, len(v.texts))
				if err := m.Apply(logits); errors.Is(err, search.ErrEnd) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", schema, err)
				}
				var some []int
				for id, z := range logits {
					want := v.texts[id] != "" && bytewise(m, v.texts[id])
					if got := z == 0; got != want {
						t.Fatalf("%s: %d tokens left: token %q: got %t, want %t",
							schema, m.left, v.texts[id], got, want)
					}
					if compared++; want {
						some = append(some, id)
					}
				}
				next := some[rng.IntN(len(some))]
				if rng.IntN(2) == 0 && logits[','] == 0 { // more values
					next = ','
				}
				if err := m.Drawn(next); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if compared < 300_000 {
		t.Errorf("compared %d, want many more", compared)
	}
}

// bytewise reports whether a text may follow, byte by byte.
func bytewise(m *Matcher, text string) bool {
	states := m.states
	for _, b := range []byte(text) {
		states = m.step(states, b, nil)
	}
	length := infinite
	for _, s := range states {
		length = min(length, s.length())
	}
	return len(states) > 0 && (!m.timely || length <= m.left-1)
}
