package flagtest

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// Untimed returns a program that prints a verdict, without the line of its costs and without its files in -out_dir:
// both hold times, which differ from run to run.
func Untimed(run program.Run) program.Run {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		var out strings.Builder
		err := run(ctx, args, &out, stderr)
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "What does it cost?") {
				_, failed := io.WriteString(stdout, line)
				err = cmp.Or(err, failed)
			}
		}
		at := slices.Index(args, "-out_dir") + 1
		if at == 0 {
			return err // -help
		}
		return cmp.Or(err, os.RemoveAll(args[at]), os.Mkdir(args[at], 0o755))
	}
}
