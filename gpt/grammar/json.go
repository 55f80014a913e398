package grammar

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
)

// typeOf returns the type of a value of JSON.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// quoted returns a text in quotes.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a text can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// encoded returns a value as a text of JSON.
func encoded(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(v)
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, encoded(item))
		}
		return "[" + strings.Join(list, ",") + "]"
	case field.Object:
		var list []string
		for _, m := range v {
			list = append(list, quoted(m.Name)+":"+encoded(m.Value))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	return fmt.Sprint(v) // a number or a bool
}

// shown returns the beginning of a value.
func shown(v any) string {
	s := encoded(v)
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
