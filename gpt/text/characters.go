package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Characters numbers the characters (Unicode code points) of a text: the id of a character is its rank among the
// distinct characters in code point order, as in nanoGPT's character-level recipe.
type Characters struct {
	chars []rune       // id → character, strictly ascending
	ids   map[rune]int // character → id
}

// NewCharacters makes the tokenizer of the distinct characters of text, which has to be valid UTF-8 and not empty.
func NewCharacters(text string) (*Characters, error) {
	if text == "" {
		return nil, errors.New("tokenizer: the text is empty")
	}
	if at := invalidUTF8(text); at >= 0 {
		return nil, errors.Errorf("tokenizer: the text is not valid UTF-8 at byte %d", at)
	}
	seen := make(map[rune]bool)
	for _, c := range text {
		seen[c] = true
	}
	chars := make([]rune, 0, len(seen))
	for c := range seen {
		chars = append(chars, c)
	}
	slices.Sort(chars)
	return numbered(chars), nil
}

// numbered is the tokenizer whose ids are the positions in chars.
func numbered(chars []rune) *Characters {
	ids := make(map[rune]int, len(chars))
	for id, c := range chars {
		ids[c] = id
	}
	return &Characters{chars: chars, ids: ids}
}

// Size is the number of distinct characters, V.
func (t *Characters) Size() int { return len(t.chars) }

// Encode returns one id for each character of s. A character outside the vocabulary is an error that names it and its
// position, counted in characters from 0.
func (t *Characters) Encode(s string) ([]int, error) {
	if at := invalidUTF8(s); at >= 0 {
		return nil, errors.Errorf("tokenizer: not valid UTF-8 at byte %d", at)
	}
	ids := make([]int, 0, utf8.RuneCountInString(s))
	for _, c := range s {
		id, ok := t.ids[c]
		if !ok {
			return nil, errors.Errorf("tokenizer: character %q (%U) at position %d is not in the vocabulary of %d characters",
				c, c, len(ids), len(t.chars))
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Decode returns the text that ids stand for; an id outside [0, Size) is an error.
func (t *Characters) Decode(ids []int) (string, error) {
	var s strings.Builder
	for i, id := range ids {
		if id < 0 || id >= len(t.chars) {
			return "", errors.Errorf("tokenizer: id %d at position %d is outside the vocabulary of %d characters", id, i, len(t.chars))
		}
		s.WriteRune(t.chars[id])
	}
	return s.String(), nil
}

// invalidUTF8 is the offset of the first byte of s that belongs to no character, −1 where s is valid.
func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for at, c := range s {
		if c != utf8.RuneError {
			continue
		}
		if _, width := utf8.DecodeRuneInString(s[at:]); width == 1 { // U+FFFD itself is three bytes wide
			return at
		}
	}
	return -1
}
