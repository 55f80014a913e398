package text

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/pkg/errors"
)

// Words numbers the words of a text: each run of letters, marks and digits is a token, and so is every character
// between such runs. Nothing is dropped, so the tokens joined are the text again. The id of a token is its rank in byte
// order.
type Words struct {
	tokens []string       // id → token, strictly ascending
	ids    map[string]int // token → id
}

// NewWords makes the tokenizer of the distinct tokens of text, which has to be valid UTF-8 and not empty.
func NewWords(text string) (*Words, error) {
	if text == "" {
		return nil, errors.New("tokenizer: the text is empty")
	}
	if at := invalidUTF8(text); at >= 0 {
		return nil, errors.Errorf("tokenizer: the text is not valid UTF-8 at byte %d", at)
	}
	tokens := split(text)
	slices.Sort(tokens)
	return ranked(slices.Clip(slices.Compact(tokens))), nil
}

func ranked(tokens []string) *Words {
	ids := make(map[string]int, len(tokens))
	for id, token := range tokens {
		ids[token] = id
	}
	return &Words{tokens: tokens, ids: ids}
}

// split cuts s into its tokens.
func split(s string) (tokens []string) {
	start, inWord := 0, false
	for i, c := range s {
		word := unicode.In(c, unicode.Letter, unicode.Mark, unicode.Digit)
		if i > 0 && !(word && inWord) {
			tokens, start = append(tokens, s[start:i]), i
		}
		inWord = word
	}
	if s != "" {
		tokens = append(tokens, s[start:])
	}
	return tokens
}

// Size is the number of distinct tokens, V.
func (t *Words) Size() int { return len(t.tokens) }

// Encode returns one id for each token of s. A token outside the vocabulary is an error that names it and its position,
// counted in tokens from 0.
func (t *Words) Encode(s string) ([]int, error) {
	tokens := split(s)
	ids := make([]int, len(tokens))
	for i, token := range tokens {
		id, ok := t.ids[token]
		if !ok {
			return nil, errors.Errorf("tokenizer: %.64q at position %d is not in the vocabulary of %d words", token, i, len(t.tokens))
		}
		ids[i] = id
	}
	return ids, nil
}

// Decode returns the text that ids stand for; an id outside [0, Size) is an error.
func (t *Words) Decode(ids []int) (string, error) {
	var s strings.Builder
	for i, id := range ids {
		if id < 0 || id >= len(t.tokens) {
			return "", errors.Errorf("tokenizer: id %d at position %d is outside the vocabulary of %d words", id, i, len(t.tokens))
		}
		s.WriteString(t.tokens[id])
	}
	return s.String(), nil
}

type wordsJSON struct {
	Type  string   `json:"type"`
	Vocab []string `json:"vocab"`
}

// MarshalJSON writes {"type":"word","vocab":["…",…]}, the tokens in the order of their ids. A vocabulary without tokens
// is an error.
func (t *Words) MarshalJSON() ([]byte, error) {
	if len(t.tokens) == 0 {
		return nil, errors.New("tokenizer: the vocabulary is empty")
	}
	return json.Marshal(wordsJSON{"word", t.tokens})
}

// UnmarshalJSON reads what MarshalJSON writes and nothing else. After an error t is as it was.
func (t *Words) UnmarshalJSON(data []byte) error {
	var f wordsJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	if f.Type != "word" {
		return errors.Errorf("tokenizer: type: got %q, want %q", f.Type, "word")
	}
	if len(f.Vocab) == 0 {
		return errors.New("tokenizer: vocab is empty")
	}
	for i, token := range f.Vocab {
		switch parts := split(token); {
		case len(parts) != 1:
			return errors.Errorf("tokenizer: vocab: %.64q at %d is %d words, want 1", token, i, len(parts))
		case i > 0 && token <= f.Vocab[i-1]:
			return errors.Errorf("tokenizer: vocab: not ascending, %.64q at %d follows %.64q", token, i, f.Vocab[i-1])
		}
	}
	if err := canonical(f, data); err != nil {
		return err
	}
	*t = *ranked(f.Vocab)
	return nil
}
