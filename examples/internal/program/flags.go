package program

import (
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/internal/flags"
	"github.com/pkg/errors"
)

// Flags returns an empty set of flags, the only arguments of a program.
func Flags(name string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	return fs
}

// Group adds flags to those of a program, under a heading of -help. leaveOut names flags of a configuration that the
// program does not read.
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
			if _, ok := f.Value.(interface{ Get() string }); ok {
				shown.String(name, "", f.Usage) // as a string, which package flag knows by its own type alone
			} else {
				shown.Var(f.Value, name, f.Usage)
			}
			shown.Lookup(name).DefValue = f.DefValue
		}
		shown.PrintDefaults()
	}
}

// Parse reads the arguments. An argument that is not a flag is an error, and so is an unusable number: see
// checkNumbers. The error of an unknown flag suggests the flag that was probably meant.
func Parse(fs *flag.FlagSet, args []string) error {
	out := fs.Output()
	fs.SetOutput(io.Discard) // otherwise package flag writes an error above all flags, where it is overlooked
	err := fs.Parse(args)
	fs.SetOutput(out)
	switch {
	case err == flag.ErrHelp:
		fs.Usage()
		return err
	case err != nil:
		return errors.Errorf("%s%s; -help lists the flags", flags.Explain(fs, err), suggestion(fs, err))
	case fs.NArg() > 0:
		return errors.Errorf("unexpected argument %q: settings are flags, see -help", fs.Arg(0))
	}
	return checkNumbers(fs)
}

// LogInterval describes in -help the default of a program's log_interval, which is not a number.
func LogInterval(fs *flag.FlagSet) {
	f := fs.Lookup("log_interval")
	f.Usage = "steps between log lines, if the output is not a terminal; by default about fifty lines per run"
	f.DefValue = "0"
}

// Given returns the names of the flags among the arguments.
func Given(fs *flag.FlagSet) map[string]bool {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// Want returns nil if ok, otherwise an error that names the flag, its value and what it must be.
func Want(ok bool, flag string, got any, want string) error {
	if ok {
		return nil
	}
	return errors.Errorf("%s: got %v, want %s", flag, got, want)
}
