package live

import (
	"encoding/json"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

// title names the runs.
func title(dirs []string) string {
	name := "Run " + dirs[0]
	for _, dir := range dirs[1:] {
		name += " beside " + dir
	}
	return name
}

// files are those of a run that have lines.
func files(dir string) []string {
	return []string{filepath.Join(dir, program.MetricsFile), filepath.Join(dir, LooksFile)}
}

// Finished is the page of the runs in some directories as they are now.
func Finished(dirs ...string) (p page.Runs, err error) {
	p.Title = title(dirs)
	for _, dir := range dirs {
		run := page.Run{Name: dir}
		for _, path := range files(dir) {
			t := tail{path: path}
			err := t.more(nil, func(line json.RawMessage) error { run.Lines = append(run.Lines, line); return nil })
			if err != nil {
				return p, err
			}
		}
		if len(run.Lines) == 0 {
			return p, errors.Errorf("%s: no run, want a directory with %s", dir, program.MetricsFile)
		}
		p.Runs = append(p.Runs, run)
	}
	return p, nil
}
