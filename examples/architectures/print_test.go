package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/gpt"
)

// The table fits into a laptop's terminal of 100 columns and contains every variant; the baseline's parts are above
// it.
func TestTableWidth(t *testing.T) {
	rows, err := chosen(gpt.Shakespeare(), options{seeds: 3, headline: words(headline)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		r.Parameters, r.Losses, r.Ms, r.MiB, r.Checked, r.DecodeTokS = 804_096, []float64{1.9, 1.91, 1.92}[:r.seeds], 123.4, 123, "1e-14", 27_000
	}
	var b strings.Builder
	if err := (results{Text: "tinyshakespeare", Steps: 1000, Tokens: 768, Threads: 2, Rows: rows}).write(&b); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "\n| "); got != len(rows)+1 {
		t.Errorf("%d rows, want %d", got, len(rows)+1)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 100 {
			t.Errorf("%d columns, want at most 100: %s", n, line)
		}
	}
}
