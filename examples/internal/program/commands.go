package program

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Command is one of the commands of a program, such as tune of gpt2, with flags of its own.
type Command struct {
	Name, About string
	Old         string // flags that chose the command before it had a name
	Run         Run
}

// Commands returns the program whose first argument names one of the commands. Without a name, it is the command one of
// whose Old flags is given, and otherwise the first command.
func Commands(program string, list []Command) Run {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		if len(args) == 0 {
			return list[0].Run(ctx, args, stdout, stderr)
		}
		if name := strings.TrimLeft(args[0], "-"); name == "help" || name == "h" {
			if len(args) > 1 {
				return errors.Errorf("-help: got %q without a command; want one such as %s %s -help %[1]s", args[1],
					program, list[0].Name)
			}
			helpCommands(stderr, program, list)
			return flag.ErrHelp
		}
		if !strings.HasPrefix(args[0], "-") {
			var names []string
			for _, c := range list {
				if names = append(names, c.Name); c.Name == args[0] {
					return c.Run(ctx, args[1:], stdout, stderr)
				}
			}
			return errors.Errorf("%q: not a command of %s, want %s%s", args[0], program, either(names),
				spelling.Hint(args[0], names))
		}
		return chosen(list, args).Run(ctx, args, stdout, stderr)
	}
}

// chosen returns the first command one of whose Old flags is among the arguments, or the first of all.
func chosen(list []Command, args []string) Command {
	for _, c := range list {
		for _, a := range args {
			name, value, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if strings.HasPrefix(a, "-") && value != "false" && slices.Contains(strings.Fields(c.Old), name) {
				return c
			}
		}
	}
	return list[0]
}

// helpCommands prints what the commands do.
func helpCommands(out io.Writer, program string, list []Command) {
	fmt.Fprintf(out, "Usage of %s: a command and its flags, by default %s.\n%[1]s COMMAND -help shows the flags.\n\n",
		program, list[0].Name)
	for _, c := range list {
		fmt.Fprint(out, beside(c.Name, c.About, 13, 0))
	}
}
