package browser

import (
	_ "embed"
	"time"
)

//go:embed faults.js
var faults string

// Faults returns the faults in the layout of the page, one per line: texts that are cut off or overlap, boxes that
// hide something without a sign, a page wider than the window, and zeros with a sign. It tries again for two seconds,
// in which the page may be laid out.
func (b *Tab) Faults() string {
	b.t.Helper()
	found := b.Ask(faults)
	for end := time.Now().Add(2 * time.Second); found != "" && time.Now().Before(end); found = b.Ask(faults) {
		time.Sleep(50 * time.Millisecond) // wait for the layout
	}
	return found
}
