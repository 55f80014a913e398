package bpe

import (
	"slices"
	"testing"
)

// Merges are read in both forms, a vocabulary replaces the one before it, and entries counts the entries of a list or
// object without those nested in them.
func TestLists(t *testing.T) {
	for data, want := range map[string]int{
		`[]`: 1, `{}`: 1, `["a"]`: 1, `["a","b"]`: 2, ` ["a,b", "\\",",]\"" ]`: 3, `[["a","b"],["c",","],[]]`: 3,
		`{"a,":[1,2],"b\"":{"c":1,"d":2},"e":3}`: 3,
	} {
		if got := entries([]byte(data)); got != want {
			t.Errorf("%s: got %d entries, want %d", data, got, want)
		}
	}
	var l mergeList
	want := mergeList{{"a", "b"}, {"\"", "\\"}, {"c", "é"}, {"d", "]"}, {"e", "f"}}
	if err := l.UnmarshalJSON([]byte(`[ "a b" , [ "\"" , "\\" ],["c","\u00e9"],"d ]",["e","f"]]`)); err != nil ||
		!slices.Equal(l, want) {
		t.Errorf("got %q, %v, want %q", l, err, want)
	}
	if err := l.UnmarshalJSON([]byte("null")); err != nil || !slices.Equal(l, want) {
		t.Errorf("null: got %q, %v, want %q", l, err, want)
	}
	v := vocabulary{{"a", 3}}
	if err := v.UnmarshalJSON([]byte(`{"b":1,"a":0}`)); err != nil || !slices.Equal(v, vocabulary{{"b", 1}, {"a", 0}}) {
		t.Errorf("got %v, %v, want b and a alone", v, err)
	}
	for data, want := range map[string]string{
		`{}`: `merges: got "{}", want a list`, `[1]`: `merges: 0: got "1]", want "left right" or ["left", "right"]`,
		`["a b",[]]`: "merges: 1: got 0 tokens, want 2", `[["a","b","c"]]`: "merges: 0: got 3 tokens, want 2",
		`[["a"]]`:         "merges: 0: got 1 tokens, want 2",
		`["a b",["a",1]]`: `merges: 1: got "1]]", want "left right" or ["left", "right"]`,
		`[["a","b",1]]`:   `merges: 0: got "1]]", want "left right" or ["left", "right"]`,
		`["ab"]`:          `merges: 0: got "ab", want two tokens with a space between them`,
	} {
		if err := l.UnmarshalJSON([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
}
