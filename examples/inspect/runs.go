package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/live"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// runRuns is the command runs: it writes a page of some runs, or shows them as they continue.
func runRuns(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := program.Flags("inspect runs", stderr)
	var list, page, serve string
	fs.Group("runs", "the measurements of runs", func(fs *flag.FlagSet) {
		fs.StringVar(&list, "model", "out", "directories of runs, separated by commas")
		fs.StringVar(&page, "page", "runs.html", "file for the page")
		fs.StringVar(&serve, "serve", "",
			"show the runs as they continue, at an address such as :8080, instead of writing a page")
	})
	fs.Old("runs", "model")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dirs := strings.Split(list, ",")
	if len(dirs) > live.Most {
		return errors.Errorf("-model: got %d directories, want at most %d", len(dirs), live.Most)
	}
	p, err := live.Finished(dirs...)
	if err != nil {
		return err
	}
	if serve == "" {
		if err := file.Replace(page, p.Write); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "saved %s, a page for a browser\n", page)
		return err
	}
	s, err := live.Listen(serve, dirs...)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(stdout, "watch them at %s until this is interrupted\n", s.URL)
	defer program.Waiting(stdout)()
	<-ctx.Done()
	return nil
}
