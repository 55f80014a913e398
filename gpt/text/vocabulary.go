package text

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// vocabulary numbers tokens in byte order, which for characters is the order of their code points.
type vocabulary struct {
	tokens []string       // id → token, strictly ascending
	ids    map[string]int // token → id
}

// newVocabulary returns the vocabulary of the distinct tokens of a text.
func newVocabulary(text string, tokens iter.Seq[string]) (v vocabulary, err error) {
	if text == "" {
		return v, errors.New("tokenizer: the text is empty")
	}
	if at := invalidUTF8(text); at >= 0 {
		return v, errors.Errorf("tokenizer: the text is not valid UTF-8 at byte %d", at)
	}
	seen := map[string]bool{}
	for token := range tokens {
		seen[token] = true
	}
	return ranked(slices.Sorted(maps.Keys(seen))), nil
}

func ranked(tokens []string) vocabulary {
	ids := make(map[string]int, len(tokens))
	for id, token := range tokens {
		ids[token] = id
	}
	return vocabulary{tokens, ids}
}

// Size returns the number of distinct tokens, V.
func (v *vocabulary) Size() int { return len(v.tokens) }

// encode returns the ids of the tokens; n is a lower bound on their number.
func (v *vocabulary) encode(tokens iter.Seq[string], n int, unit string) ([]int, error) {
	ids := make([]int, 0, n)
	for token := range tokens {
		id, ok := v.ids[token]
		if !ok {
			return nil, errors.Errorf("tokenizer: %s at position %d is not in the vocabulary of %d %s",
				quoted(token), len(ids), v.Size(), unit)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (v *vocabulary) decode(ids []int, unit string) (string, error) {
	var s strings.Builder
	for i, id := range ids {
		if id < 0 || id >= len(v.tokens) {
			return "", errors.Errorf("tokenizer: id %d at position %d is outside the vocabulary of %d %s",
				id, i, v.Size(), unit)
		}
		s.WriteString(v.tokens[id])
	}
	return s.String(), nil
}

// vocabularyJSON is the object of a tokenizer.json; vocab holds the tokens in the order of their ids.
type vocabularyJSON struct {
	Type  string `json:"type"`
	Vocab any    `json:"vocab"`
}

func (v *vocabulary) marshal(kind string, vocab any) ([]byte, error) {
	if len(v.tokens) == 0 {
		return nil, errors.New("tokenizer: the vocabulary is empty")
	}
	return json.Marshal(vocabularyJSON{kind, vocab})
}

// unmarshal reads data into vocab, from which tokens then returns the list.
func (v *vocabulary) unmarshal(data []byte, kind string, vocab any, tokens func() ([]string, error)) error {
	f := vocabularyJSON{Vocab: vocab}
	if err := field.UnmarshalPart(data, &f); err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	if f.Type != kind {
		return errors.Errorf("tokenizer: type: got %.64q, want %q", f.Type, kind)
	}
	list, err := tokens()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("tokenizer: vocab is empty")
	}
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			return notAscending(list[i], i, list[i-1])
		}
	}
	if err := canonical(f, data); err != nil {
		return err
	}
	*v = ranked(list)
	return nil
}

func notAscending(token string, at int, before string) error {
	return errors.Errorf("tokenizer: vocab: not ascending, %.64q at %d follows %.64q", token, at, before)
}

// quoted returns a token as messages print it.
func quoted(token string) string {
	if c, n := utf8.DecodeRuneInString(token); n == len(token) {
		return fmt.Sprintf("character %q (%U)", c, c)
	}
	return fmt.Sprintf("%.64q", token)
}
