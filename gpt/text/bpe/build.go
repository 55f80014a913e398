package bpe

import "github.com/pkg/errors"

// recipe describes an encoding as files do, with tokens in their visible form.
type recipe struct {
	tokens       []string         // by id
	added        []added          // nil: the tokens of several bytes that no merge builds
	apart        map[string]int32 // those that take no part in merges
	normalized   map[string]bool  // those that are found after the text was normalized
	merges       [][2]string      // by rank
	ignoreMerges bool             // a piece that is a token is not merged
	layout       layout
}

// build returns the Tokenizer of a recipe. A merge of unknown tokens, a second merge of the same pair, a byte without
// a token, and a token that lacks its merge are errors.
func (r recipe) build() (*Tokenizer, error) {
	ids, err := r.ordinary()
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{tokens: make([]string, len(r.tokens)), split: r.layout.split, special: map[string]int32{}}
	var merged []bool
	if t.merges, merged, err = r.table(ids); err != nil {
		return nil, err
	}
	derived := r.added == nil
	if derived {
		r.unmergedTokens(ids, merged)
	}
	if t.form, err = r.layout.form(ids); err == nil {
		err = t.find(r)
	}
	if err == nil && derived {
		err = r.complete(ids)
	}
	if err != nil {
		return nil, err
	}
	for id, token := range r.tokens {
		if _, ok := r.apart[token]; ok {
			t.tokens[id] = token
			continue
		}
		var ok bool
		if t.tokens[id], ok = r.layout.read(token); !ok {
			return nil, errors.Errorf("vocab: %.64q has a character that stands for no byte", token)
		}
	}
	if r.ignoreMerges {
		t.lookup = make(map[string]int32, len(ids))
		for _, id := range ids {
			t.lookup[t.tokens[id]] = id
		}
	}
	return t, nil
}

// find sets the tokens that are found in texts.
func (t *Tokenizer) find(r recipe) (err error) {
	var before, after []added
	for _, a := range r.added {
		t.special[a.content] = a.id
		if r.normalized[a.content] {
			a.content = t.form.before(a.content, true)
			after = append(after, a)
		} else {
			before = append(before, a)
		}
	}
	if t.named, err = newFinder(before); err == nil {
		t.normal, err = newFinder(after)
	}
	return err
}

// ordinary returns the ids of the tokens that take part in merges.
func (r recipe) ordinary() (map[string]int32, error) {
	ids := make(map[string]int32, len(r.tokens)-len(r.apart))
	for id, token := range r.tokens {
		if _, ok := r.apart[token]; !ok && token != "" { // not a hole
			if first, twice := ids[token]; twice {
				return nil, errors.Errorf("vocab: %.64q: got ids %d and %d, want one", token, first, id)
			}
			ids[token] = int32(id)
		}
	}
	return ids, nil
}

// table returns the merges by pair, and for each id whether a merge builds it.
func (r recipe) table(ids map[string]int32) (merges, []bool, error) {
	table, merged := make(merges, len(r.merges)), make([]bool, len(r.tokens))
	for rank, m := range r.merges {
		left, ok := ids[m[0]]
		right, too := ids[m[1]]
		id, all := ids[m[0]+m[1]]
		if !ok || !too || !all {
			return nil, nil, errors.Errorf("merges: %.64q at %d: %.64q is not in the vocabulary of %d tokens",
				m[0]+" "+m[1], rank, missing(ids, m), len(r.tokens))
		}
		p := pairOf(left, right)
		if first, twice := table[p]; twice {
			return nil, nil, errors.Errorf("merges: %.64q at %d is there already at %d",
				m[0]+" "+m[1], rank, first.rank)
		}
		table[p], merged[id] = merge{int32(rank), id}, true
	}
	return table, merged, nil
}

// missing returns the first part of a merge that is not a token.
func missing(ids map[string]int32, m [2]string) string {
	for _, part := range []string{m[0], m[1]} {
		if _, ok := ids[part]; !ok {
			return part
		}
	}
	return m[0] + m[1]
}

// unmergedTokens removes from ids the tokens that are not single bytes and that no merge builds, and makes them special
// tokens.
func (r *recipe) unmergedTokens(ids map[string]int32, merged []bool) {
	r.apart = map[string]int32{}
	for id, token := range r.tokens {
		if b, ok := r.layout.read(token); !merged[id] && (!ok || len(b) != 1) {
			r.apart[token] = int32(id)
			r.added = append(r.added, added{content: token, id: int32(id), special: true})
			delete(ids, token)
		}
	}
}

// complete refuses a special token that is two ordinary tokens one after the other: its merge is missing. A truncated
// file of merges always leaves such a token, because the remaining merges build the parts of the first lost one.
func (r recipe) complete(ids map[string]int32) error {
	for _, a := range r.added {
		for i := range a.content {
			_, left := ids[a.content[:i]]
			_, right := ids[a.content[i:]]
			if left && right {
				return errors.Errorf("merges: got %d, none of which makes token %d, %.64q, from %.64q and %.64q; "+
					"is the file cut?", len(r.merges), a.id, a.content, a.content[:i], a.content[i:])
			}
		}
	}
	return nil
}
