package field

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Values keep the order of their keys, and wrong texts are errors.
func TestOrdered(t *testing.T) {
	got, err := Ordered([]byte(`{"b": [1.50, null, true, "x", {}], "a": {"c": []}}`), 3)
	want := Object{
		{"b", []any{json.Number("1.50"), nil, true, "x", Object{}}}, {"a", Object{{"c", []any{}}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v and %v, want %#v", got, err, want)
	}
	if o := got.(Object); !o.Has("a") || o.Has("c") || o.Get("c") != nil || o.Get("b") == nil {
		t.Errorf("got the keys of %v", o)
	}
	for text, want := range map[string]string{
		``: "unexpected EOF", `{`: "unexpected EOF", `[1`: "unexpected EOF", `{} {}`: "more than one value", `[[[[]]]]`: "more than 3",
		`{"a":1,"a":2}`: `"a" is given twice`, `[1,]`: "invalid", `nul`: "", `{"a":1}]`: "more than one value",
	} {
		if _, err := Ordered([]byte(text), 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
}
