package seq2seq

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Vocabulary turns texts into ids and back. Its first ids are Pad, Begin, End and Hidden.
type Vocabulary struct {
	unit   string
	tokens []string
	ids    map[string]int
}

// errNoVocabulary is the error of no Vocabulary, and of one that NewVocabulary has not created.
var errNoVocabulary = errors.New("vocabulary: missing or empty, want one of NewVocabulary")

// units returns the units into which a text can be divided.
func units() []string { return []string{"words", "characters"} }

// NewVocabulary returns a vocabulary with only the special tokens. The unit is "words", separated by white space, or
// "characters".
func NewVocabulary(unit string) (*Vocabulary, error) {
	if !slices.Contains(units(), unit) {
		return nil, errors.Errorf("vocabulary: got unit %.64q, want one of %s%s",
			unit, strings.Join(units(), ", "), spelling.Hint(unit, units()))
	}
	// No text becomes one of these: they have no entry in ids.
	special := []string{"<pad>", "<begin>", "<end>", "<hidden>"}
	return &Vocabulary{unit: unit, ids: map[string]int{}, tokens: special}, nil
}

func (v *Vocabulary) split(text string) []string {
	if v.unit == "words" {
		return strings.Fields(text)
	}
	return strings.Split(text, "")
}

// Add gives new ids to the unknown tokens of a text and returns the number of its tokens.
func (v *Vocabulary) Add(text string) (n int) {
	if v == nil || v.ids == nil {
		return 0
	}
	parts := v.split(text)
	for _, token := range parts {
		if _, known := v.ids[token]; !known {
			v.ids[token] = len(v.tokens)
			v.tokens = append(v.tokens, token)
		}
	}
	return len(parts)
}

// Size returns the number of tokens, including the special ones.
func (v *Vocabulary) Size() int {
	if v == nil {
		return 0
	}
	return len(v.tokens)
}

// Encode returns the ids of a text; a token that was never added is an error.
func (v *Vocabulary) Encode(text string) ([]int, error) {
	if v == nil || v.ids == nil {
		return nil, errNoVocabulary
	}
	parts := v.split(text)
	ids := make([]int, len(parts))
	for i, token := range parts {
		id, known := v.ids[token]
		if !known {
			return nil, errors.Errorf("%.64q, number %d of the %s, is not in the vocabulary of %d",
				token, i+1, v.unit, v.Size())
		}
		ids[i] = id
	}
	return ids, nil
}

// Decode returns the text of ids. Special tokens appear by their names, and ids beyond the vocabulary as <unknown>.
func (v *Vocabulary) Decode(ids []int) string {
	if v == nil {
		v = &Vocabulary{}
	}
	parts := make([]string, len(ids))
	for i, id := range ids {
		if parts[i] = "<unknown>"; id >= 0 && id < len(v.tokens) {
			parts[i] = v.tokens[id]
		}
	}
	if v.unit == "words" {
		return strings.Join(parts, " ")
	}
	return strings.Join(parts, "")
}

type vocabularyJSON struct {
	Unit   string   `json:"unit"`
	Tokens []string `json:"tokens"` // without the special ones
}

// MarshalJSON writes the unit and the tokens.
func (v *Vocabulary) MarshalJSON() ([]byte, error) {
	if v == nil || v.ids == nil {
		return nil, errNoVocabulary
	}
	return json.Marshal(vocabularyJSON{v.unit, v.tokens[specials:]})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Vocabulary) UnmarshalJSON(data []byte) error {
	if v == nil {
		return errNoVocabulary
	}
	// Growing the list would take five times the memory.
	j := vocabularyJSON{Tokens: make([]string, 0, bytes.Count(data, []byte(`"`))/2)}
	if err := field.UnmarshalPart(data, &j); err != nil {
		return errors.Wrap(err, "vocabulary")
	}
	next, err := NewVocabulary(j.Unit)
	if err != nil {
		return err
	}
	next.ids, next.tokens = make(map[string]int, len(j.Tokens)), slices.Grow(next.tokens, len(j.Tokens))
	for _, token := range j.Tokens {
		if parts := next.split(token); len(parts) != 1 || parts[0] != token {
			return errors.Errorf("vocabulary: got token %.64q, want one of the %s", token, j.Unit)
		}
		if _, twice := next.ids[token]; twice {
			return errors.Errorf("vocabulary: %.64q appears twice", token)
		}
		next.ids[token] = len(next.tokens)
		next.tokens = append(next.tokens, token)
	}
	*v = *next
	return nil
}
