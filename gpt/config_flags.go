package gpt

import (
	"flag"
	"strings"
)

// Flags registers every field of c with fs under its JSON name, with c's
// present value as the default. To let flags override a file whatever their
// order, parse, read the file into c, and parse the same arguments again.
func (c *Config) Flags(fs *flag.FlagSet) {
	for _, f := range c.fields() {
		switch p := f.value.(type) {
		case *int:
			fs.IntVar(p, f.name, *p, f.help)
		case *uint64:
			fs.Uint64Var(p, f.name, *p, f.help)
		case *float64:
			fs.Float64Var(p, f.name, *p, f.help)
		case *bool:
			fs.BoolVar(p, f.name, *p, f.help)
		case *string:
			fs.StringVar(p, f.name, *p, f.help)
		case *[]string:
			fs.Var(list{p}, f.name, f.help)
		}
	}
}

// list is the flag.Value of a list of names with commas between them.
type list struct{ names *[]string }

// String returns the names; package flag also calls it on the zero list.
func (l list) String() string {
	if l.names == nil {
		return ""
	}
	return strings.Join(*l.names, ",")
}

// Set replaces the names; an empty text is the empty list.
func (l list) Set(text string) error {
	*l.names = nil
	if text != "" {
		*l.names = strings.Split(text, ",")
	}
	return nil
}
