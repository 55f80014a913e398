package exercises

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/book/chapters"
	"github.com/pedestrian-ml/pedestrian/verify/notation"
)

// mark marks the functions of a chapter. A hole is skipped.
func mark(t *testing.T, number int, list answers) {
	t.Helper()
	for _, e := range exercisesOf(t, number) {
		t.Run(e.Name, func(t *testing.T) {
			f, ok := list[e.Name]
			if !ok {
				t.Fatalf("chapter%02d.go has no function for the exercise %s", number, e.Name)
			}
			v := e.MarkFunc(f)
			if errors.Is(f(nil).Err, errHole) {
				t.Skipf("a hole for the reader, in chapter%02d.go: %s Find %s.", number, e.Text, e.Find)
			}
			if !v.Right {
				t.Errorf("%s %s", v.Message, v.Hint)
			}
		})
	}
}

// exercisesOf returns the exercises of a chapter.
func exercisesOf(t *testing.T, number int) []notation.Exercise {
	t.Helper()
	list, err := chapters.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Number == number {
			return c.Exercises
		}
	}
	t.Fatalf("there is no chapter %d", number)
	return nil
}

// TestSolutions checks for every exercise that a hole is not right, that its answer in the book is, and the same
// formula in Go, and that each typical wrong answer is wrong and gets its hint.
func TestSolutions(t *testing.T) {
	list, err := chapters.Read()
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(solutions)
	maps.Copy(all, lateSolutions)
	seen := map[string]bool{}
	for _, c := range list {
		for _, e := range c.Exercises {
			name := fmt.Sprintf("chapter %d, %s", c.Number, e.Name)
			if seen[e.Name] {
				t.Errorf("%s: the name occurs twice", name)
			}
			seen[e.Name] = true
			if v := e.MarkFunc(func(Named) Matrix { return hole }); v.Right {
				t.Errorf("%s: a hole is right", name)
			}
			if v := e.Mark(e.Answer.Text); !v.Right {
				t.Errorf("%s: the answer: %s %s", name, v.Message, v.Hint)
			}
			if f, ok := all[e.Name]; !ok {
				t.Errorf("%s: no solution", name)
			} else if v := e.MarkFunc(f); !v.Right {
				t.Errorf("%s: the solution: %s %s", name, v.Message, v.Hint)
			}
			if len(e.Wrong) < 3 {
				t.Errorf("%s: got %d typical wrong answers, want 3", name, len(e.Wrong))
			}
			for _, w := range e.Wrong {
				if v := e.Mark(w.Formula.Text); v.Right || !strings.Contains(v.Hint, w.Hint) {
					t.Errorf("%s: %s: got %q, hint %q, want it wrong with the hint %q", name, w.Formula.Text, v.Message,
						v.Hint, w.Hint)
				}
			}
		}
	}
	for name := range all {
		if !seen[name] {
			t.Errorf("a solution of %s, which is no exercise", name)
		}
	}
}
