package text

import (
	"encoding/json"

	"github.com/pkg/errors"
)

// charactersJSON is the object of a tokenizer.json: vocab holds the characters in the order of their ids.
type charactersJSON struct {
	Type  string `json:"type"`
	Vocab string `json:"vocab"`
}

// MarshalJSON writes {"type":"character","vocab":"…"}. A vocabulary without characters is an error.
func (t *Characters) MarshalJSON() ([]byte, error) {
	if len(t.chars) == 0 {
		return nil, errors.New("tokenizer: the vocabulary is empty")
	}
	return json.Marshal(charactersJSON{"character", string(t.chars)})
}

// UnmarshalJSON reads what MarshalJSON writes and nothing else: the vocabulary has to be not empty and strictly
// ascending, hence without duplicates, and the object the very bytes of MarshalJSON, white space and the escaping of &
// < > apart. So a key that is unknown, repeated or in another case, a lone surrogate and trailing data are refused.
// After an error t is as it was.
func (t *Characters) UnmarshalJSON(data []byte) error {
	var f charactersJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	if f.Type != "character" {
		return errors.Errorf("tokenizer: type: got %q, want %q", f.Type, "character")
	}
	if f.Vocab == "" {
		return errors.New("tokenizer: vocab is empty")
	}
	chars := []rune(f.Vocab)
	for i := 1; i < len(chars); i++ {
		switch {
		case chars[i] == chars[i-1]:
			return errors.Errorf("tokenizer: vocab: %q stands at both %d and %d", chars[i], i-1, i)
		case chars[i] < chars[i-1]:
			return errors.Errorf("tokenizer: vocab: not ascending, %q at %d follows %q", chars[i], i, chars[i-1])
		}
	}
	if err := canonical(f, data); err != nil {
		return err
	}
	*t = *numbered(chars)
	return nil
}
