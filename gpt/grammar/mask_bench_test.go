package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// joins returns the texts of a synthetic vocabulary of byte pairs: all bytes, and joins of two earlier texts of letters
// behind a space or not, of punctuation, or of other bytes, of at most 16 bytes, and all numbers of three digits. One
// text in ten is punctuation or bytes beyond ASCII, as in published vocabularies.
func joins(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	var list []string
	seen, kinds := map[string]bool{}, map[int][]string{}
	kind := func(c byte) int {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			return 0
		case c >= '0' && c <= '9':
			return 1
		case c >= 0x80:
			return 2
		}
		return 3
	}
	add := func(s string) {
		control := strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 && c != '\n' && c != '\t' })
		if !seen[s] && len(s) <= 16 && (len(s) == 1 || !control) {
			seen[s] = true
			list = append(list, s)
			kinds[kind(s[0])] = append(kinds[kind(s[0])], s)
		}
	}
	for c := range 256 {
		add(string([]byte{byte(c)}))
	}
	for i := range 1000 {
		add(fmt.Sprintf("%03d", i))
	}
	for len(list) < n {
		of := []int{0, 2, 3}[max(0, rng.IntN(20)-17)]
		one := func() string { // the earlier, the more frequent
			u := rng.Float64()
			return kinds[of][int(u*u*u*float64(len(kinds[of])))]
		}
		s := one() + one()
		if of == 0 && rng.IntN(2) == 0 {
			s = " " + one()
		}
		add(s)
	}
	return list
}

// BenchmarkMask measures the mask of one token: in states that come again, and in those that do not, because they count
// characters or values.
func BenchmarkMask(b *testing.B) {
	for _, n := range []int{50_000, 150_000} {
		texts := joins(n)
		v := NewVocabulary(texts)
		ids := map[string]int{}
		for id, s := range texts {
			ids[s] = id
		}
		for _, c := range []struct{ name, schema, before, more string }{
			{"text", `{"type":"string"}`, `"ab`, "c"},
			{"text of at most 2000", `{"type":"string","maxLength":2000}`, `"ab`, "c"},
			{"name of a property", `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}}`,
				`{`, " "},
			{"number", `{"type":"number"}`, `1`, "0"},
			{"list", `{"type":"array","items":{"type":"integer"},"maxItems":1000}`, `[1`, ",1"},
			{"pattern of words", `{"type":"string","pattern":"^[a-z ]*$"}`, `"ab`, "c"},
			{"pattern of anything", `{"type":"string","pattern":"x"}`, `"ab`, "c"},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) {
				g, err := Schema([]byte(c.schema))
				if err != nil {
					b.Fatal(err)
				}
				begin := func() *Matcher {
					m, err := g.Matcher(v, 100_000)
					if err != nil {
						b.Fatal(err)
					}
					for _, x := range []byte(c.before) {
						if err := m.Drawn(ids[string([]byte{x})]); err != nil {
							b.Fatal(err)
						}
					}
					return m
				}
				m, logits, at := begin(), make([]float64, n), 0
				for b.Loop() {
					if err := m.Apply(logits); err != nil {
						b.Fatal(err)
					}
					if at == 9*len(c.more) {
						m, at = begin(), 0
						continue
					}
					if err := m.Drawn(ids[string([]byte{c.more[at%len(c.more)]})]); err != nil {
						b.Fatal(err)
					}
					at++
				}
			})
		}
	}
}
