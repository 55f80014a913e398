package live

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

// title names the runs by their directories, with a slash so that a word such as out is recognized as a directory.
func title(dirs []string) string {
	name := map[bool]string{true: "Training run in ", false: "Training runs in "}[len(dirs) == 1]
	for i, dir := range dirs {
		between := ", "
		switch i {
		case 0:
			between = ""
		case len(dirs) - 1:
			between = " and "
		}
		name += between + strings.TrimRight(dir, "/") + "/"
	}
	return name
}

// Finished returns the page of the runs in some directories as they are now.
func Finished(dirs ...string) (p page.Runs, err error) {
	p.Title = title(dirs)
	for _, dir := range dirs {
		h := newHistory(dir)
		if err := h.more(func(string) {}, func(*series, sized) {}); err != nil {
			return p, err
		}
		if h.thin(); len(h.kept()) == 0 {
			return p, errors.Errorf("%s: no run, want a directory with %s", dir, program.MetricsFile)
		}
		p.Runs = append(p.Runs, page.Run{Name: dir, Lines: h.kept()})
	}
	return p, nil
}
