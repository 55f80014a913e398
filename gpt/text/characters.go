package text

import (
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Characters numbers the characters (Unicode code points) of a text: the id of a character is its rank among the
// distinct characters in code point order, as in nanoGPT's character-level recipe.
type Characters struct{ vocabulary }

// NewCharacters returns the tokenizer of the distinct characters of text, which must be valid UTF-8 and not empty.
func NewCharacters(text string) (*Characters, error) {
	v, err := newVocabulary(text, strings.SplitSeq(text, ""))
	return &Characters{v}, err
}

// Encode returns one id for each character of s. A character outside the vocabulary is an error that names it and its
// position, counted in characters from 0.
func (t *Characters) Encode(s string) ([]int, error) {
	if at := invalidUTF8(s); at >= 0 {
		return nil, errors.Errorf("tokenizer: not valid UTF-8 at byte %d", at)
	}
	return t.list().encode(strings.SplitSeq(s, ""), utf8.RuneCountInString(s), "characters")
}

// Decode returns the text that ids stand for; an id outside [0, Size) is an error.
func (t *Characters) Decode(ids []int) (string, error) { return t.list().decode(ids, "characters") }

// list returns the vocabulary, or an empty one if t is nil.
func (t *Characters) list() *vocabulary {
	if t == nil {
		return new(vocabulary)
	}
	return &t.vocabulary
}

// MarshalJSON writes {"type":"character","vocab":"…"}. A vocabulary without characters is an error.
func (t *Characters) MarshalJSON() ([]byte, error) {
	return t.list().marshal("character", strings.Join(t.list().tokens, ""))
}

// UnmarshalJSON reads only what MarshalJSON writes: the vocabulary must be non-empty and strictly ascending, hence
// without duplicates, and the object must be byte for byte MarshalJSON's, except for white space and the escaping of &
// < >. So unknown or repeated keys, keys in another case, lone surrogates and trailing data are refused. After an error
// t is unchanged.
func (t *Characters) UnmarshalJSON(data []byte) error {
	if t == nil {
		return errors.New("tokenizer: nothing to read into (nil)")
	}
	var vocab string
	return t.unmarshal(data, "character", &vocab, func() ([]string, error) {
		at, last := 0, rune(-1)
		for _, c := range vocab { // before allocating a string for each
			if c <= last {
				return nil, notAscending(string(c), at, string(last))
			}
			at, last = at+1, c
		}
		return strings.Split(vocab, ""), nil
	})
}

// FileName returns the name of the tokenizer's file in a checkpoint.
func (*Characters) FileName() string { return FileNames()[0] }
