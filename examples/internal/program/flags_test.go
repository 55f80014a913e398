package program

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"
)

// grouped is a program with two groups of flags, of a configuration's three without one.
func grouped(out io.Writer) (fs *flag.FlagSet, n, m *int) {
	fs, n, m = Flags("walk", out), new(int), new(int)
	Group(fs, "The way", func(fs *flag.FlagSet) {
		fs.IntVar(n, "steps", 3, "how many")
		fs.Bool("uphill", false, "or down")
		fs.Int("log_interval", 7, "steps between lines")
	}, "uphill")
	Group(fs, "The shoes", func(fs *flag.FlagSet) { fs.IntVar(m, "size", 42, "of both") })
	return fs, n, m
}

// -help lists what the program reads under its headings, with the defaults, whatever else is given.
func TestHelp(t *testing.T) {
	want := "Usage of walk:\n\nThe way:\n  -log_interval int\n    \tsteps between lines (default 7)\n  -steps int\n    \thow many (default 3)\n" +
		"\nThe shoes:\n  -size int\n    \tof both (default 42)\n"
	var out bytes.Buffer
	fs, _, _ := grouped(&out)
	if err := Parse(fs, []string{"-steps", "9", "-help"}); err != flag.ErrHelp || out.String() != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out.String(), want)
	}
	out.Reset()
	fs, _, _ = grouped(&out)
	LogInterval(fs)
	if err := Parse(fs, []string{"-help"}); err != flag.ErrHelp || !strings.Contains(out.String(), "by default some fifty lines a run\n  -steps") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
}

// What is wrong is one error and no list of flags.
func TestParse(t *testing.T) {
	var out bytes.Buffer
	for want, args := range map[string][]string{
		"flag provided but not defined: -uphill":                   {"-uphill"},
		"flag provided but not defined: -step":                     {"-step", "3"},
		`invalid value "x" for flag -steps: parse error`:           {"-steps", "x"},
		`unexpected argument "far": settings are flags, see -help`: {"-size", "1", "far"},
		"flag needs an argument: -size":                            {"-size"},
	} {
		fs, _, _ := grouped(&out)
		if err := Parse(fs, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	fs, n, m := grouped(&out)
	if err := Parse(fs, []string{"-size", "40"}); err != nil || *n != 3 || *m != 40 || out.Len() > 0 {
		t.Errorf("got %v, %d steps, size %d, said %q", err, *n, *m, out.String())
	}
	if given := Given(fs); len(given) != 1 || !given["size"] {
		t.Errorf("given: %v", given)
	}
}
