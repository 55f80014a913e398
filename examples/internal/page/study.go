package page

import "io"

// Study is a page about a study of architectures: the differences of its arms from the baseline with their intervals,
// curves, the loss against what it costs, and the losses of all texts.
type Study struct {
	Title string
	Facts [][2]string // what is true of the whole study
	Study any         // whose JSON examples/lab -json prints
}

// Write writes the page.
func (p Study) Write(w io.Writer) error {
	return write(w, p.Title, "study.html", p, "page.js", "chart.js", "study.js")
}
