package page

import (
	"encoding/json"
	"io"
)

// Runs is a page with the measurements of runs, in common charts.
type Runs struct {
	Title string
	Runs  []Run
	Live  bool // more lines come from /events, each like a line of the files
}

// Run holds the lines of a run's files, program.MetricsFile and live.LooksFile.
type Run struct {
	Name  string
	Lines []json.RawMessage
}

// Write writes the page.
func (p Runs) Write(w io.Writer) error {
	return write(w, p.Title, "runs.html", p, "page.js", "heat.js", "chart.js", "runs.js")
}
