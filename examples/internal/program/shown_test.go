package program

import (
	"errors"
	"strings"
	"testing"
)

func TestShown(t *testing.T) {
	for message, want := range map[string]string{
		"n_head: got 3":                   "n_head: got 3",
		"two\nlines\twide":                "two\nlines\twide",
		"\x1b[31mred\x1b[0m\r\a":          `\x1b[31mred\x1b[0m\r\a`,
		"ünï, 'quoted' \xff \u202eturned": `ünï, 'quoted' ` + "\ufffd" + ` \u202eturned`,
	} {
		if got := Shown(errors.New(message)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Shown(errors.New(strings.Repeat("a", 7<<20))); len(got) > 5000 || !strings.HasSuffix(got, "a…") {
		t.Errorf("got %d bytes", len(got))
	}
}
