package field

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// EachKey calls visit for each key of the single JSON object in data, and stops at the first error.
func EachKey(data []byte, visit func(key string, value json.RawMessage) error) error {
	if !utf8.Valid(data) {
		return errors.New("config: not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	open, err := d.Token()
	if err != nil {
		return errors.Wrap(fault(data, err), "config: want a JSON object")
	}
	if open != json.Delim('{') {
		return errors.Errorf("config: got %s, want a JSON object", Clip(string(data)))
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return errors.Wrap(fault(data, err), "config")
		}
		key, _ := token.(string) // the decoder accepts nothing else here
		if seen[key] {
			return errors.Errorf("%s: given twice", Clip(key))
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return errors.Wrap(fault(data, err), Clip(key))
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errors.Wrap(fault(data, err), "config")
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.Errorf("config: something follows the object's end at byte %d", d.InputOffset())
	}
	return nil
}

// unknown returns an error that names the key and the nearest field, or all fields.
func (l List) unknown(key string) error {
	return errors.Errorf("%s: unknown field; %s", Clip(key), l.Nearest(key))
}

// Nearest suggests the field whose name is nearest to key, or lists all fields.
func (l List) Nearest(key string) string {
	near := spelling.Meant(Clip(strings.ToLower(key)), l.Names())
	if near != "" {
		return "did you mean " + near + "?"
	}
	return "the known are " + strings.Join(l.Names(), " ")
}
