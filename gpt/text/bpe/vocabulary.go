package bpe

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/pkg/errors"
)

// entry is a token of a file with its id.
type entry struct {
	token string
	id    int
}

// vocabulary holds the entries of an object of tokens with their ids.
type vocabulary []entry

// UnmarshalJSON reads the object, which is valid JSON, entry by entry, because a map of fifty thousand entries would
// take most of the time of reading an encoding.
func (v *vocabulary) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return errors.Errorf("vocab: got %.64q, want an object of tokens and their ids", data)
	}
	*v = make(vocabulary, 0, entries(data))
	for data = skip(data[1:]); data[0] == '"'; data = skip(data) {
		token, rest := stringIn(data)
		rest = skip(rest)
		n := bytes.IndexAny(rest, ",} \t\r\n")
		id, err := strconv.Atoi(string(rest[:n]))
		if err != nil {
			return errors.Errorf("vocab: %.64q: id: got %.64q, want a whole number", token, rest[:n])
		}
		*v, data = append(*v, entry{token, id}), rest[n:]
	}
	return nil
}

// MarshalJSON writes the object.
func (v vocabulary) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range v {
		key, err := json.Marshal(e.token)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(strconv.AppendInt(nil, int64(e.id), 10))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// tokens returns the tokens of v in the order of their ids, which must be 0, 1, 2 … with a limited number of holes, for
// which it returns "".
func (v vocabulary) tokens(holes int) ([]string, error) {
	if len(v) == 0 || len(v) > math.MaxInt32-holes {
		return nil, errors.Errorf("vocab: got %d tokens, want 1 or more", len(v))
	}
	n := 0
	for _, e := range v {
		if e.id < 0 || e.id >= len(v)+holes {
			return nil, errors.Errorf("vocab: %.64q: id: got %d, want 0 … %d of %d tokens",
				e.token, e.id, len(v)+holes-1, len(v))
		}
		n = max(n, e.id+1)
	}
	list, used := make([]string, n), make([]bool, n)
	for _, e := range v {
		if used[e.id] {
			return nil, errors.Errorf("vocab: id %d: got %.64q and %.64q, want one token", e.id, list[e.id], e.token)
		}
		list[e.id], used[e.id] = e.token, true
	}
	return list, nil
}
