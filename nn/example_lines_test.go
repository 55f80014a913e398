package nn_test

import (
	"os"
	"strings"
	"testing"
)

// A whole program of a user's, from its data to what it has learned, is 60 lines at most, imports and comments among
// them.
func TestProgramsAreShort(t *testing.T) {
	for _, name := range []string{"example_classifier_test.go", "example_regression_test.go"} {
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), "\n"); err != nil || n > 60 || n < 30 {
			t.Errorf("%s: got %d lines and %v, want 30 to 60", name, n, err)
		}
	}
}
