package gpt

import (
	"encoding/json"
	"flag"
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// ReadConfig reads one JSON object from r and returns base with the object's keys in place of base's values. It is
// stricter than encoding/json: a key in another case, an unknown or repeated key, null, a number that does not fit,
// invalid UTF-8, and anything after the object are errors that name the key. ReadConfig does not validate the result.
func ReadConfig(r io.Reader, base Config) (Config, error) {
	data, err := field.Read(r)
	if err != nil {
		return Config{}, err
	}
	if err := base.UnmarshalJSON(data); err != nil {
		return Config{}, err
	}
	return base, nil
}

// WriteConfig writes c to w as indented JSON that [ReadConfig] reads back.
func WriteConfig(w io.Writer, c Config) error { return field.Write(w, c) }

// MarshalJSON returns every field, always in the same order. The only error is a NaN or an infinity, which JSON cannot
// represent.
func (c Config) MarshalJSON() ([]byte, error) { return c.fields().MarshalJSON() }

// UnmarshalJSON sets the fields that data names, by the rules of [ReadConfig]. After an error c is unchanged.
func (c *Config) UnmarshalJSON(data []byte) error {
	if c == nil {
		return errors.New("config: got nil, want a Config to read into")
	}
	next := *c
	if err := next.fields().Decode(data, next.decodeTie); err != nil {
		return err
	}
	*c = next
	return nil
}

// decodeTie reads "tie", the earlier key for the head.
func (c *Config) decodeTie(key string, value json.RawMessage) (known bool, err error) {
	if key != "tie" {
		return false, nil
	}
	var tie bool
	if err := field.New(key, &tie, field.Any(), "").Decode(value); err != nil {
		return true, err
	}
	if c.Head = "linear"; tie {
		c.Head = "tied"
	}
	return true, nil
}

// Flags registers every field of c with fs under its JSON name, with c's present value as the default. To let flags
// override a file regardless of their order, parse the arguments, read the file into c, and parse the same arguments
// again.
func (c *Config) Flags(fs *flag.FlagSet) {
	if c == nil || fs == nil {
		return
	}
	c.fields().Flags(fs)
}
