package program

import (
	"bytes"
	"context"
	"flag"
	"io"
	"strings"
	"testing"
)

// grouped returns a program with two groups of flags: its own, and a configuration's except one.
func grouped(out io.Writer) (fs *FlagSet, n, m *int) {
	fs, n, m = Flags("walk", out), new(int), new(int)
	fs.Group("way", "where to go", func(fs *flag.FlagSet) {
		fs.IntVar(n, "steps", 3, "how many")
		fs.Bool("uphill", false, "or down")
		fs.Int("log_interval", 7, "steps between lines")
	}, "uphill")
	fs.Group("shoes", "what to wear", func(fs *flag.FlagSet) { fs.IntVar(m, "size", 42, "of both") })
	return fs, n, m
}

// -help lists the program's flags under their headings, with the defaults, even if other flags are given.
func TestHelp(t *testing.T) {
	for _, c := range []struct{ args, often, want string }{
		{"-steps 9 -help", "", `Usage of walk:

  -log_interval int       steps between lines (default 7)
  -steps int              how many (default 3)
  -size int               of both (default 42)
`},
		{"-help", "steps", `Usage of walk:

  -steps int              how many (default 3)

-help TOPIC shows the flags of a topic, -help FLAG a flag, -help all all flags:
  way         where to go
  shoes       what to wear
`},
		{"-help shoes", "steps", "walk, shoes: what to wear\n  -size int               of both (default 42)\n"},
		{"-help -size", "steps", "  -size int               of both (default 42)\n"},
		{"-help all", "steps", `Usage of walk:

way: where to go
  -log_interval int       steps between lines (default 7)
  -steps int              how many (default 3)

shoes: what to wear
  -size int               of both (default 42)
`},
	} {
		var out bytes.Buffer
		fs, _, _ := grouped(&out)
		if c.often != "" {
			fs.Often(c.often)
		}
		fs.Old("length", "size")
		if err := fs.Parse(strings.Fields(c.args)); err != flag.ErrHelp || out.String() != c.want {
			t.Errorf("%s: got %v and\n%s\nwant\n%s", c.args, err, out.String(), c.want)
		}
	}
	fs, _, _ := grouped(io.Discard)
	fs.LogInterval()
	if f := fs.Lookup("log_interval"); f.DefValue != "0" || !strings.HasSuffix(f.Usage, "fifty lines per run") {
		t.Errorf("got %q, %q", f.DefValue, f.Usage)
	}
	const want = `-help: got "shoos", want all, a flag, or one of way, shoes; did you mean shoes?`
	if err := fs.Parse([]string{"-help", "shoos"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A text is broken at spaces, and cut after some lines, within 80 columns. A long name has a line of its own.
func TestBeside(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("forty-two ", 20))
	for most := range 5 {
		got := beside("-n int", words, 26, most)
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if want := map[int]int{0: 4}[most]; most > 0 && len(lines) != min(most, 4) || most == 0 && len(lines) != want {
			t.Errorf("%d: got %d lines", most, len(lines))
		}
		for i, line := range lines {
			if len([]rune(line)) > 80 || i > 0 && !strings.HasPrefix(line, strings.Repeat(" ", 26)+"f") {
				t.Errorf("%d: got %q", most, line)
			}
		}
		if strings.HasSuffix(got, "…\n") != (most > 0 && most < 4) {
			t.Errorf("%d: got %q", most, got)
		}
	}
	if got := beside("-gradient_accumulation_steps int", "many", 26, 0); got !=
		"  -gradient_accumulation_steps int\n                          many\n" {
		t.Errorf("got %q", got)
	}
}

// An earlier name sets the flag, counts as the flag, and is in no help and no suggestion. A switch that chose a command
// does nothing.
func TestOldNames(t *testing.T) {
	fs, steps, _ := grouped(io.Discard)
	fs.Old("paces", "steps")
	fs.Old("walk", "")
	if err := fs.Parse([]string{"-paces", "5", "-walk"}); err != nil || *steps != 5 {
		t.Errorf("got %v, %d steps, want 5", err, *steps)
	}
	if given := fs.Given(); len(given) != 1 || !given["steps"] {
		t.Errorf("given: %v, want steps", given)
	}
	fs.VisitAll(func(f *flag.Flag) {
		if f.Name == "paces" || f.Name == "walk" {
			t.Errorf("-%s is visited", f.Name)
		}
	})
}

// The first argument names a command, or an earlier flag chooses it; otherwise the first one runs.
func TestCommands(t *testing.T) {
	var ran string
	command := func(name, old string) Command {
		return Command{Name: name, About: "to " + name, Old: old,
			Run: func(_ context.Context, args []string, _, _ io.Writer) error {
				ran = strings.Join(append([]string{name}, args...), " ")
				return nil
			}}
	}
	run := Commands("travel", []Command{command("walk", "foot"), command("drive", "car road"), command("fly", "wing")})
	for args, want := range map[string]string{
		"": "walk", "drive -n 3": "drive -n 3", "-n 3": "walk -n 3", "-n 3 -road A1": "drive -n 3 -road A1",
		"--wing=2": "fly --wing=2", "-car=false": "walk -car=false", "walk -help": "walk -help",
	} {
		if err := run(t.Context(), strings.Fields(args), nil, nil); err != nil || ran != want {
			t.Errorf("%s: got %q, %v, want %q", args, ran, err, want)
		}
	}
	for args, want := range map[string]string{
		"drvie":       `"drvie": not a command of travel, want walk, drive or fly; did you mean drive?`,
		"-help shoes": `-help: got "shoes" without a command; want one such as travel walk -help shoes`,
	} {
		if err := run(t.Context(), strings.Fields(args), nil, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, nil, &out); err != flag.ErrHelp ||
		!strings.Contains(out.String(), "\n  fly        to fly\n") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 60 {
			t.Errorf("got %d columns, want at most 60 with short names: %s", len(line), line)
		}
	}
}

// Invalid arguments are one error without a list of flags.
func TestParse(t *testing.T) {
	var out bytes.Buffer
	for want, args := range map[string][]string{
		"flag -uphill: not of walk; -help lists":                   {"-uphill"},
		"flag -step: not of walk; did you mean -steps?":            {"-step", "3"},
		"flag -Size: not of walk; did you mean -size?":             {"--Size", "3"},
		`-steps: got "x", want a whole number such as 100; -help`:  {"-steps", "x"},
		`unexpected argument "far": settings are flags, see -help`: {"-size", "1", "far"},
		"flag needs an argument: -size":                            {"-size"},
	} {
		fs, _, _ := grouped(&out)
		if err := fs.Parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	fs, n, m := grouped(&out)
	if err := fs.Parse([]string{"-size", "40"}); err != nil || *n != 3 || *m != 40 || out.Len() > 0 {
		t.Errorf("got %v, %d steps, size %d, printed %q", err, *n, *m, out.String())
	}
	if given := fs.Given(); len(given) != 1 || !given["size"] {
		t.Errorf("given: %v", given)
	}
}

// A flag's name in another tool is answered with its name here, if the program has it.
func TestNamesElsewhere(t *testing.T) {
	for want, given := range map[string]string{
		"flag -lr: not of train; did you mean -learning_rate?":            "--lr",
		"flag -n_layers: not of train; did you mean -n_layer?":            "-n_layers",
		"flag -num-layers: not of train; did you mean -n_layer?":          "--num-layers",
		"flag -d_model: not of train; -help lists the flags":              "--d_model=3",
		"flag -steps: not of train; did you mean -max_iters?":             "-steps",
		"flag -learning-rate: not of train; did you mean -learning_rate?": "--learning-rate",
		"flag -cross: not of train; ./examples/lab compare has it":        "-cross",
		"flag -tune: not of train; it is a command: ./examples/gpt2 tune": "-tune",
		"flag -n_embd: not of train; ./examples/tinyshakespeare has it":   "-n_embd",
		"flag -lora_r: not of train; ./examples/gpt2 tune has it":         "-lora_r",
	} {
		fs := Flags("train", io.Discard)
		fs.Float64("learning_rate", 1, "")
		fs.Int("n_layer", 1, "")
		fs.Int("max_iters", 1, "")
		if err := fs.Parse([]string{given, "3"}); err == nil || !strings.HasPrefix(err.Error(), want) {
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
		if err := fs.Parse(args); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
