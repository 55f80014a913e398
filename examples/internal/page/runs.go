package page

import (
	"encoding/json"
	"io"
)

// Runs is what runs have measured, laid over each other.
type Runs struct {
	Title string
	Runs  []Run
	Live  bool // more lines come from /events, a program.Line each
}

// Run is the lines of a run's files, program.MetricsFile and program.LooksFile.
type Run struct {
	Name  string
	Lines []json.RawMessage
}

// Write makes the page.
func (p Runs) Write(w io.Writer) error {
	return write(w, p.Title, "runs.html", p, "page.js", "heat.js", "chart.js", "runs.js")
}
