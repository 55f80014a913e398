package parts_test

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// nibbles is a tokenizer with two tokens, of 16, for each byte.
type nibbles struct{}

func (nibbles) Size() int { return 16 }

func (nibbles) Encode(s string) (ids []int, err error) {
	for _, b := range []byte(s) {
		ids = append(ids, int(b>>4), int(b&15))
	}
	return ids, nil
}

func (nibbles) Decode(ids []int) (string, error) {
	b := make([]byte, (len(ids)+1)/2) // of an odd number the last is the beginning of a byte
	for i, id := range ids {
		if id < 0 || id > 15 {
			return "", errors.Errorf("id %d at position %d, want 0 to 15", id, i)
		}
		b[i/2] |= byte(id << (4 - 4*(i%2)))
	}
	return string(b), nil
}

func (nibbles) MarshalJSON() ([]byte, error) { return []byte(`{"type":"nibble"}`), nil }

// A tokenizer is registered by its Kind: the corpus is encoded with it, and a checkpoint is opened with it.
func ExampleRegistry_ownTokenizer() {
	kind := text.Kind{
		Name: "nibble",
		New:  func(string) (text.Tokenizer, error) { return nibbles{}, nil },
		Open: func(data []byte) (text.Tokenizer, error) {
			return nibbles{}, json.Unmarshal(data, new(struct{ Type string }))
		},
	}
	c := small()
	c.VocabSize, c.Parts.Tokenizers = 16, []text.Kind{kind}
	trains(c)
	// Output: the loss falls, and it writes
}
