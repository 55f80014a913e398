package field

import (
	"flag"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Flags registers every field with fs under its name, with its present value as the default. The values of the flags
// are Described.
func (l List) Flags(fs *flag.FlagSet) {
	for _, f := range l {
		// A set of one flag, because package flag has no names for the values of its own kinds.
		plain := flag.NewFlagSet("", flag.ContinueOnError)
		switch p := f.value.(type) {
		case *int:
			plain.IntVar(p, f.Name, *p, f.Help)
		case Int:
			plain.Var(integer{p}, f.Name, f.Help)
		case Word:
			plain.Var(word{p}, f.Name, f.Help)
		case *uint64:
			plain.Uint64Var(p, f.Name, *p, f.Help)
		case *float64:
			plain.Float64Var(p, f.Name, *p, f.Help)
		case *bool:
			plain.BoolVar(p, f.Name, *p, f.Help)
		case *string:
			plain.StringVar(p, f.Name, *p, f.Help)
		case *[]string:
			plain.Var(names{p}, f.Name, f.Help)
		default:
			continue
		}
		fs.Var(Described{plain.Lookup(f.Name).Value.(flag.Getter), f}, f.Name, f.Help)
	}
}

// Described is the value of a field's flag, which knows its topic in a program's help and the values that it may have.
type Described struct {
	flag.Getter
	field Field
}

// String returns the value; package flag also calls it on the zero value.
func (d Described) String() string {
	if d.Getter == nil {
		return ""
	}
	return d.Getter.String()
}

// IsBoolFlag reports whether the flag may be given without a value.
func (d Described) IsBoolFlag() bool {
	b, ok := d.Getter.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// Topic returns the topic of the field.
func (d Described) Topic() string { return d.field.topic }

// Want says which values the field may have, or returns "" if it may have all values of its type.
func (d Described) Want() string { return d.field.domain.want }

// integer is the flag.Value of an Int.
type integer struct{ number Int }

// String returns the number; package flag also calls it on the zero value.
func (v integer) String() string {
	if v.number == nil {
		return "0"
	}
	return strconv.Itoa(v.number.Get())
}

// Set replaces the number.
func (v integer) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err != nil {
		return errors.New("parse error")
	}
	v.number.Set(int(n))
	return nil
}

// Get returns the number.
func (v integer) Get() any { return v.number.Get() }

// word is the flag.Value of a Word.
type word struct{ text Word }

// String returns the text; package flag also calls it on the zero value.
func (v word) String() string {
	if v.text == nil {
		return ""
	}
	return v.text.Get()
}

// Set replaces the text.
func (v word) Set(text string) error {
	v.text.Set(text)
	return nil
}

// Get returns the text.
func (v word) Get() any { return v.text.Get() }

// names is the flag.Value of a list of names with commas between them.
type names struct{ list *[]string }

// String returns the names; package flag also calls it on the zero value.
func (v names) String() string {
	if v.list == nil {
		return ""
	}
	return strings.Join(*v.list, ",")
}

// Set replaces the names; an empty text is the empty list.
func (v names) Set(text string) error {
	*v.list = nil
	if text != "" {
		*v.list = strings.Split(text, ",")
	}
	return nil
}

// Get returns the names.
func (v names) Get() any { return *v.list }
