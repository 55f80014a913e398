package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/live"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// runs writes the page of some runs, or shows them as they continue.
func runs(ctx context.Context, o options, stdout io.Writer) error {
	dirs := strings.Split(o.runs, ",")
	err := program.Want(len(dirs) <= live.Most, "runs", len(dirs), fmt.Sprintf("at most %d", live.Most))
	if err != nil {
		return err
	}
	p, err := live.Finished(dirs...)
	if err != nil {
		return err
	}
	if o.serve == "" {
		path := cmp.Or(o.page, "runs.html")
		if err := file.Replace(path, p.Write); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "saved %s, a page for a browser\n", path)
		return err
	}
	s, err := live.Listen(o.serve, dirs...)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(stdout, "watch them at %s until this is interrupted\n", s.URL)
	<-ctx.Done()
	return nil
}
