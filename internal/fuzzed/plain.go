package fuzzed

import (
	"strings"
	"testing"
)

// Plain fails if the message of an error contains names of Go's types or of encoding/json, or repeats a part of its
// path.
func Plain(t *testing.T, what string, err error) {
	t.Helper()
	for _, foreign := range []string{"Go value", "Go struct", "json: ", "reflect"} {
		if strings.Contains(strings.ReplaceAll(err.Error(), ".json: ", ": "), foreign) {
			t.Errorf("%s: the message has %q in it: %v", what, foreign, err)
		}
	}
	parts := strings.Split(err.Error(), ": ")
	for i, part := range parts[1:] {
		if part == parts[i] {
			t.Errorf("%s: the message says %q twice: %v", what, part, err)
		}
	}
}
