package gpt

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/pkg/errors"
)

// maxConfigBytes bounds the text of a configuration.
const maxConfigBytes = 1 << 20

// ReadConfig reads one JSON object from r and returns base with the object's
// keys in place of base's values. It is stricter than encoding/json: a key in
// another case, an unknown or repeated key, null, a number that does not fit,
// invalid UTF-8, and anything after the object are errors that name the key.
// The result is not yet validated.
func ReadConfig(r io.Reader, base Config) (Config, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxConfigBytes+1))
	if err != nil {
		return Config{}, errors.Wrap(err, "config")
	}
	if len(data) > maxConfigBytes {
		return Config{}, errors.Errorf("config: longer than %d bytes", maxConfigBytes)
	}
	if err := base.UnmarshalJSON(data); err != nil {
		return Config{}, err
	}
	return base, nil
}

// WriteConfig writes c to w as indented JSON that [ReadConfig] reads back.
func WriteConfig(w io.Writer, c Config) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return errors.Wrap(err, "config")
	}
	_, err = w.Write(append(data, '\n'))
	return errors.Wrap(err, "config")
}

// MarshalJSON returns every field, always in the same order. Its one error is
// a NaN or an infinity, which JSON cannot write.
func (c Config) MarshalJSON() ([]byte, error) { return marshalFields(c.fields()) }

// UnmarshalJSON sets the fields that data names, by the rules of [ReadConfig].
// After an error c is as it was.
func (c *Config) UnmarshalJSON(data []byte) error {
	next := *c
	fields := next.fields()
	err := eachKey(data, func(key string, value json.RawMessage) error {
		for _, f := range fields {
			if f.name == key {
				return f.decode(value)
			}
		}
		if key == "tie" { // what head was called before it had names
			return next.decodeTie(value)
		}
		return unknownKey(key, fields)
	})
	if err == nil {
		*c = next
	}
	return err
}

func (c *Config) decodeTie(value json.RawMessage) error {
	var tie bool
	f := field{name: "tie", value: &tie}
	if err := f.decode(value); err != nil {
		return err
	}
	if c.Head = "linear"; tie {
		c.Head = "tied"
	}
	return nil
}

func marshalFields(fields []field) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if list, ok := f.value.(*[]string); ok && *list == nil {
			f.value = []string{} // [] rather than null
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, errors.Wrapf(err, "%s: got %s", f.name, f)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.name + `":`)
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// decode sets the field from JSON, or says what it wants instead.
func (f field) decode(value json.RawMessage) error {
	want := f.domain.want
	switch p := f.value.(type) {
	case *bool:
		want = "true or false"
	case *string:
		want = usual(want, "a string")
	case *[]string:
		want = "a list of strings"
		*p = nil // not to write through a slice shared with another Config
	}
	if string(value) == "null" || json.Unmarshal(value, f.value) != nil {
		return errors.Errorf("%s: got %s, want %s", f.name, clip(string(value)), want)
	}
	if list, ok := f.value.(*[]string); ok && len(*list) == 0 {
		*list = nil
	}
	return nil
}
