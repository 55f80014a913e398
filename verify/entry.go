package verify

import "fmt"

// Entry is a layer, an algorithm or a claim of the papers. Its Cases certify it, or the named tests if it has no
// gradient or spans more than one layer.
type Entry struct {
	ID     string
	What   string
	Source string // paper and equations
	Tests  []string
	Cases  []Case
}

// String returns the entry in one line.
func (e Entry) String() string { return fmt.Sprintf("%s %s: %s", e.ID, e.What, e.Source) }
