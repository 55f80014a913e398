package browser

import (
	_ "embed"
	"time"
)

//go:embed faults.js
var faults string

// Faults returns what is wrong with the layout of the page, a line for each fault: texts that are cut off or lie on
// each other, boxes that hide something without a sign, a page wider than the window, and zeros with a sign. It asks
// again for two seconds, in which the page may be laid out.
func (b *Tab) Faults() string {
	b.t.Helper()
	found := b.Ask(faults)
	for end := time.Now().Add(2 * time.Second); found != "" && time.Now().Before(end); found = b.Ask(faults) {
		time.Sleep(50 * time.Millisecond) // until the page has been laid out
	}
	return found
}
