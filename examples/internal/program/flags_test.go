package program

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"
)

// grouped returns a program with two groups of flags: its own, and those of a configuration except one.
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

// -help lists the program's flags under their headings, with the defaults, even if other flags are given.
func TestHelp(t *testing.T) {
	want := "Usage of walk:\n\nThe way:\n  -log_interval int\n    \tsteps between lines (default 7)\n  -steps int\n " +
		"   \thow many (default 3)\n\nThe shoes:\n  -size int\n    \tof both (default 42)\n"
	var out bytes.Buffer
	fs, _, _ := grouped(&out)
	if err := Parse(fs, []string{"-steps", "9", "-help"}); err != flag.ErrHelp || out.String() != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out.String(), want)
	}
	out.Reset()
	fs, _, _ = grouped(&out)
	LogInterval(fs)
	if err := Parse(fs, []string{"-help"}); err != flag.ErrHelp ||
		!strings.Contains(out.String(), "by default about fifty lines per run\n  -steps") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
}

// Invalid arguments are one error without a list of flags.
func TestParse(t *testing.T) {
	var out bytes.Buffer
	for want, args := range map[string][]string{
		"flag provided but not defined: -uphill; -help lists":      {"-uphill"},
		"defined: -step; did you mean -steps?; -help lists the":    {"-step", "3"},
		"defined: -Size; did you mean -size?; -help lists the":     {"--Size", "3"},
		`-steps: got "x", want a whole number such as 100; -help`:  {"-steps", "x"},
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
		t.Errorf("got %v, %d steps, size %d, printed %q", err, *n, *m, out.String())
	}
	if given := Given(fs); len(given) != 1 || !given["size"] {
		t.Errorf("given: %v", given)
	}
}

// A flag's name in another tool is answered with its name here, if the program has it.
func TestNamesElsewhere(t *testing.T) {
	for want, given := range map[string]string{
		"flag provided but not defined: -lr; did you mean -learning_rate?; -help lists the flags":   "--lr",
		"flag provided but not defined: -n_layers; did you mean -n_layer?; -help lists the flags":   "-n_layers",
		"flag provided but not defined: -num-layers; did you mean -n_layer?; -help lists the flags": "--num-layers",
		"flag provided but not defined: -d_model; -help lists the flags":                            "--d_model=3",
		"flag provided but not defined: -steps; did you mean -max_iters?; -help lists the flags":    "-steps",
		"flag provided but not defined: -learning-rate; did you mean -learning_rate?; -help " +
			"lists the": "--learning-rate",
	} {
		fs := Flags("train", io.Discard)
		fs.Float64("learning_rate", 1, "")
		fs.Int("n_layer", 1, "")
		fs.Int("max_iters", 1, "")
		if err := Parse(fs, []string{given, "3"}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", given, err, want)
		}
	}
}

// Unusable numbers are refused, whatever the flag is for.
func TestParseNumbers(t *testing.T) {
	for want, args := range map[string][]string{
		"": {"-n", "0", "-x", "0", "-wait", "0", "-seed", "18446744073709551615"},
		"-n: got -5, want a whole number, 0 to 268435456":         {"-n", "-5"},
		"-n: got 1000000000, want a whole number, 0 to 268435456": {"-n", "1000000000"},
		"-x: got NaN, want a finite number, 0 or more":            {"-x", "NaN"},
		"-x: got -0.5, want a finite number, 0 or more":           {"-n", "3", "-x", "-0.5"},
		"-x: got +Inf, want a finite number, 0 or more":           {"-x", "Inf"},
		"-wait: got -1s, want 0 or more":                          {"-wait", "-1s"},
	} {
		fs := Flags("count", io.Discard)
		fs.Int("n", -1, "-1 is not given")
		fs.Float64("x", 1, "")
		fs.Uint64("seed", 1, "")
		fs.Duration("wait", 0, "")
		if err := Parse(fs, args); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
