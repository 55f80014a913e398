package verify

import "fmt"

// Entry is a layer, an algorithm or a claim of the papers. It is certified by its Cases, or, where there is no gradient
// or more than a layer, by the named tests.
type Entry struct {
	ID     string
	What   string
	Source string // paper and equations
	Tests  []string
	Cases  []Case
}

// String is one line.
func (e Entry) String() string { return fmt.Sprintf("%s %s: %s", e.ID, e.What, e.Source) }
