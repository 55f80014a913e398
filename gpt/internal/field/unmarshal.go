package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// Unmarshal is json.Unmarshal for a complete file. Its errors address the author of the file: they name the place, the
// key, and the actual and the required value, such as "line 3, column 9: model.vocab: got a string, want an object".
func Unmarshal(data []byte, v any) error {
	return located(json.Unmarshal(data, v), data)
}

// UnmarshalStrict is Unmarshal, but refuses unknown keys.
func UnmarshalStrict(data []byte, v any) error {
	if err := valid(data); err != nil { // a Decoder does not read what follows the value
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return located(d.Decode(v), data)
}

// UnmarshalPart is Unmarshal for a value inside a file, whose errors have no place.
func UnmarshalPart(data []byte, v any) error {
	return plain(json.Unmarshal(data, v))
}

// valid returns an error with its place if data is not one JSON value.
func valid(data []byte) error {
	if json.Valid(data) {
		return nil
	}
	return located(json.Unmarshal(data, new(any)), data)
}

// fault returns the error of valid, which has a place, or err if there is none.
func fault(data []byte, err error) error {
	if place := valid(data); place != nil {
		return place
	}
	return plain(err)
}

// located returns plain(err) with the place of an error of encoding/json.
func located(err error, data []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && syntax.Offset > 0:
		return errors.WithMessage(plain(err), place(data, syntax.Offset))
	case errors.As(err, &kind) && kind.Offset > 0:
		return errors.WithMessage(plain(err), place(data, kind.Offset))
	}
	return plain(err)
}

// place returns the line and column, counted from 1, of the last of the first n bytes.
func place(data []byte, n int64) string {
	read := data[:min(n, int64(len(data)))]
	start := bytes.LastIndexByte(read[:max(len(read)-1, 0)], '\n') + 1
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(read[:start], []byte("\n")), len(read)-start)
}

// plain returns an error of encoding/json without the names of Go's types.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		message := "got " + gotten(kind.Value) + ", want " + wanted(kind.Type)
		if kind.Field != "" {
			message = Clip(kind.Field) + ": " + message
		}
		return errors.New(message)
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: ") { // such as an unknown field
		err = errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return Said(err)
}

// gotten returns the plain name of a JSON value from its name in an error of encoding/json.
func gotten(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return Clip(number)
	}
	return "a " + Clip(value)
}

// wanted returns the plain name of the JSON from which a value of a Go type is read.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list" + map[string]string{
			"a string":       " of strings",
			"a whole number": " of whole numbers",
			"a number":       " of numbers",
			"an object":      " of objects",
		}[wanted(t.Elem())]
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "a whole number"
}
