// Package field describes a configuration as a table with one row for each field. The table provides the JSON, the
// flags and their help, the checks of ranges, and the differences from a saved configuration.
package field

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Field is one row of the table.
type Field struct {
	Name, Help string

	value    any // *int, *uint64, *float64, *bool, *string, *[]string or *json.RawMessage, or an Int or a Word
	domain   Domain
	free     bool
	optional []string // values that the JSON leaves out
	topic    string   // of a program's help
}

// Int is a whole number that is not stored in a variable. A flag calls Set, and JSON calls Read.
type Int interface {
	Get() int
	Set(n int)
	Read(n int)
}

// Word is a string that is not stored in a variable.
type Word interface {
	Get() string
	Set(s string)
}

// New returns a field whose value is a pointer into the configuration, to an int, uint64, float64, bool, string, list
// of strings or json.RawMessage, which may be any JSON value, or an Int or a Word.
func New(name string, value any, domain Domain, help string) Field {
	return Field{Name: name, Help: help, value: value, domain: domain}
}

// Free is New for a field that may differ when a run is resumed, because it does not change what the steps compute.
func Free(name string, value any, domain Domain, help string) Field {
	return Field{Name: name, Help: help, value: value, domain: domain, free: true}
}

// Optional returns f as a field that the JSON leaves out if it is empty, 0 or one of defaults.
func (f Field) Optional(defaults ...string) Field {
	f.optional = append([]string{"", "0"}, defaults...)
	return f
}

// String returns the field's value as a flag would write it.
func (f Field) String() string {
	switch p := f.value.(type) {
	case *int:
		return strconv.Itoa(*p)
	case Int:
		return strconv.Itoa(p.Get())
	case Word:
		return p.Get()
	case *uint64:
		return strconv.FormatUint(*p, 10)
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *bool:
		return strconv.FormatBool(*p)
	case *string:
		return *p
	case *[]string:
		return strings.Join(*p, ",")
	case *json.RawMessage:
		return string(*p)
	}
	return ""
}

// Check returns an error that names the field, its value and its domain if the value is outside the domain.
func (f Field) Check() error {
	if f.valid() {
		return nil
	}
	hint := ""
	if f.domain.hint != nil {
		hint = f.domain.hint(f.String())
	}
	return errors.Errorf("%s: got %s, want %s%s", f.Name, Clip(f.String()), f.domain.want, hint)
}

func (f Field) valid() bool {
	switch p := f.value.(type) {
	case *int:
		return f.domain.has == nil || f.domain.has(float64(*p))
	case Int:
		return f.domain.has == nil || f.domain.has(float64(p.Get()))
	case *float64:
		return f.domain.has == nil || f.domain.has(*p)
	case *string: // empty means the default
		return f.domain.reads == nil || *p == "" || f.domain.reads(*p)
	case Word:
		return f.domain.reads == nil || p.Get() == "" || f.domain.reads(p.Get())
	}
	return true
}
