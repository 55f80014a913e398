package field

import (
	"flag"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Flags registers every field with fs under its name, with its present value as the default.
func (l List) Flags(fs *flag.FlagSet) {
	for _, f := range l {
		switch p := f.value.(type) {
		case *int:
			fs.IntVar(p, f.Name, *p, f.Help)
		case Int:
			fs.Var(integer{p}, f.Name, f.Help)
		case Word:
			fs.Var(word{p}, f.Name, f.Help)
		case *uint64:
			fs.Uint64Var(p, f.Name, *p, f.Help)
		case *float64:
			fs.Float64Var(p, f.Name, *p, f.Help)
		case *bool:
			fs.BoolVar(p, f.Name, *p, f.Help)
		case *string:
			fs.StringVar(p, f.Name, *p, f.Help)
		case *[]string:
			fs.Var(names{p}, f.Name, f.Help)
		}
	}
}

// integer is the flag.Value of an Int.
type integer struct{ Int }

// String returns the number; package flag also calls it on the zero value.
func (v integer) String() string {
	if v.Int == nil {
		return "0"
	}
	return strconv.Itoa(v.Get())
}

// Set replaces the number.
func (v integer) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err != nil {
		return errors.New("parse error")
	}
	v.Int.Set(int(n))
	return nil
}

// word is the flag.Value of a Word.
type word struct{ Word }

// String returns the text; package flag also calls it on the zero value.
func (v word) String() string {
	if v.Word == nil {
		return ""
	}
	return v.Get()
}

// Set replaces the text.
func (v word) Set(text string) error {
	v.Word.Set(text)
	return nil
}

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
