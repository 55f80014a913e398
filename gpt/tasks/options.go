package tasks

import (
	"math/rand/v2"

	"github.com/pkg/errors"
)

// options checks the options of a task and keeps the first error.
type options struct {
	task string
	err  error
}

// size sets a value of 0 to its default, and requires least to most. After an error the value is one of these, so that
// the others can be checked.
func (o *options) size(name string, value *int, otherwise, least, most int) {
	if *value == 0 {
		*value = otherwise
	}
	if got := *value; got < least || got > most {
		o.failf("%s: got %d, want %d to %d", name, got, least, most)
		*value = max(least, min(got, most))
	}
}

// share sets a value of 0 to its default, and requires more than 0 and at most 1.
func (o *options) share(name string, value *float64, otherwise float64) {
	if *value == 0 {
		*value = otherwise
	}
	if got := *value; !(got > 0 && got <= 1) {
		o.failf("%s: got %g, want more than 0 and at most 1", name, got)
		*value = otherwise
	}
}

func (o *options) failf(format string, args ...any) {
	if o.err == nil {
		o.err = errors.Errorf("tasks: "+o.task+": "+format, args...)
	}
}

// rule returns the rule of a task whose answers are certain and each one of a number of ids.
func (o *options) rule(source string, vocabulary, block, ids int, draw func(*rand.Rand, bool) row) (rule, error) {
	f := Facts{o.task, source, vocabulary, block, 1 / float64(ids), Optimum{Accuracy: 1}}
	return rule{Facts: f, draw: draw}, o.err
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}
