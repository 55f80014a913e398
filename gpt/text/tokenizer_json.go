package text

import (
	"bytes"
	"encoding/json"

	"github.com/pkg/errors"
)

// kind tells this vocabulary from others that a tokenizer.json may hold.
const kind = "character"

// file is the layout of tokenizer.json: vocab holds the characters in the order
// of their ids.
type file struct {
	Type  string `json:"type"`
	Vocab string `json:"vocab"`
}

// MarshalJSON writes {"type":"character","vocab":"…"}, the characters in the
// order of their ids. A Tokenizer without characters is an error.
func (t *Tokenizer) MarshalJSON() ([]byte, error) {
	if len(t.chars) == 0 {
		return nil, errors.New("tokenizer: the vocabulary is empty")
	}
	return json.Marshal(file{Type: kind, Vocab: string(t.chars)})
}

// UnmarshalJSON reads what MarshalJSON writes and nothing else: the vocabulary
// has to be not empty and strictly ascending, hence without duplicates, and the
// object the very bytes of MarshalJSON, white space and the escaping of & < >
// apart. So a key that is unknown, repeated or in another case, a lone
// surrogate and trailing data are refused. After an error t is as it was.
func (t *Tokenizer) UnmarshalJSON(data []byte) error {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	if f.Type != kind {
		return errors.Errorf("tokenizer: type: got %q, want %q", f.Type, kind)
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

// canonical compares data with the one encoding of f; encoding/json by itself
// takes duplicate keys, keys in any case, and lone surrogates as U+FFFD.
func canonical(f file, data []byte) error {
	want, err := json.Marshal(f)
	if err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	var compact, got bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	json.HTMLEscape(&got, compact.Bytes())
	if !bytes.Equal(got.Bytes(), want) {
		return errors.Errorf("tokenizer: not the form %.80s", want)
	}
	return nil
}
