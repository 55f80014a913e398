package flags

import (
	"flag"
	"io"
	"testing"

	"github.com/pkg/errors"
)

// count is the value of an option, as in the configurations of models.
type count struct{}

func (count) String() string   { return "0" }
func (count) Get() any         { return 0 }
func (count) Set(string) error { return errors.New("parse error") }

// word is a value that says itself what it must be.
type word struct{}

func (word) String() string   { return "" }
func (word) Set(string) error { return errors.New("want a word") }

// other is a value of which nothing is known.
type other struct{}

func (other) String() string   { return "" }
func (other) Set(string) error { return errors.New("parse error") }

// An error says what the value of a flag must be, on a command line and where a flag is set by name.
func TestErrors(t *testing.T) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Float64("rate", 1, "")
	fs.Int("n", 1, "")
	fs.Int64("body", 1, "")
	fs.Uint("u", 1, "")
	fs.Uint64("seed", 1, "")
	fs.Bool("bias", false, "")
	fs.Duration("wait", 0, "")
	fs.Var(count{}, "k", "")
	fs.Var(word{}, "word", "")
	fs.Var(other{}, "other", "")
	for _, c := range [][3]string{
		{"rate", "1e", `rate: got "1e", want a number such as 0.001`},
		{"rate", `1":x`, `rate: got "1\":x", want a number such as 0.001`},
		{"rate", "1e999", `rate: got "1e999", want a number such as 0.001`},
		{"n", "1e3", `n: got "1e3", want a whole number such as 100`},
		{"body", "x", `body: got "x", want a whole number such as 100`},
		{"n", "99999999999999999999", `n: got "99999999999999999999", want a whole number such as 100`},
		{"u", "-1", `u: got "-1", want a whole number, 0 or more, such as 100`},
		{"seed", "-1", `seed: got "-1", want a whole number, 0 or more, such as 100`},
		{"bias", "yes", `bias: got "yes", want true or false`},
		{"wait", "9", `wait: got "9", want a time such as 90s or 1h30m`},
		{"k", "x", `k: got "x", want a whole number such as 100`},
	} {
		if err := Set(fs, c[0], c[1]); err == nil || err.Error() != c[2] {
			t.Errorf("%s: got %v, want %s", c[0], err, c[2])
		}
		if err := Explain(fs, fs.Parse([]string{"-" + c[0] + "=" + c[1]})); err == nil || err.Error() != "-"+c[2] {
			t.Errorf("-%s: got %v, want -%s", c[0], err, c[2])
		}
	}
	for name, want := range map[string]string{
		"word": `word: got "x": want a word`, "other": `other: got "x": parse error`,
	} {
		if err := Set(fs, name, "x"); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		plain := fs.Parse([]string{"-" + name, "x"})
		if err := Explain(fs, plain); err != plain {
			t.Errorf("-%s: got %v, want %v", name, err, plain)
		}
	}
	if err := Explain(fs, nil); err != nil {
		t.Errorf("no error: got %v", err)
	}
	if err := Set(fs, "n", "7"); err != nil {
		t.Error(err)
	}
	if err := Set(fs, "never", "7"); err == nil {
		t.Error("an unknown flag: got no error")
	}
}
