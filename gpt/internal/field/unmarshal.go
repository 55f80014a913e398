package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// Unmarshal is json.Unmarshal of a whole file. Its errors are in the words of the file's author: the place, the key,
// and what is there and should be, such as "line 3, column 9: model.vocab: got a string, want an object".
func Unmarshal(data []byte, v any) error {
	return located(json.Unmarshal(data, v), data)
}

// UnmarshalStrict is Unmarshal that refuses unknown keys.
func UnmarshalStrict(data []byte, v any) error {
	if err := valid(data); err != nil { // a Decoder does not look at what follows the value
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return located(d.Decode(v), data)
}

// UnmarshalPart is Unmarshal of a value inside a file, whose place there is not known.
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

// fault is valid's error, which has its place, or else err.
func fault(data []byte, err error) error {
	if place := valid(data); place != nil {
		return place
	}
	return plain(err)
}

// located is plain with the place of an error of encoding/json.
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

// place is where the last of the first n bytes stands, lines and bytes counted from 1.
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

// gotten returns a JSON value as encoding/json calls it in its errors, in plain words.
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

// wanted returns the JSON that a value of a type of Go is read from.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list" + map[string]string{"a string": " of strings", "a whole number": " of whole numbers", "a number": " of numbers",
			"an object": " of objects"}[wanted(t.Elem())]
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
