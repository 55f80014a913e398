// Package flags says what package flag leaves out of its errors: what the value of a flag must be.
package flags

import (
	"flag"
	"regexp"
	"time"

	"github.com/pkg/errors"
)

// Set sets a flag. Its error names the flag, the value and what it must be.
func Set(fs *flag.FlagSet, name, value string) error {
	err := fs.Set(name, value)
	if f := fs.Lookup(name); err != nil && f != nil && silent(err.Error()) && want(f) != "" {
		return errors.Errorf("%s: got %q, want %s", name, value, want(f))
	}
	return errors.Wrapf(err, "%s: got %q", name, value)
}

// invalid matches the error of a value that cannot be read: the value as Go quotes it, the flag, and the reason.
var invalid = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-(.*): ([^:]*)$`)

// Explain returns an error of Parse with what the value of the flag must be.
func Explain(fs *flag.FlagSet, err error) error {
	if err == nil {
		return nil
	}
	m := invalid.FindStringSubmatch(err.Error())
	if m == nil || !silent(m[3]) {
		return err
	}
	if f := fs.Lookup(m[2]); f != nil && want(f) != "" {
		return errors.Errorf("-%s: got %s, want %s", m[2], m[1], want(f))
	}
	return err
}

// silent reports whether a reason does not say what is wanted.
func silent(reason string) bool { return reason == "parse error" || reason == "value out of range" }

// want describes the values of a flag, or returns "" for one of an unknown kind.
func want(f *flag.Flag) string {
	if described, ok := f.Value.(interface{ Want() string }); ok && described.Want() != "" {
		return described.Want()
	}
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return ""
	}
	switch value.Get().(type) {
	case bool:
		return "true or false"
	case int, int64:
		return "a whole number such as 100"
	case uint, uint64:
		return "a whole number, 0 or more, such as 100"
	case float64:
		return "a number such as 0.001"
	case time.Duration:
		return "a time such as 90s or 1h30m"
	}
	return ""
}
