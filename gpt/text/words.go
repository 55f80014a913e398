package text

import (
	"iter"
	"unicode"

	"github.com/pkg/errors"
)

// Words numbers the words of a text: each run of letters, marks and digits is a token, and so is every character
// between such runs. Nothing is dropped, so the joined tokens are the text again. The id of a token is its rank in
// byte order.
type Words struct{ vocabulary }

// NewWords returns the tokenizer of the distinct tokens of text, which must be valid UTF-8 and not empty.
func NewWords(text string) (*Words, error) {
	v, err := newVocabulary(text, words(text))
	return &Words{v}, err
}

// words yields the tokens of s.
func words(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, inWord := 0, false
		for i, c := range s {
			word := unicode.In(c, unicode.Letter, unicode.Mark, unicode.Digit)
			if i > 0 && !(word && inWord) {
				if !yield(s[start:i]) {
					return
				}
				start = i
			}
			inWord = word
		}
		if s != "" {
			yield(s[start:])
		}
	}
}

// Encode returns one id for each token of s. A token outside the vocabulary is an error that names it and its position,
// counted in tokens from 0.
func (t *Words) Encode(s string) ([]int, error) { return t.list().encode(words(s), 0, "words") }

// Decode returns the text that ids stand for; an id outside [0, Size) is an error.
func (t *Words) Decode(ids []int) (string, error) { return t.list().decode(ids, "words") }

// list returns the vocabulary, or an empty one if t is nil.
func (t *Words) list() *vocabulary {
	if t == nil {
		return new(vocabulary)
	}
	return &t.vocabulary
}

// MarshalJSON writes {"type":"word","vocab":["…",…]}, the tokens in the order of their ids. A vocabulary without tokens
// is an error.
func (t *Words) MarshalJSON() ([]byte, error) { return t.list().marshal("word", t.list().tokens) }

// UnmarshalJSON reads only what MarshalJSON writes. After an error t is unchanged.
func (t *Words) UnmarshalJSON(data []byte) error {
	if t == nil {
		return errors.New("tokenizer: nothing to read into (nil)")
	}
	var vocab []string
	return t.unmarshal(data, "word", &vocab, func() ([]string, error) {
		for i, token := range vocab {
			n := 0
			for range words(token) {
				n++
			}
			if n != 1 {
				return nil, errors.Errorf("tokenizer: vocab: %.64q at %d is %d words, want 1", token, i, n)
			}
		}
		return vocab, nil
	})
}
