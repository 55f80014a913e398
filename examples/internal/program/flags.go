package program

import (
	"cmp"
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/flags"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// FlagSet holds the flags of a program, or of one of its commands, under the topics of its help.
type FlagSet struct {
	*flag.FlagSet
	topics []*topic
	often  []string          // the flags of -help without a topic; by default all
	old    map[string]string // earlier names, which no help shows, with the present ones
}

// topic is a part of the help. A flag belongs to one topic.
type topic struct {
	name, about string
	flags       []string
}

// Flags returns an empty set of flags, the only arguments of a program.
func Flags(name string, stderr io.Writer) *FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {}
	return &FlagSet{FlagSet: fs, old: map[string]string{}}
}

// Group adds flags to a program, under a topic of its help. The flags of a configuration have topics of their own.
// leaveOut names flags of a configuration that the program does not read.
func (fs *FlagSet) Group(name, about string, register func(*flag.FlagSet), leaveOut ...string) {
	group := Flags("", nil)
	register(group.FlagSet)
	group.VisitAll(func(f *flag.Flag) {
		if slices.Contains(leaveOut, f.Name) {
			return
		}
		fs.Var(f.Value, f.Name, f.Usage)
		t := topic{name: name, about: about}
		if field := topicOf(f); field != "" {
			t.name, t.about = field, aboutTopics()[field]
		}
		i := slices.IndexFunc(fs.topics, func(u *topic) bool { return u.name == t.name })
		if i < 0 {
			i = len(fs.topics)
			fs.topics = append(fs.topics, &t)
		}
		fs.topics[i].flags = append(fs.topics[i].flags, f.Name)
	})
}

// topicOf returns the topic of a configuration's flag, by default "network", or "" for another flag.
func topicOf(f *flag.Flag) string {
	if described, ok := f.Value.(interface{ Topic() string }); ok {
		return cmp.Or(described.Topic(), "network")
	}
	return ""
}

// Often names the flags that -help shows without a topic, in the order of the help.
func (fs *FlagSet) Often(names string) { fs.often = strings.Fields(names) }

// Old adds an earlier name of a flag. It is not in the help. An empty name is the name of a switch that once chose a
// command, and does nothing more.
func (fs *FlagSet) Old(old, name string) {
	if fs.old[old] = name; name == "" {
		fs.Bool(old, false, "")
		return
	}
	fs.Var(fs.Lookup(name).Value, old, "")
}

// VisitAll calls visit with the flags by their present names.
func (fs *FlagSet) VisitAll(visit func(*flag.Flag)) {
	fs.FlagSet.VisitAll(func(f *flag.Flag) {
		if _, old := fs.old[f.Name]; !old {
			visit(f)
		}
	})
}

// Visit calls visit with the flags among the arguments, by their present names.
func (fs *FlagSet) Visit(visit func(*flag.Flag)) {
	fs.FlagSet.Visit(func(f *flag.Flag) {
		if name, old := fs.old[f.Name]; !old {
			visit(f)
		} else if name != "" {
			visit(fs.Lookup(name))
		}
	})
}

// Given returns the names of the flags among the arguments.
func (fs *FlagSet) Given() map[string]bool {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// Configured returns the values of the given flags of a configuration, by name.
func (fs *FlagSet) Configured() map[string]string {
	values := map[string]string{}
	fs.Visit(func(f *flag.Flag) {
		if topicOf(f) != "" {
			values[f.Name] = f.Value.String()
		}
	})
	return values
}

// Parse reads the arguments. An argument that is not a flag is an error, and so is an unusable number: see
// checkNumbers. The error of an unknown flag suggests the flag that was probably meant, or the program that has it.
func (fs *FlagSet) Parse(args []string) error {
	out := fs.Output()
	fs.SetOutput(io.Discard) // otherwise package flag writes an error above all flags, where it is overlooked
	err := fs.FlagSet.Parse(args)
	fs.SetOutput(out)
	switch {
	case err == flag.ErrHelp:
		return cmp.Or(fs.help(fs.Arg(0)), err)
	case err != nil:
		if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
			return errors.Errorf("flag -%s: not of %s%s", name, fs.Name(), fs.Suggestion(name))
		}
		return errors.Errorf("%s; -help lists the flags", flags.Explain(fs.FlagSet, err))
	case fs.NArg() > 0:
		return errors.Errorf("unexpected argument %q: settings are flags, see -help", fs.Arg(0))
	}
	return fs.checkNumbers()
}

// LogInterval describes in -help the default of a program's log_interval, which is not a number.
func (fs *FlagSet) LogInterval() {
	f := fs.Lookup("log_interval")
	f.Usage = "steps between log lines, if the output is not a terminal; by default about fifty lines per run"
	f.DefValue = "0"
}

// Want returns nil if ok, otherwise an error that names the flag, its value and what it must be.
func Want(ok bool, flag string, got any, want string) error {
	if ok {
		return nil
	}
	return errors.Errorf("%s: got %v, want %s", flag, got, want)
}

// OneOf returns an error if the value of a flag, or an element of its list, is not one of the names. The error lists
// the names, and suggests the nearest one.
func OneOf(flag, got string, names ...string) error {
	if slices.Contains(names, got) {
		return nil
	}
	return errors.Errorf("%s: got %q, want %s%s", flag, got, either(names), spelling.Hint(got, names))
}

// either joins names by commas, and the last one by "or".
func either(names []string) string {
	n := len(names) - 1
	if n < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + " or " + names[n]
}
