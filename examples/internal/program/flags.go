package program

import (
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/pkg/errors"
)

// Flags returns an empty set of flags, which are the program's only arguments.
func Flags(name string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	return fs
}

// Group adds flags to those of a program, under a heading of -help. Those to leave out are of a configuration, and the
// program does not read them.
func Group(fs *flag.FlagSet, heading string, register func(*flag.FlagSet), leaveOut ...string) {
	first := true
	fs.VisitAll(func(*flag.Flag) { first = false })
	group, names := Flags("", nil), []string(nil)
	register(group)
	group.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(leaveOut, f.Name) {
			fs.Var(f.Value, f.Name, f.Usage)
			names = append(names, f.Name)
		}
	})
	before := fs.Usage
	fs.Usage = func() {
		if first {
			fmt.Fprintf(fs.Output(), "Usage of %s:\n", fs.Name())
		} else {
			before()
		}
		fmt.Fprintf(fs.Output(), "\n%s:\n", heading)
		shown := Flags("", fs.Output())
		for _, name := range names {
			f := fs.Lookup(name)
			shown.Var(f.Value, name, f.Usage)
			shown.Lookup(name).DefValue = f.DefValue
		}
		shown.PrintDefaults()
	}
}

// Parse reads the arguments. An argument that is no flag is an error, and so is a number that no program can use: see
// checkNumbers. The error of an unknown flag names the flag that was probably meant.
func Parse(fs *flag.FlagSet, args []string) error {
	out := fs.Output()
	fs.SetOutput(io.Discard) // else package flag writes an error above all flags, where nobody finds it
	err := fs.Parse(args)
	fs.SetOutput(out)
	switch {
	case err == flag.ErrHelp:
		fs.Usage()
		return err
	case err != nil:
		return errors.Errorf("%s%s; -help lists the flags", err, suggestion(fs, err))
	case fs.NArg() > 0:
		return errors.Errorf("unexpected argument %q: settings are flags, see -help", fs.Arg(0))
	}
	return checkNumbers(fs)
}

// LogInterval says of a program's log_interval what it means if it is not given: it is no number then.
func LogInterval(fs *flag.FlagSet) {
	f := fs.Lookup("log_interval")
	f.Usage, f.DefValue = "steps between log lines, where there is no terminal; by default some fifty lines a run", "0"
}

// Given returns the names of the flags among the arguments.
func Given(fs *flag.FlagSet) map[string]bool {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// Want returns nil if ok, else an error that names the flag and what it got and wants.
func Want(ok bool, flag string, got any, want string) error {
	if ok {
		return nil
	}
	return errors.Errorf("%s: got %v, want %s", flag, got, want)
}
