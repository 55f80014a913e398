package field

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// maxBytes is the size of the longest text of a configuration.
const maxBytes = 1 << 20

// Read returns the text of a configuration, at most 1 MiB.
func Read(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, errors.New("config: the reader is nil")
	}
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, errors.Wrap(err, "config")
	}
	if len(data) > maxBytes {
		return nil, errors.Errorf("config: longer than %d bytes", maxBytes)
	}
	return data, nil
}

// Write writes a configuration as indented JSON.
func Write(w io.Writer, config json.Marshaler) error {
	if w == nil {
		return errors.New("config: the writer is nil")
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return errors.Wrap(err, "config")
	}
	_, err = w.Write(append(data, '\n'))
	return errors.Wrap(err, "config")
}

// MarshalJSON returns every field in the order of the list. The only error is a NaN or an infinity, which JSON cannot
// represent.
func (l List) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, f := range l {
		if slices.Contains(f.optional, f.String()) {
			continue
		}
		value, err := f.marshal()
		if err != nil {
			return nil, errors.Wrapf(err, "%s: got %s", f.Name, Clip(f.String()))
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.Name + `":`)
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (f Field) marshal() ([]byte, error) {
	switch p := f.value.(type) {
	case Int:
		return json.Marshal(p.Get())
	case Word:
		return json.Marshal(p.Get())
	case *[]string:
		if *p == nil {
			return []byte("[]"), nil // rather than null
		}
	}
	return json.Marshal(f.value)
}

// Decode sets the fields that the JSON object data names. It is stricter than encoding/json: a key in another case, an
// unknown or repeated key, null, a number that does not fit, invalid UTF-8, and anything after the object are errors
// that name the key. former, which is optional, reads keys that the list lacks, such as older programs' keys, and
// reports whether it recognised them. After an error some fields may be set.
func (l List) Decode(data []byte, former func(key string, value json.RawMessage) (known bool, err error)) error {
	return EachKey(data, func(key string, value json.RawMessage) error {
		if f, ok := l.Find(key); ok {
			return f.Decode(value)
		}
		if former != nil {
			if known, err := former(key, value); known {
				return err
			}
		}
		return l.unknown(key)
	})
}

// Decode sets the field from JSON. Its error describes the allowed values.
func (f Field) Decode(value json.RawMessage) error {
	into, want := f.value, f.domain.want
	switch p := f.value.(type) {
	case *json.RawMessage:
		*p = slices.Clone(value)
		return nil
	case Int:
		into, want = new(int), cmp.Or(want, "a whole number")
	case Word:
		into, want = new(string), cmp.Or(want, "a string")
	case *float64:
		want = cmp.Or(want, "a number")
	case *bool:
		want = "true or false"
	case *string:
		want = cmp.Or(want, "a string")
	case *[]string:
		want = "a list of strings"
		*p = nil // do not write through a slice shared with another configuration
	}
	if string(value) == "null" || json.Unmarshal(value, into) != nil {
		return errors.Errorf("%s: got %s, want %s", f.Name, Clip(string(value)), want)
	}
	switch p := f.value.(type) {
	case Int:
		p.Read(*into.(*int))
	case Word:
		p.Set(*into.(*string))
	case *[]string:
		if len(*p) == 0 {
			*p = nil
		}
	}
	return nil
}

// Parse sets the field to the value that String returns as text.
func (f Field) Parse(text string) error {
	value := json.RawMessage(text)
	switch f.value.(type) {
	case *string, Word:
		value, _ = json.Marshal(text)
	case *[]string:
		value, _ = json.Marshal(strings.FieldsFunc(text, func(c rune) bool { return c == ',' }))
	}
	return f.Decode(value)
}
