package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// specials returns the special tokens of a vocabulary: those that no text is encoded to, such as the marks of turns.
func specials(tok text.Tokenizer) map[int]bool {
	named, ok := tok.(text.Specials)
	if !ok {
		return nil
	}
	found := map[int]bool{}
	for id := range tok.Size() {
		s, err := tok.Decode([]int{id})
		if err != nil {
			continue
		}
		if of, ok := named.Special(s); !ok || of != id {
			continue
		}
		if ids, err := tok.Encode(s); err != nil || !slices.Contains(ids, id) {
			found[id] = true
		}
	}
	return found
}

// spoken is a tokenizer in which special tokens have no text.
type spoken struct {
	text.Tokenizer
	special map[int]bool
}

// Decode returns the text of the tokens that are not special.
func (s spoken) Decode(ids []int) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		if s.special[id] {
			continue
		}
		piece, err := s.Tokenizer.Decode([]int{id})
		if err != nil {
			return "", err
		}
		b.WriteString(piece)
	}
	return b.String(), nil
}

// speaks returns the tokenizer of answers, in which special tokens have no text, but for those that mark calls of tools
// in a style; nil is without.
func (e *engine) speaks(s style) text.Tokenizer {
	if s == nil {
		return spoken{e.tok, e.special}
	}
	named, ok := e.tok.(text.Specials)
	if !ok {
		return e.tok
	}
	special := maps.Clone(e.special)
	for _, mark := range []string{s.mark(), "</tool_call>"} {
		if id, ok := named.Special(mark); ok {
			delete(special, id)
		}
	}
	return spoken{e.tok, special}
}
