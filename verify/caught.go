package verify

import "github.com/pkg/errors"

// caught is deferred where formulas and layers of the user's work: a panic in them is an error.
func caught(err *error, format string, args ...any) {
	if r := recover(); r != nil {
		*err = errors.Wrapf(errors.Errorf("panic: %v", r), format, args...)
	}
}
