package nn_test

import (
	"os"
	"strings"
	"testing"
)

// A complete program of a user, from the data to the trained model, has at most 60 lines, including imports and
// comments.
func TestProgramsAreShort(t *testing.T) {
	for _, name := range []string{"example_classifier_test.go", "example_regression_test.go"} {
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), "\n"); err != nil || n > 60 || n < 30 {
			t.Errorf("%s: got %d lines and %v, want 30 to 60", name, n, err)
		}
	}
}
