package policy

import (
	"strings"
	"testing"
)

// TestWall checks that formulas by hand and their exact numbers use only the standard library, so that a mistake in the
// library cannot hide behind the same mistake there, and that only verify uses them, and the book, which explains them.
func TestWall(t *testing.T) {
	const hand, numbers = "verify/hand", "verify/internal/exact"
	files := 0
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		if f.dir == hand {
			files++
		}
		for _, path := range f.imports {
			first, _, _ := strings.Cut(path, "/")
			if (inTree(f.dir, hand) || f.dir == numbers) && strings.Contains(first, ".") && path != module+numbers {
				t.Errorf("%s imports %s: formulas by hand may import the standard library alone", f.path, path)
			}
			if inTree(path, module+hand) && f.top() != "verify" && !inTree(f.dir, "examples/book") {
				t.Errorf("%s imports %s: only verify, examples/book and tests may", f.path, path)
			}
		}
	}
	if files < 20 {
		t.Errorf("%d files of formulas by hand in %s, at least 20 are there", files, hand)
	}
}
