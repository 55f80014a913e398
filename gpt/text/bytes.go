package text

import "github.com/pkg/errors"

// Bytes has a token for each of the 256 bytes: no text is outside its vocabulary.
type Bytes struct{}

// Size returns 256.
func (Bytes) Size() int { return 256 }

// Encode returns the bytes of s.
func (Bytes) Encode(s string) ([]int, error) {
	ids := make([]int, len(s))
	for i := range ids {
		ids[i] = int(s[i])
	}
	return ids, nil
}

// Decode returns the bytes as a string, which need not be valid UTF-8. An id outside [0, 256) is an error.
func (Bytes) Decode(ids []int) (string, error) {
	s := make([]byte, len(ids))
	for i, id := range ids {
		if id < 0 || id > 255 {
			return "", errors.Errorf("tokenizer: id %d at position %d is not a byte, 0 to 255", id, i)
		}
		s[i] = byte(id)
	}
	return string(s), nil
}

type bytesJSON struct {
	Type string `json:"type"`
}

// MarshalJSON writes {"type":"byte"}.
func (Bytes) MarshalJSON() ([]byte, error) { return []byte(`{"type":"byte"}`), nil }

// UnmarshalJSON reads what MarshalJSON writes and nothing else.
func (Bytes) UnmarshalJSON(data []byte) error { return canonical(bytesJSON{"byte"}, data) }
