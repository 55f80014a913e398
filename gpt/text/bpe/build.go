package bpe

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// recipe is an encoding as files have it, in its visible form.
type recipe struct {
	tokens  []string         // by id
	special map[string]int32 // of these; nil where it is those that are no bytes and that no merge makes
	merges  [][2]string      // by rank
	whole   bool             // a piece that is a token is not merged
	layout  layout
}

// build makes the Tokenizer of a recipe. A merge of what is no token, a second merge of the same pair and a byte without
// a token are errors.
func (r recipe) build() (*Tokenizer, error) {
	ids := make(map[string]int32, len(r.tokens)) // of ordinary tokens
	for id, token := range r.tokens {
		if _, ok := r.special[token]; !ok {
			if first, twice := ids[token]; twice {
				return nil, errors.Errorf("vocab: %.64q: got ids %d and %d, want one", token, first, id)
			}
			ids[token] = int32(id)
		}
	}
	t := &Tokenizer{tokens: make([]string, len(r.tokens)), special: r.special, split: r.layout.split, merges: make(merges, len(r.merges))}
	made := make([]bool, len(r.tokens))
	for rank, m := range r.merges {
		left, ok := ids[m[0]]
		right, too := ids[m[1]]
		id, all := ids[m[0]+m[1]]
		if !ok || !too || !all {
			return nil, errors.Errorf("merges: %.64q at %d: %.64q is not in the vocabulary of %d tokens",
				m[0]+" "+m[1], rank, missing(ids, m), len(r.tokens))
		}
		p := pairOf(left, right)
		if first, twice := t.merges[p]; twice {
			return nil, errors.Errorf("merges: %.64q at %d is there already at %d", m[0]+" "+m[1], rank, first.rank)
		}
		t.merges[p], made[id] = merge{int32(rank), id}, true
	}
	if t.special == nil {
		t.special = map[string]int32{}
		for id, token := range r.tokens {
			if b, ok := r.layout.read(token); !made[id] && (!ok || len(b) != 1) {
				t.special[token] = int32(id)
				delete(ids, token)
			}
		}
	}
	for id, token := range r.tokens {
		if _, ok := t.special[token]; ok {
			t.tokens[id] = token
			continue
		}
		var ok bool
		if t.tokens[id], ok = r.layout.read(token); !ok {
			return nil, errors.Errorf("vocab: %.64q has a character that stands for no byte", token)
		}
	}
	t.named = finder(t.special)
	if r.whole {
		t.whole = make(map[string]int32, len(ids))
		for _, id := range ids {
			t.whole[t.tokens[id]] = id
		}
	}
	var err error
	t.form, err = r.layout.form(ids)
	return t, err
}

// missing is the first part of a merge that is no token.
func missing(ids map[string]int32, m [2]string) string {
	for _, part := range []string{m[0], m[1]} {
		if _, ok := ids[part]; !ok {
			return part
		}
	}
	return m[0] + m[1]
}

// finder finds special tokens, of several at one place the longest; nil where there is none.
func finder(special map[string]int32) *regexp.Regexp {
	var contents []string
	for content := range special {
		contents = append(contents, content)
	}
	if len(contents) == 0 {
		return nil
	}
	slices.SortFunc(contents, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for i, content := range contents {
		contents[i] = regexp.QuoteMeta(content)
	}
	return regexp.MustCompile(strings.Join(contents, "|"))
}
