package corpus

import (
	"regexp"
	"strings"
	"testing"
)

// Weather uses only characters of both texts that a model may have learned, and has the layout of reports.
func TestWeather(t *testing.T) {
	text := Weather(1, 20_000)
	if text != Weather(1, 20_000) || text == Weather(2, 20_000) || len(text) < 20_000 || len(text) > 20_500 {
		t.Errorf("got %d characters, or another text than before", len(text))
	}
	play, _ := Standin(standinSeed, standinSize)
	for _, c := range text {
		shakespeare := strings.ContainsRune("\n !$&',-.3:;?", c) || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !shakespeare || !strings.ContainsRune(play, c) {
			t.Fatalf("%q is not in both plays", c)
		}
	}
	report := regexp.MustCompile(`^Weather for [A-Z]\w+, \w+:(\n[A-Z][\w ,:]*[.!]){3,4}\n?$`)
	for _, r := range strings.Split(text, "\n\n") {
		if !report.MatchString(r) {
			t.Fatalf("not a report: %q", r)
		}
	}
}
