package field

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/pkg/errors"
)

// Object is an object of JSON, in the order of its text.
type Object []Member

// Member is a key of an object with its value.
type Member struct {
	Name  string
	Value any
}

// Has reports whether the object has a key.
func (o Object) Has(name string) bool {
	for _, m := range o {
		if m.Name == name {
			return true
		}
	}
	return false
}

// Get returns the value of a key, or nil.
func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Ordered returns a value of JSON: nil, a bool, a json.Number, a string, []any or Object. It returns an error for more
// than the given number of objects and lists inside each other, and for a key that is given twice.
func Ordered(data []byte, nesting int) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := ordered(d, nesting, nesting)
	if err == nil {
		if _, after := d.Token(); after != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

// ordered returns the next value, in which at most nesting objects and lists are inside each other.
func ordered(d *json.Decoder, nesting, deepest int) (any, error) {
	t, err := d.Token()
	open, container := t.(json.Delim)
	if err != nil || !container {
		return t, err
	}
	if nesting == 0 {
		return nil, errors.Errorf("more than %d objects and lists inside each other", deepest)
	}
	list, object, names := []any{}, Object{}, map[string]bool{}
	for d.More() {
		var m Member
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			if m.Name, _ = name.(string); names[m.Name] {
				return nil, errors.Errorf("%.64q is given twice", m.Name)
			}
			names[m.Name] = true
		}
		if m.Value, err = ordered(d, nesting-1, deepest); err != nil {
			return nil, err
		}
		if open == '{' {
			object = append(object, m)
		} else {
			list = append(list, m.Value)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if open == '{' {
		return object, nil
	}
	return list, nil
}
